import sys
import types
from collections.abc import Sequence
from typing import Literal

import pytest
from known_scenario import KNOWN, messages

from hetsim.contracts import Aggregator
from hetsim.model.aggregation import Group, Rank
from hetsim.scenario.build import build_jobs
from hetsim.scenario.load import load
from hetsim.scenario.policies import UnfitPolicyError, parameter_model


def mine(view, *, n: int, names: Sequence[str] = ("a",), mode: Literal["x", "y"] = "x", pair: tuple[int, ...] = ()):
    """Do nothing."""


def tree(view, *, depth: int = 2):
    """Aggregate at once."""
    return Group(members=tuple(Rank(i) for i in range(len(view.ranks))), architecture="ring")


@pytest.fixture(autouse=True)
def plugins(monkeypatch):
    module = types.ModuleType("scenario_plugins")
    module.mine = mine
    module.tree = Aggregator(function=tree, needs_servers=False)
    module.number = 3
    monkeypatch.setitem(sys.modules, "scenario_plugins", module)


def with_job(**job):
    return KNOWN | {"jobs": [KNOWN["jobs"][0] | job]}


def test_a_policy_at_a_dotted_path_has_its_parameters_checked_and_filled_in():
    scenario = load(with_job(placement={"policy": "scenario_plugins:mine", "n": 3, "pair": [1, 2]}))
    (job,) = build_jobs(scenario)
    assert job.placement.parameters == {"n": 3, "names": ("a",), "mode": "x", "pair": (1, 2)}
    assert scenario.resolved()["jobs"][0]["placement"] == {
        "policy": "scenario_plugins:mine",
        "n": 3,
        "names": ["a"],
        "mode": "x",
        "pair": [1, 2],
    }


def test_an_aggregator_at_a_dotted_path_says_whether_it_needs_servers():
    (job,) = build_jobs(load(with_job(servers=2, aggregation={"policy": "scenario_plugins:tree"})))
    assert (job.n_servers, job.aggregation.parameters) == (0, {"depth": 2})


def test_wrong_parameters_are_all_reported():
    found = messages(with_job(placement={"policy": "scenario_plugins:mine", "mod": "x", "mode": "z", "names": [1]}))
    assert found == [
        "scenario: jobs[train].placement.n: required, but missing",
        "scenario: jobs[train].placement.names[0]: must be text, not 1",
        "scenario: jobs[train].placement.mode: must be 'x' or 'y', not 'z'",
        "scenario: jobs[train].placement.mod: no key 'mod'; did you mean 'mode'? Known: n, names, mode, pair",
    ]


def test_what_is_no_policy_is_refused():
    assert messages(with_job(placement={"policy": "scenario_plugins:number"})) == [
        "scenario: jobs[train].placement.policy: 'scenario_plugins:number' is a int, not a function"
    ]
    assert messages(with_job(aggregation={"policy": "scenario_plugins:mine"})) == [
        "scenario: jobs[train].aggregation.policy: 'scenario_plugins:mine' is a function, "
        "not a hetsim.contracts.Aggregator"
    ]


def test_a_signature_that_cannot_be_read_is_refused():
    def broken(view, *, n: "NoSuchType" = 3):  # noqa: F821
        """Have no type."""

    with pytest.raises(UnfitPolicyError, match="NoSuchType"):
        parameter_model(broken)
