"""The benchmarks run, and what they check besides time holds without their peers."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

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


def test_a_ring_takes_as_long_as_simgrid_says() -> None:
    # 128 unequal workers on a star, message by message: simulated time of SimGrid's CM02 (benchmarks/peers).
    simgrid, plans = importlib.import_module("simgrid"), importlib.import_module("plans")
    stored = json.loads(simgrid.STORED.read_text("utf-8"))
    plan = plans.ring(stored["n_workers"], stored["message_bytes"], "rounds")
    end = simgrid.CompiledPlan(plan).run(seed=0, replication=0).end
    assert simgrid.to_seconds(end) == pytest.approx(stored["simulated_s"], rel=simgrid.EXACT)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["kernel", "engine", "ring-128", "help", "check"])
def test_a_benchmark_prints_one_object(name: str) -> None:
    command = [sys.executable, str(FOLDER / "run.py"), "--only", name, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    figure = json.loads(done.stdout)[name]
    assert set(figure) == {"ours_s", "peer_s", "ratio", "unit", "note"}
    assert figure["ours_s"] > 0.0
    if figure["peer_s"] is not None:
        assert figure["ratio"] == pytest.approx(figure["peer_s"] / figure["ours_s"])
