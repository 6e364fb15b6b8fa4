"""The benchmarks run, and what they check besides time holds without their peers."""

import importlib
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from hetsim.model.instructions import Flow
from hetsim.model.plan import Plan

FOLDER = Path(__file__).parent / "benchmarks"


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))


def test_every_benchmark_is_a_function() -> None:
    entries = importlib.import_module("run").BENCHMARKS.values()
    assert len(entries) >= 7
    for entry in entries:
        module, _, function = entry.partition(":")
        assert callable(getattr(importlib.import_module(module), function))


def test_measurements_are_taken_in_turn_and_the_median_counts() -> None:
    measure = importlib.import_module("measure")
    order: list[str] = []

    def sample(name: str, values: list[float]):
        def call() -> float:
            order.append(name)
            return values.pop(0)

        return call

    medians = measure.interleaved(
        sample("a", [99.0, 1.0, 50.0, 2.0]), sample("b", [99.0, 6.0, 4.0, 5.0]), n_repetitions=3
    )
    assert medians == (2.0, 5.0)
    assert order == ["a", "b"] * 4
    figure = measure.Figure(ours_s=2.0, peer_s=5.0, unit="steps", note="")
    assert figure.to_dict() == {"ours_s": 2.0, "peer_s": 5.0, "ratio": 2.5, "unit": "steps", "note": ""}


@pytest.mark.parametrize(
    ("name", "path"), [("ring-128", "recurrence"), ("ring-128", "events"), ("two-level-512", "events")]
)
def test_rings_take_as_long_as_simgrid_says(name: str, path: str) -> None:
    # Unequal workers, message by message: simulated time of SimGrid's CM02 (benchmarks/peers).
    simgrid = importlib.import_module("simgrid")
    stored = json.loads(simgrid.STORED.read_text("utf-8"))
    compiled = simgrid.CompiledPlan(simgrid.PLANS[name](), events_only=path == "events")
    assert compiled.path == path
    end = compiled.run(seed=0, replication=0).end
    assert simgrid.to_seconds(end) == pytest.approx(stored["simulated_s"][name], rel=simgrid.EXACT)


def test_the_peer_reads_links_ways_and_operations() -> None:
    plans, simgrid_input = importlib.import_module("plans"), importlib.import_module("simgrid_input")
    plan = plans.ring(2, 1000, "rounds")
    rank = "c {} s {} 1000.0 r {} w {} s {} 1000.0 r {} w {}"
    expected = [
        "4 1000000000.0 5e-05 1500000000.0 0.0 1500000000.0 5e-05 1000000000.0 0.0",
        "2 0 1 2 0 1 1 0 2 2 3",
        "2",
        f"7 {rank.format(0.01, 0, 1, 0, 0, 1, 0)}",
        f"7 {rank.format(0.015, 1, 0, 1, 1, 0, 1)}",
    ]
    assert simgrid_input.peer_input(plan).split() == " ".join(expected).split()
    assert simgrid_input.n_messages(plan) == 4


def _with_latency(plan: Plan, ticks: int) -> Plan:
    """Give the messages of the first rank another latency."""
    body = tuple(
        replace(each, latency_ticks=ticks) if isinstance(each, Flow) else each for each in plan.programs[0].body
    )
    return replace(plan, programs=(replace(plan.programs[0], body=body), *plan.programs[1:]))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda plans: plans.parameter_server(2, 1), "rank 1: not a message from one rank"),
        (lambda plans: plans.ring(4, 1000, "composite"), "rank 1: not the only one that waits for train/ring 4 done"),
        (lambda plans: plans.composite_steps(1, 2), "no more than one step"),
        (lambda plans: _with_latency(plans.ring(4, 1000, "rounds"), 1), "not all ways have the same latency"),
    ],
)
def test_the_peer_is_given_only_what_it_can_do(build: Callable[[ModuleType], Plan], message: str) -> None:
    plans, simgrid_input = importlib.import_module("plans"), importlib.import_module("simgrid_input")
    with pytest.raises(ValueError, match=message):
        simgrid_input.peer_input(build(plans))


def test_transfers_on_a_fat_tree_end_when_simgrid_says() -> None:
    fat_tree, maxmin = importlib.import_module("fat_tree"), importlib.import_module("maxmin")
    transfers = maxmin.Transfers(fat_tree.random_traffic(16, 1000, seed=1))
    maxmin.check(transfers.drain() / fat_tree.TICKS_PER_S, "drain-1000")


def test_routes_of_a_fat_tree_go_up_and_down_the_same_number_of_links() -> None:
    fat_tree = importlib.import_module("fat_tree")
    # Four ports: two hosts at each of eight edge switches, two edge switches in each of four pods; 16 links a layer.
    assert fat_tree.route(4, 0, 1) == [0, 17]
    up, port, last_port, down = fat_tree.route(4, 0, 2)
    assert (up, down) == (0, 18)
    assert (port, last_port - 50) in {(32, 0), (33, 1)}
    for target in range(4, 16):
        links = fat_tree.route(4, 1, target)
        assert [link // 16 for link in links] == [0, 2, 4, 5, 3, 1]
        assert (links[0], links[-1]) == (1, 16 + target)


@pytest.mark.slow
def test_each_transfer_ends_when_it_does_in_simgrid(tmp_path: Path) -> None:
    fat_tree, maxmin = importlib.import_module("fat_tree"), importlib.import_module("maxmin")
    program = maxmin.build(tmp_path, "simgrid_flows")
    if program is None:
        pytest.skip("needs g++ and libsimgrid-dev")
    traffic = fat_tree.random_traffic(8, 1000, seed=2)
    _, peer_ends = maxmin.drained_by_simgrid(program, traffic)
    ends = maxmin.Transfers(traffic).drain() / fat_tree.TICKS_PER_S
    assert ends == pytest.approx(peer_ends, rel=maxmin.EXACT)


@pytest.mark.slow
def test_small_rings_of_rings_take_as_long_as_in_simgrid(tmp_path: Path) -> None:
    simgrid, plans = importlib.import_module("simgrid"), importlib.import_module("plans")
    program = simgrid.build(tmp_path)
    if program is None:
        pytest.skip("needs g++ and libsimgrid-dev")
    for n_hosts, n_gpus in [(2, 2), (3, 4), (4, 2), (8, 4)]:
        plan = plans.two_level(n_hosts, n_gpus, 100_000)
        peer = simgrid.Peer(program, simgrid.peer_input(plan), "Full")
        peer()
        end = simgrid.CompiledPlan(plan, events_only=True).run(seed=0, replication=0).end
        assert simgrid.to_seconds(end) == pytest.approx(peer.simulated_s, rel=simgrid.EXACT)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["kernel", "engine", "ring-128", "maxmin-solve", "recurrence", "ready-draws", "help", "check"]
)
def test_a_benchmark_prints_one_object(name: str) -> None:
    command = [sys.executable, str(FOLDER / "run.py"), "--only", name, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    figure = json.loads(done.stdout)[name]
    assert set(figure) == {"ours_s", "peer_s", "ratio", "unit", "note"}
    assert figure["ours_s"] > 0.0
    if figure["peer_s"] is not None:
        assert figure["ratio"] == pytest.approx(figure["peer_s"] / figure["ours_s"])
