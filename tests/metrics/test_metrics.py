"""Metrics against closed forms on recordings made by hand."""

import numpy as np
import pytest

from hetsim.metrics import steps
from hetsim.metrics.table import METRICS
from hetsim.model.efficiency import Efficiency
from hetsim.model.placement import Placement
from hetsim.model.result import JobRun, Trace
from hetsim.units import TICKS_PER_S

EXPECTED = {
    "train_time_s": 21.0,
    "step_time_mean_s": 10.5,
    "step_time_p50_s": 10.5,
    "step_time_p95_s": 10.95,
    # 100 + 100 * 128 / 64 updates of 64 samples.
    "time_to_accuracy_s": 300 * 64 / (32 * 2 * 2 / 21.0),
    "samples_per_s": 32 * 2 * 2 / 21.0,
    "updates_per_s": 2 / 21.0,
    "staleness_mean": 0.0,
    "dropped_frac": 0.0,
    "compute_s": (4 + 7 + 4 + 8) / 4,
    "wait_s": (3 + 0 + 4.5 + 0) / 4,
    "exposed_s": 10.5 - 23 / 4 - 7.5 / 4,
    "communication_s": 2.5,
}


def ticks(rows: list[list[float]]) -> np.ndarray:
    return (np.array(rows) * TICKS_PER_S).astype(np.int64)


@pytest.fixture
def run() -> JobRun:
    # Rank 1 is the straggler; rank 0 gets its parameters half a second before rank 1 at the end of the first step.
    trace = Trace(
        step_end=ticks([[9.5, 10.0], [20.0, 21.0]]),
        compute_end=ticks([[4.0, 7.0], [13.5, 18.0]]),
        compute=ticks([[4.0, 7.0], [4.0, 8.0]]),
        communication=ticks([[2.0, 3.0], [2.0, 3.0]]),
    )
    placement = Placement(("a/gpu0", "b/gpu0"), ("a",))
    return JobRun(
        job="train",
        replication=0,
        batch=32,
        placement=placement,
        hosts=("a", "b"),
        step_times=(),
        trace=trace,
        efficiency=Efficiency(min_steps=100, noise_batch=128, target="", source="", basis="assumed"),
    )


@pytest.mark.parametrize("name", EXPECTED)
def test_metric_has_its_closed_form(name: str, run: JobRun) -> None:
    assert METRICS[name].function(run) == pytest.approx(EXPECTED[name], rel=1e-12)


def test_every_metric_is_tested_and_returns_a_float(run: JobRun) -> None:
    assert set(EXPECTED) == set(METRICS)
    assert all(type(metric.function(run)) is float for metric in METRICS.values())


def test_compute_wait_and_exposed_add_up_to_the_step(run: JobRun) -> None:
    parts = sum(METRICS[name].function(run) for name in ("compute_s", "wait_s", "exposed_s"))
    assert parts == pytest.approx(METRICS["step_time_mean_s"].function(run), rel=1e-12)


def test_steps_add_up_to_the_training_time(run: JobRun) -> None:
    assert steps.steps_of(run).duration.sum() == run.trace.step_end.max()


def test_exposed_is_what_compute_and_wait_leave(run: JobRun) -> None:
    assert (steps.steps_of(run).exposed == ticks([[3.0, 3.0], [2.5, 3.0]]).ravel()).all()
