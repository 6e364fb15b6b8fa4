"""One battery over every table of plug-ins: a new entry is tested by being listed."""

import copy
import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any, get_type_hints

import numpy as np
import pytest
from views import GBIT_PER_S, GIB, host, job, ranks, slot, unequal, view

from hetsim.aggregation.aggregate import aggregate
from hetsim.aggregation.find import has_servers
from hetsim.aggregation.table import POLICIES as AGGREGATIONS
from hetsim.catalog import descriptions, devices
from hetsim.contracts import AggregationView, PlacementView
from hetsim.metrics.table import METRICS
from hetsim.model.aggregation import Group, ranks_of
from hetsim.model.efficiency import Efficiency
from hetsim.model.job import PolicyChoice
from hetsim.model.placement import Placement
from hetsim.model.result import JobRun, Trace
from hetsim.model.workload import StepTime
from hetsim.placement.choose import Servers
from hetsim.placement.place import place
from hetsim.placement.table import POLICIES as PLACEMENTS
from hetsim.scenario.policies import arguments
from hetsim.workload.memory import worker_bytes
from hetsim.workload.step_time import step_time
from hetsim.workload.table import MODELS, build_model

PLACEMENT_VIEWS = {
    "equal": view([slot(f"h{i}/gpu0") for i in range(4)], [host(f"h{i}") for i in range(4)]),
    "unequal": unequal(n_workers=5, n_servers=2),
    "ring": unequal(n_workers=3, n_servers=0),
    "busy": view(
        [slot(f"h{i}/gpu0", available_frac=0.05 * (1 + i)) for i in range(4)],
        [host(f"h{i}", cpu_available_frac=0.1, network_bytes_per_s=0.01 * GBIT_PER_S) for i in range(4)],
    ),
    "tiny": view([slot("a/gpu0")], [host("a", network_bytes_per_s=0.0)], n_workers=1),
    "taken": view([slot(f"a/gpu{i}", taken=i < 2) for i in range(4)], [host("a")]),
    "large": unequal(n_hosts=30, per_host=4, n_workers=60, n_servers=4, gradient_bytes=500e6),
    "cpu": view(
        [slot(f"h{i}/cpu", 2.0 + i, uses_host_memory=True, free_bytes=64 * GIB) for i in range(3)],
        [host(f"h{i}") for i in range(3)],
    ),
}
"""Each holds a placement that is possible for every policy."""

AGGREGATION_VIEWS = {
    "one": ranks("a", servers=("a",)),
    "spread": ranks("a", "b", "c", servers=("a", "b")),
    "mixed": ranks("b", "a", "b", "a", "c", servers=("c",)),
    "large": ranks(*(f"h{i % 7}" for i in range(40)), servers=("h0", "h1", "h2")),
}


def test_all_tables_are_covered() -> None:
    n_cases = len(PLACEMENTS) * len(PLACEMENT_VIEWS) + len(AGGREGATION_CASES) * len(AGGREGATION_VIEWS)
    n_cases += len(METRICS) * len(TRACES) + len(devices()) + len(MODELS)
    assert (len(PLACEMENT_VIEWS), len(AGGREGATION_VIEWS), len(TRACES)) == (8, 4, 4)
    assert len(SEPARATING) >= 4
    assert n_cases >= 5 * 8 + 33 * 4 + 9 * 4 + 13 + 13


FUNCTIONS: Mapping[str, Callable[..., object]] = (
    {f"placement {name}": function for name, function in PLACEMENTS.items()}
    | {f"aggregation {name}": entry.function for name, entry in AGGREGATIONS.items()}
    | {f"metric {name}": entry.function for name, entry in METRICS.items()}
    | {f"model {name}": entry.builder for name, entry in MODELS.items()}
)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_its_first_line_describes_it(name: str) -> None:
    first = (FUNCTIONS[name].__doc__ or "").partition("\n")[0]
    assert 20 <= len(first) <= 120
    assert first.endswith(".")


@pytest.mark.parametrize("kind", ["device", "link", "dataset"])
def test_every_row_is_described(kind: Any) -> None:
    assert len(descriptions(kind)) >= 3
    assert all(text.strip() for text in descriptions(kind).values())


@pytest.mark.parametrize("table", [PLACEMENTS, AGGREGATIONS, METRICS, MODELS, devices()])
def test_names_are_fit_for_a_scenario(table: Mapping[str, object]) -> None:
    assert all(name == name.strip() and not set(name) & set(" :[]{}#,.=") for name in table)


POLICY_FUNCTIONS = [name for name in FUNCTIONS if name.startswith(("placement", "aggregation"))]


@pytest.mark.parametrize("name", POLICY_FUNCTIONS)
def test_its_parameters_are_keywords_with_types_and_defaults(name: str) -> None:
    function = FUNCTIONS[name]
    seen, *parameters = inspect.signature(function).parameters.values()
    types = get_type_hints(function)
    assert types[seen.name] in {PlacementView, AggregationView}
    for parameter in parameters:
        assert parameter.kind is parameter.KEYWORD_ONLY
        assert types[parameter.name] not in {Any, object}
        assert parameter.default is not parameter.empty or name == "placement explicit"


def placed_job(name: str, seen: PlacementView) -> Any:
    parameters: dict[str, object] = {}
    if name == "explicit":
        free = [each.device for each in seen.slots if not each.taken]
        parameters["workers"] = free[: seen.job.n_workers]
        parameters["servers"] = [each.name for each in seen.hosts[: seen.job.n_servers]]
    return job(placement=PolicyChoice(policy=name, parameters=parameters))


@pytest.mark.parametrize("name", PLACEMENTS)
@pytest.mark.parametrize("which", PLACEMENT_VIEWS)
def test_placement_is_valid_and_pure(name: str, which: str) -> None:
    seen = PLACEMENT_VIEWS[which]
    before = copy.deepcopy((seen.job, seen.slots, seen.hosts, seen.draws.tolist()))
    first = place(placed_job(name, seen), seen)  # checks the answer
    assert isinstance(first, Placement)
    assert place(placed_job(name, seen), seen) == first
    assert (seen.job, seen.slots, seen.hosts, seen.draws.tolist()) == before
    assert len(set(first.servers)) == len(first.servers)


SEPARATE_VIEWS = {
    "four hosts": unequal(n_workers=4, n_servers=2),
    "ring": PLACEMENT_VIEWS["ring"],
    "large": PLACEMENT_VIEWS["large"],
}
SEPARATING = [name for name in PLACEMENTS if get_type_hints(PLACEMENTS[name]).get("servers") == Servers]


@pytest.mark.parametrize("name", SEPARATING)
@pytest.mark.parametrize("which", SEPARATE_VIEWS)
def test_separate_servers_hold_no_worker(name: str, which: str) -> None:
    placement = place(
        job(placement=PolicyChoice(policy=name, parameters={"servers": "separate"})), SEPARATE_VIEWS[which]
    )
    assert {device.split("/")[0] for device in placement.workers} & set(placement.servers) == set()


COMBINATIONS: Mapping[str, tuple[Mapping[str, object], ...]] = {
    "parameter-server": (
        {"sync": "async", "sharding": "even"},
        {"sync": "async", "steps": "shared"},
        {"sync": "ssp", "staleness": 2},
        {"sync": "local", "period": 4, "local_after": 2},
        {"quorum": 1},
        {"quorum": 2, "late": "apply"},
    ),
    "ring": ({"sync": "local", "period": 3, "order": "host"}, {"messages": "composite"}),
    "tree": ({"sync": "local", "period": 2, "local_after": 1},),
    "halving-doubling": ({"sync": "local", "period": 2, "local_after": 1},),
    "hierarchical": (
        {"outer": "parameter-server", "sharding": "even"},
        {"outer": "parameter-server", "sync": "async"},
        {"outer": "parameter-server", "sync": "ssp", "staleness": 1, "inner_period": 2},
        {"outer": "gossip", "graph": "ring", "sync": "local", "period": 3, "inner_period": 2},
        {"inner": "halving-doubling", "outer": "tree", "sync": "local", "period": 2, "local_after": 4, "groups": 1},
    ),
    "byteps": ({"partition_bytes": 1},),
    "gossip": (
        {"sync": "async", "graph": "ring"},
        {"sync": "local", "graph": "line", "period": 2, "local_after": 1},
    ),
    "grouped-ssp": ({"groups": 1, "staleness": 0, "period": 1, "sharding": "even"},),
    "ashl": ({"k": 8.0, "sharding": "even"},),
    "esync": ({"margin_s": 0.0, "sharding": "even"},),
}
"""Parameters that each view allows, beside the defaults."""

AGGREGATION_CASES = [(name, {}) for name in AGGREGATIONS] + [
    (name, dict(parameters)) for name, combinations in COMBINATIONS.items() for parameters in combinations
]


def servers_in(tree: Group) -> set[str]:
    return set(tree.servers).union(*(servers_in(member) for member in tree.members if isinstance(member, Group)))


@pytest.mark.parametrize(("name", "parameters"), AGGREGATION_CASES, ids=str)
@pytest.mark.parametrize("which", AGGREGATION_VIEWS)
def test_aggregation_is_valid_and_pure(name: str, parameters: dict[str, object], which: str) -> None:
    seen = AGGREGATION_VIEWS[which]
    before = copy.deepcopy((seen.ranks, seen.servers))
    choice = PolicyChoice(policy=name, parameters=arguments("aggregation", name, parameters))
    tree = aggregate(job(aggregation=choice), seen)  # checks the answer
    assert aggregate(job(aggregation=choice), seen) == tree
    assert sorted(ranks_of(tree)) == list(range(len(seen.ranks)))
    assert bool(servers_in(tree)) == has_servers(name, choice.parameters)
    assert (seen.ranks, seen.servers) == before


def run_of(n_steps: int, n_ranks: int, spread: int) -> JobRun:
    """Ranks that compute 1 ms and more, then exchange for 0.5 ms, in step."""
    compute = 10**9 + spread * np.arange(n_steps * n_ranks, dtype=np.int64).reshape(n_steps, n_ranks)
    step_end = np.cumsum(compute.max(axis=1) + 5 * 10**8)
    step_start = np.concatenate(([0], step_end[:-1]))
    trace = Trace(
        step_end=np.repeat(step_end[:, None], n_ranks, axis=1),
        compute_end=step_start[:, None] + compute,
        compute=compute,
        communication=np.full((n_steps, n_ranks), 5 * 10**8, dtype=np.int64),
    )
    for array in (trace.step_end, trace.compute_end, trace.compute, trace.communication):
        array.flags.writeable = False
    known = StepTime(forward_s=0.001, backward_s=0.0, basis="measured", method="m", source="s")
    return JobRun(
        job="train",
        replication=0,
        batch=32,
        placement=Placement(tuple(f"h{i}/gpu0" for i in range(n_ranks))),
        hosts=tuple(f"h{i}" for i in range(n_ranks)),
        step_times=(known,) * n_ranks,
        trace=trace,
        efficiency=Efficiency(min_steps=1000, noise_batch=2000, target="t", source="s", basis="assumed"),
    )


TRACES = {
    "one": run_of(1, 1, 0),
    "even": run_of(5, 3, 0),
    "uneven": run_of(5, 3, 10**7),
    "long": run_of(200, 8, 10**5),
}


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("which", TRACES)
def test_metric_is_a_finite_number_and_pure(name: str, which: str) -> None:
    metric, run = METRICS[name], TRACES[which]
    value = metric.function(run)
    assert value is not None
    assert math.isfinite(value)
    assert value >= 0.0
    assert metric.function(run) == value
    assert metric.unit
    assert metric.better in {"lower", "higher"}


@pytest.mark.parametrize("name", devices())
def test_device_can_train(name: str) -> None:
    device = devices()[name]
    assert device.name == name
    assert device.source
    model = build_model("resnet18")
    n_cores = device.n_cores or None
    one, two = (step_time(model, device, batch, (), n_cores=n_cores) for batch in (16, 32))
    assert one.basis == "assumed"
    assert 0.0 < one.forward_s < one.backward_s
    assert one.total_s < two.total_s < 3.0 * one.total_s
    assert 1.0 <= device.card_capacity <= device.dies_per_card


@pytest.mark.parametrize("name", MODELS)
def test_model_is_whole(name: str) -> None:
    entry = MODELS[name]
    model = build_model(name, entry.input_shape, entry.n_classes)
    assert (model.name, model.n_classes) == (name, model.layers[-1].out_shape[0])
    assert len({layer.name for layer in model.layers}) == len(model.layers)
    assert len({variable.name for variable in model.variables}) == len(model.variables)
    assert model.gradient_bytes == 4 * model.n_params > 0
    assert model.macs > 0
    assert worker_bytes(model, 1) < worker_bytes(model, 2)
    assert build_model(name, entry.input_shape, entry.n_classes) == model
