"""A fingerprint is the same for the same question, and another for another."""

import dataclasses
import importlib
import sys
import types
from pathlib import Path

import pytest

from hetsim import run
from hetsim.experiment import fingerprint as module
from hetsim.experiment.fingerprint import fingerprint


def test_everything_that_decides_a_result_enters(small: dict, monkeypatch) -> None:
    setup = run(small).setup
    content = {"scenario": {"a": 1, "b": 2}}
    mark = fingerprint(content, [setup])
    assert len(mark) == 12
    assert mark == fingerprint({"scenario": {"b": 2, "a": 1}}, [setup, setup])
    assert mark != fingerprint({"scenario": {"a": 1, "b": 3}}, [setup])
    host = setup.cluster.hosts[0]
    cpu = dataclasses.replace(host.cpu, memory_bytes_per_s=1e9)
    other_host = dataclasses.replace(host, cpu=cpu)
    cluster = dataclasses.replace(setup.cluster, hosts=(other_host, *setup.cluster.hosts[1:]))
    assert mark != fingerprint(content, [dataclasses.replace(setup, cluster=cluster)])
    monkeypatch.setattr(module, "MODEL_VERSION", module.MODEL_VERSION + 1)
    assert mark != fingerprint(content, [setup])


POLICY = """
from hetsim.model.placement import Placement
def first(view):
    return Placement(tuple(slot.device for slot in view.slots[: view.job.n_workers]), (view.hosts[0].name,))
"""


def own(small: dict) -> str:
    small["jobs"][0]["placement"] = {"policy": "own_policies:first"}
    small.pop("compare", None)
    return run(small).fingerprint


def test_the_code_of_a_policy_of_ones_own_enters(small: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    marks = []
    for text in (POLICY, POLICY, POLICY.replace("hosts[0]", "hosts[-1]")):
        (tmp_path / "own_policies.py").write_text(text)
        monkeypatch.delitem(sys.modules, "own_policies", raising=False)
        importlib.invalidate_caches()
        marks.append(own(small))
    assert marks[0] == marks[1] != marks[2]


def test_a_policy_without_a_source_is_known_by_its_code(small: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    marks = []
    for text in (POLICY, POLICY, POLICY.replace("hosts[0]", "hosts[-1]")):
        module = types.ModuleType("own_policies")
        exec(text, vars(module))
        monkeypatch.setitem(sys.modules, "own_policies", module)
        marks.append(own(small))
    assert marks[0] == marks[1] != marks[2]
