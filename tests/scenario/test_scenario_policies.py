import math
import re
import sys
import types
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import pytest
from known_scenario import KNOWN, messages
from pydantic import AfterValidator

from hetsim.contracts import Aggregator
from hetsim.experiment.api import run
from hetsim.model.aggregation import Group, Rank
from hetsim.scenario.build import build_jobs
from hetsim.scenario.load import load
from hetsim.scenario.policies import UnfitPolicyError, parameter_model


def mine(view, *, n: int, names: Sequence[str] = ("a",), mode: Literal["x", "y"] = "x", pair: tuple[int, ...] = ()):
    """Do nothing."""


def tree(view, *, depth: int = 2):
    """Aggregate at once."""
    return Group(members=tuple(Rank(i) for i in range(len(view.ranks))), architecture="ring")


class Callable:
    """An object that can be called."""

    def __call__(self, view, *, n: "int" = 2):
        """Do nothing."""


def methods(view, *, copy: int = 2, json: int = 1, model_config: str = ""):
    """Have parameters that pydantic's models have as methods."""


def anything(view, *, x: Any = None, y=None):
    """Take whatever is written."""


def never(value):
    raise ZeroDivisionError("while checking")


def picky(view, *, x: Annotated[int, AfterValidator(never)] = 1):
    """Have a type that fails."""


@pytest.fixture(autouse=True)
def plugins(monkeypatch):
    module = types.ModuleType("scenario_plugins")
    module.mine = mine
    module.tree = Aggregator(function=tree, needs_servers=False)
    module.number = 3
    module.plain = tree
    module.instance = Callable()
    module.methods = methods
    module.anything = anything
    module.picky = picky
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


POLICIES = {
    "parameter-server": ({}, 2),
    "async": ({"policy": "parameter-server", "sync": "async", "steps": "shared"}, 2),
    "backups": ({"policy": "parameter-server", "quorum": 1, "late": "apply"}, 2),
    "local": ({"policy": "ring", "sync": "local", "period": 2, "local_after": 1}, 0),
    "hierarchical": ({}, 0),
    "servers across": ({"policy": "hierarchical", "outer": "parameter-server", "sync": "ssp", "staleness": 1}, 2),
    "levels": ({"policy": "hierarchical", "outer": "gossip", "inner_period": 2, "graph": [[0, 1]], "groups": 2}, 0),
    "gossip": ({"sync": "async", "graph": "ring"}, 0),
    "partial": ({"group_size": 2}, 0),
    "grouped-ssp": ({"groups": 2, "period": 1}, 2),
    "ashl": ({"k": 4}, 2),
    "esync": ({"margin_s": 0.0}, 2),
}


@pytest.mark.parametrize("name", POLICIES)
def test_a_scheme_by_policy_runs_with_the_servers_that_it_needs(name):
    parameters, n_servers = POLICIES[name]
    scenario = load(with_job(servers=2, steps=5, aggregation={"policy": name, **parameters}))
    (job,) = build_jobs(scenario)
    assert job.n_servers == n_servers
    assert load(scenario.resolved()).resolved() == scenario.resolved()
    (seconds,) = run(scenario).to_frame()["train_time_s"]
    assert seconds > 0.06  # more than a step


def test_a_local_ring_exchanges_once_in_a_period():
    def seconds(**aggregation):
        (found,) = run(load(with_job(steps=4, aggregation={"policy": "ring", **aggregation}))).to_frame()[
            "train_time_s"
        ]
        return found

    computed = 4 * 0.06
    exchange = (seconds() - computed) / 4
    assert seconds(sync="local", period=2) == pytest.approx(computed + 2 * exchange)
    assert seconds(sync="local", period=3) == pytest.approx(computed + exchange)
    assert seconds(sync="local", period=3, local_after=1) == pytest.approx(computed + 2 * exchange)
    assert seconds(sync="local", period=9) == pytest.approx(computed)


def test_needing_servers_may_depend_on_parameters(monkeypatch):
    def asking(needs):
        found = Aggregator(function=tree, needs_servers=needs)
        monkeypatch.setattr(sys.modules["scenario_plugins"], "tree", found)

    asking(lambda parameters: parameters["depth"] > 1)
    for parameters, n_servers in (({}, 2), ({"depth": 1}, 0)):
        (job,) = build_jobs(load(with_job(servers=2, aggregation={"policy": "scenario_plugins:tree", **parameters})))
        assert job.n_servers == n_servers
    assert messages(with_job(aggregation={"policy": "scenario_plugins:tree", "depth": "x"})) == [
        "scenario: jobs[train].aggregation.depth: must be a whole number, not 'x'"
    ]
    asking(lambda parameters: parameters["width"])
    assert messages(with_job(aggregation={"policy": "scenario_plugins:tree"})) == [
        "scenario: jobs[train].aggregation.policy: no aggregation policy at 'scenario_plugins:tree': "
        "its needs_servers raised KeyError: 'width'"
    ]


def test_a_parameter_that_is_a_word_or_a_list_complains_as_one_of_them():
    for graph, where in (
        ("star", "graph: must be 'complete', 'ring' or 'line', not 'star'"),
        ([1], "graph[0]: must be"),
    ):
        (only,) = messages(with_job(aggregation={"policy": "gossip", "graph": graph}))
        assert only.startswith(f"scenario: jobs[train].aggregation.{where}")


def test_a_plain_function_is_an_aggregation_policy_with_servers():
    (job,) = build_jobs(load(with_job(servers=2, aggregation={"policy": "scenario_plugins:plain", "depth": 1})))
    assert (job.n_servers, job.aggregation.parameters) == (2, {"depth": 1})


def test_an_object_that_can_be_called_is_a_policy():
    (job,) = build_jobs(load(with_job(placement={"policy": "scenario_plugins:instance", "n": 3})))
    assert job.placement.parameters == {"n": 3}


def test_parameters_may_be_called_like_methods_of_the_schema():
    placement = {"policy": "scenario_plugins:methods", "copy": 3, "model_config": "x"}
    scenario = load(with_job(placement=placement))
    (job,) = build_jobs(scenario)
    assert job.placement.parameters == {"copy": 3, "json": 1, "model_config": "x"}
    assert scenario.resolved()["jobs"][0]["placement"] == placement | {"json": 1}
    (only,) = messages(with_job(placement={"policy": "scenario_plugins:methods", "jsn": 3}))
    assert only.endswith("no key 'jsn'; did you mean 'json'? Known: copy, json, model_config")


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
    assert messages(with_job(aggregation={"policy": "scenario_plugins:number"})) == [
        "scenario: jobs[train].aggregation.policy: no aggregation policy at 'scenario_plugins:number': "
        "a int is neither a function nor a hetsim.contracts.Aggregator"
    ]


def test_a_signature_that_cannot_be_read_is_refused():
    def broken(view, *, n: "NoSuchType" = 3):  # noqa: F821
        """Have no type."""

    with pytest.raises(UnfitPolicyError, match="NoSuchType"):
        parameter_model(broken)


@pytest.mark.parametrize("value", [math.nan, math.inf, [1, {"a": -math.inf}]])
def test_numbers_that_no_manifest_can_hold_are_refused(value):
    for parameter in ("x", "y"):
        (only,) = messages(with_job(placement={"policy": "scenario_plugins:anything", parameter: value}))
        assert re.fullmatch(rf"scenario: jobs\[train\].placement.{parameter}: must be finite, not (nan|-?inf)", only)


def test_null_is_a_value_of_a_parameter():
    scenario = load(with_job(placement={"policy": "scenario_plugins:anything", "x": None}))
    assert scenario.resolved()["jobs"][0]["placement"] == {"policy": "scenario_plugins:anything", "x": None, "y": None}


def test_a_type_that_fails_while_it_checks_is_an_issue():
    (only,) = messages(with_job(placement={"policy": "scenario_plugins:picky", "x": 1}))
    assert "placement: placement policy 'scenario_plugins:picky' raised ZeroDivisionError: while checking" in only


def reserved(view, *, policy: str = "a"): ...
def underscored(view, *, _x: int = 1): ...
def no_view(): ...
def two_views(view, other): ...
def no_expression(view, *, x: "3 +" = 1): ...  # noqa: F722
def raising(view, *, x: "1 / 0" = 1): ...
def no_type(view, *, x: 5 = 1): ...
def object_default(view, *, x=object()): ...  # noqa: B008
def nan_default(view, *, x: float = math.nan): ...
def nested_nan_default(view, *, x: Any = (1, math.nan)): ...


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (reserved, "a parameter of reserved is called 'policy', which is the key that names the policy: rename it"),
        (underscored, "a parameter of underscored is called '_x', which begins with '_': rename it"),
        (no_view, "no_view cannot be called with a view and the parameters behind its '*': too many positional"),
        (two_views, "two_views cannot be called with a view and the parameters behind its '*': missing a required arg"),
        (no_expression, "the signature of no_expression cannot be used: SyntaxError: "),
        (raising, "the signature of raising cannot be used: ZeroDivisionError: division by zero"),
        (no_type, "the signature of no_type cannot be used: "),
        (object_default, "the default of its parameter 'x' is a object, which no file can hold"),
        (nan_default, "the default of its parameter 'x' is not finite"),
        (nested_nan_default, "the default of its parameter 'x' is not finite"),
    ],
)
def test_signatures_that_no_scenario_can_serve(function, why):
    with pytest.raises(UnfitPolicyError) as caught:
        parameter_model(function)
    assert str(caught.value).startswith(why)
