"""Whatever a file says, loading it gives a scenario or a ScenarioError."""

import json
import math
from pathlib import Path

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from hetsim.errors import ScenarioError
from hetsim.scenario.build import build_cluster, build_jobs
from hetsim.scenario.load import load
from hetsim.scenario.tree import Place, find, from_python, leaves, replace, to_python

TEXT = (Path(__file__).parent / "valid.yaml").read_text(encoding="utf-8")
DATA = yaml.safe_load(TEXT)
TREE = from_python(DATA, Place())
LOCS = sorted({loc[:n] for loc in leaves(TREE) for n in range(1, len(loc) + 1)}, key=str)

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 40),
    st.sampled_from([10**30, 10**400, 2**63, math.inf, -math.inf, math.nan, 1e308, 0.5, -0.0]),
    st.sampled_from(
        ["", "0 s", "1e999 s", "5 GB", "v100", "v100-0", "switch", "ring", "cpu", "V100", "os:system", "\0", "a.b"]
    ),
    st.text(max_size=5),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "type", "policy", "x"]), inner)
    ),
    max_leaves=6,
)


def try_to_load(source):
    try:
        scenario = load(source)
    except ScenarioError as error:
        complaint = error
    else:
        complaint = None
    if complaint:
        assert complaint.issues
        assert all(issue.message for issue in complaint.issues)
        return
    build_cluster(scenario)
    build_jobs(scenario)
    json.dumps(scenario.resolved(), allow_nan=False)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(LOCS), VALUES), min_size=1, max_size=3))
def test_any_value_anywhere(changes):
    tree = TREE
    for loc, value in changes:
        if find(tree, loc) is not None:
            tree = replace(tree, loc, from_python(value, Place()))
    try_to_load(to_python(tree))


@settings(max_examples=80, deadline=None)
@given(st.integers(0, len(TEXT) - 1), st.integers(0, 6), st.text("\t\n :-[]{}&*!|>'\"%@`,#?xé\x00", max_size=4))
def test_any_text_anywhere(tmp_path_factory, start, length, text):
    path = tmp_path_factory.getbasetemp() / "mutated.yaml"
    path.write_text(TEXT[:start] + text + TEXT[start + length :], encoding="utf-8")
    try_to_load(path)


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=40))
def test_any_bytes(tmp_path_factory, raw):
    path = tmp_path_factory.getbasetemp() / "bytes.yaml"
    path.write_bytes(raw)
    try_to_load(path)
