"""Asynchronous and stale synchronous training over real TCP, recorded for this project; nothing is fitted.

A worker of the recording computes first and is answered with parameters after each push; ours pulls first. So rates are
of the time between the first push and the last, over as many pushes as were recorded.
"""

import csv
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from validation.cases import Case, plan_for_tree

from hetsim.engine.simulate import simulate
from hetsim.metrics.staleness import staleness_mean
from hetsim.model.aggregation import Group, Rank
from hetsim.model.placement import Placement
from hetsim.model.result import JobRun
from hetsim.units import TICKS_PER_S

TABLE = Path(__file__).parent.parent / "data" / "training_async.csv"


def rows() -> list[dict[str, str]]:
    with TABLE.open(newline="") as file:
        return list(csv.DictReader(file))


def floats(text: str) -> tuple[float, ...]:
    return tuple(float(number) for number in text.split())


def measured_per_s(row: Mapping[str, str]) -> float:
    return (int(row["n_updates"]) - 1) / float(row["span_s"])


def predicted(row: Mapping[str, str]) -> tuple[float, float]:
    """Updates per second and mean staleness of as many updates as were recorded."""
    case = Case(
        setting=row["setting"],
        scheme="parameter-server",
        groups=(),
        link_mbit=floats(row["link_mbit"]),
        uplink_mbit=(),
        server_mbit=float(row["server_mbit"]),
        compute_ms=floats(row["compute_ms"]),
        gradient_bytes=int(row["gradient_bytes"]),
        round_s=0.0,
    )
    bound = int(row["staleness"] or 0)
    tree = Group(
        members=tuple(Rank(rank) for rank in range(case.n_workers)),
        architecture="parameter-server",
        servers=("top",),
        sync="ssp" if row["scheme"] == "ssp" else "async",
        staleness=bound,
    )
    (trace,) = simulate(plan_for_tree(case, tree, n_steps=40), seed=0, replication=0).jobs
    ends = np.sort(trace.step_end[trace.step_end >= 0])[: int(row["n_updates"])]
    run = JobRun(
        job="train",
        replication=0,
        batch=1,
        placement=Placement((), ()),
        hosts=(),
        step_times=(),
        trace=replace(trace, step_end=np.where(trace.step_end <= ends[-1], trace.step_end, -1)),
        tree=tree,
    )
    return (ends.size - 1) / (int(ends[-1] - ends[0]) / TICKS_PER_S), staleness_mean(run)


def naive(row: Mapping[str, str]) -> tuple[float, float]:
    """What is usually written down: every worker alone on its link, and all others once between its updates."""
    frame_mbit = int(row["gradient_bytes"]) * 1514 / 1448 * 8 / 1e6
    pairs = zip(floats(row["link_mbit"]), floats(row["compute_ms"]), strict=True)
    steps_s = [ms / 1e3 + 2 * frame_mbit / mbit for mbit, ms in pairs]
    return sum(1 / step for step in steps_s), len(steps_s) - 1.0


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["setting"])
def test_updates_and_staleness(row: Mapping[str, str]) -> None:
    per_s, staleness = predicted(row)
    assert per_s == pytest.approx(measured_per_s(row), rel=0.02)
    assert staleness == pytest.approx(float(row["staleness_mean"]), rel=0.06)


def test_the_naive_rule_knows_no_bound() -> None:
    bounded = [row for row in rows() if row["scheme"] == "ssp"]
    errors = sorted(abs(naive(row)[0] / measured_per_s(row) - 1) for row in bounded)
    # Two workers of about the same speed never meet their bound.
    assert len(errors) == 4
    assert errors[0] < 0.02
    assert min(errors[1:]) > 0.2
