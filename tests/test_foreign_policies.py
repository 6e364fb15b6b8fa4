"""Policies of somebody else, named by a dotted path: a function, a class, an instance; on both executors."""

import json
import sys
import types
from typing import Any

import pytest
from known_scenario import KNOWN, messages

from hetsim import load, run
from hetsim.contracts import AggregationView, Aggregator, PlacementView
from hetsim.experiment.result import Result
from hetsim.model.aggregation import Group, Rank
from hetsim.model.placement import Placement

MODULE = "policies_of_somebody"


class TwoHalves:
    """Ask for a ring of groups, each of half of the ranks."""

    def __call__(self, view: AggregationView, *, inner: str = "ring") -> Group:
        """Cut the ranks in the middle."""
        ranks = [Rank(index) for index in range(len(view.ranks))]
        half = len(ranks) // 2
        groups = tuple(Group(members=tuple(part), architecture=inner) for part in (ranks[:half], ranks[half:]))
        return Group(members=groups, architecture="ring")


class LastFirst:
    """Ask for the last devices and hosts."""

    def __call__(self, view: PlacementView) -> Placement:
        """Take them from the end."""
        devices = [slot.device for slot in reversed(view.slots) if not slot.taken]
        hosts = [host.name for host in reversed(view.hosts)]
        return Placement(tuple(devices[: view.job.n_workers]), tuple(hosts[: view.job.n_servers]))


class Broken:
    """Cannot be made."""

    def __init__(self) -> None:
        raise ZeroDivisionError("while it is made")

    def __call__(self, view: AggregationView) -> Group:
        raise NotImplementedError


class Wanting:
    """Has to be given something."""

    def __init__(self, what: int) -> None:
        self.what = what

    def __call__(self, view: AggregationView) -> Group:
        raise NotImplementedError


class Nothing:
    """Has instances that cannot be called."""


@pytest.fixture(autouse=True)
def module(monkeypatch: pytest.MonkeyPatch) -> None:
    made = types.ModuleType(MODULE)
    contents: dict[str, object] = {each.__name__: each for each in (TwoHalves, LastFirst, Broken, Wanting, Nothing)}
    contents |= {"instance": TwoHalves(), "function": TwoHalves().__call__}
    contents |= {"serverless": Aggregator(function=TwoHalves(), needs_servers=False)}
    for name, value in contents.items():
        setattr(made, name, value)
    monkeypatch.setitem(sys.modules, MODULE, made)


def scenario(**job: object) -> dict[str, Any]:
    own = {"workers": 4, "steps": 3, "jitter": {"cv": 0.1}, "placement": {"policy": "default-tensorflow"}}
    return KNOWN | {"jobs": [KNOWN["jobs"][0] | own | job]}


def result_of(engine: str, **job: object) -> Result:
    return run(load(scenario(**job), [f"engine={engine}", "replications=2"]))


def bytes_of(result: Result) -> bytes:
    """All that a result says, but for the executor's name and what it names the result after."""
    tables = [frame.to_csv() for frame in (result.to_frame(), result.steps_frame(), result.ranks_frame())]
    jobs = result.to_dict()["jobs"]
    return json.dumps([jobs, *tables]).encode()


@pytest.mark.parametrize("name", ["TwoHalves", "instance", "function", "serverless"])
@pytest.mark.parametrize("inner", ["ring", "halving-doubling"])
def test_an_aggregation_policy_runs_alike_on_both_executors(name: str, inner: str) -> None:
    aggregation = {"policy": f"{MODULE}:{name}", "inner": inner}
    results = [result_of(engine, aggregation=aggregation) for engine in ("simpy", "kernel")]
    assert bytes_of(results[0]) == bytes_of(results[1])
    assert [result.manifest()["engine"] for result in results] == ["simpy", "kernel"]
    members = [{"architecture": inner, "ranks": ranks} for ranks in ([0, 1], [2, 3])]
    by_hand = result_of("simpy", aggregation={"architecture": "ring", "members": members})
    assert by_hand.steps_frame().equals(results[0].steps_frame())


def test_a_placement_policy_runs_alike_on_both_executors() -> None:
    placement = {"policy": f"{MODULE}:LastFirst"}
    results = [result_of(engine, placement=placement) for engine in ("simpy", "kernel")]
    assert bytes_of(results[0]) == bytes_of(results[1])
    assert results[0].record.jobs[0].placement.workers == ("a-1/gpu1", "a-1/gpu0", "a-0/gpu1", "a-0/gpu0")


def test_parameters_of_a_class_are_those_of_its_instances() -> None:
    (only,) = messages(scenario(aggregation={"policy": f"{MODULE}:TwoHalves", "innr": "ring"}))
    assert only.endswith("no key 'innr'; did you mean 'inner'? Known: inner")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("Broken", "ZeroDivisionError: while it is made"),
        ("Wanting", "missing 1 required positional argument: 'what'"),
        ("Nothing", "cannot be called with a view and the parameters behind its '*'"),
    ],
)
@pytest.mark.parametrize("key", ["aggregation", "placement"])
def test_classes_that_make_no_policy_are_refused(key: str, name: str, why: str) -> None:
    (only,) = messages(scenario(**{key: {"policy": f"{MODULE}:{name}"}}))
    assert only.startswith(f"scenario: jobs[train].{key}.policy: ")
    assert why in only
