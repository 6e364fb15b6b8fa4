"""Which row is compared to which, on recordings made by hand."""

import numpy as np
import pytest

from hetsim.experiment.points import compare_rows, is_decision, points_of
from hetsim.model.placement import Placement
from hetsim.model.result import JobRun, Record, Trace
from hetsim.units import TICKS_PER_S

PLACEMENT, BATCH = "jobs[train].placement.policy", "jobs[train].batch"


def record(*times_s: float, jobs: tuple[str, ...] = ("train",)) -> Record:
    """Runs that last as long as told, one for each replication."""
    runs = []
    for replication, time_s in enumerate(times_s):
        end = np.array([[int(time_s * TICKS_PER_S)]])
        trace = Trace(step_end=end, compute_end=end, compute=end, communication=0 * end)
        runs += [
            JobRun(
                job=job,
                replication=replication,
                batch=1,
                placement=Placement(("a",)),
                hosts=("a",),
                step_times=(),
                trace=trace,
            )
            for job in jobs
        ]
    return Record(jobs=tuple(runs), links=())


def test_points_are_all_combinations_and_the_last_axis_is_the_fastest() -> None:
    points = points_of({"a": [1, 2], "b": ["x", "y"]})
    assert points == ({"a": 1, "b": "x"}, {"a": 1, "b": "y"}, {"a": 2, "b": "x"}, {"a": 2, "b": "y"})


@pytest.mark.parametrize(
    ("path", "decides"),
    [
        ("jobs[train].placement.policy", True),
        ("jobs[train].aggregation", True),
        ("jobs[train].aggregation.sharding", True),
        ("jobs[train].batch", False),
        ("cluster.hosts[a].nic", False),
    ],
)
def test_placement_and_aggregation_are_decisions(path: str, decides: bool) -> None:
    assert is_decision(path) is decides


@pytest.mark.parametrize("order", [(PLACEMENT, BATCH), (BATCH, PLACEMENT)])
def test_decisions_are_compared_under_the_same_conditions(order: tuple[str, str]) -> None:
    values = {PLACEMENT: ["default", "aware"], BATCH: [32, 64]}
    times = {("default", 32): 4.0, ("aware", 32): 2.0, ("default", 64): 9.0, ("aware", 64): 3.0}
    points = points_of({path: values[path] for path in order})
    rows = compare_rows(points, [record(times[point[PLACEMENT], point[BATCH]]) for point in points], "train_time_s")
    found = {(row.labels[PLACEMENT], row.labels[BATCH]): (row.speedup, row.is_baseline) for row in rows}
    assert found == {
        ("default", 32): (1.0, True),
        ("aware", 32): (2.0, False),
        ("default", 64): (1.0, True),
        ("aware", 64): (3.0, False),
    }


def test_without_a_decision_the_first_row_is_the_baseline() -> None:
    points = points_of({BATCH: [32, 64, 128]})
    rows = compare_rows(points, [record(4.0), record(2.0), record(8.0)], "train_time_s")
    assert [(row.speedup, row.is_baseline) for row in rows] == [(1.0, True), (2.0, False), (0.5, False)]


def test_each_job_is_compared_to_itself() -> None:
    points = points_of({PLACEMENT: ["default", "aware"]})
    records = [record(4.0, jobs=("one", "two")), record(2.0, jobs=("one", "two"))]
    rows = compare_rows(points, records, "train_time_s")
    assert [(row.labels[PLACEMENT], row.labels["job"], row.speedup) for row in rows] == [
        ("default", "one", 1.0),
        ("default", "two", 1.0),
        ("aware", "one", 2.0),
        ("aware", "two", 2.0),
    ]


def test_more_is_better_for_a_throughput() -> None:
    rows = compare_rows(points_of({BATCH: [1, 2]}), [record(4.0), record(2.0)], "samples_per_s")
    assert rows[1].speedup == pytest.approx(2.0)


def test_an_interval_of_times_holds_no_negative_time() -> None:
    (row,) = compare_rows(({PLACEMENT: "default"},), [record(4.0, 6.0)], "train_time_s")
    assert (row.mean, row.ci_low, row.ci_high) == (5.0, 0.0, pytest.approx(5.0 + 12.706204736))


def test_row_has_the_keys_of_the_json_and_nothing_else() -> None:
    (row,) = compare_rows(({PLACEMENT: "default"},), [record(4.0, 6.0)], "train_time_s")
    assert row.to_dict() == {
        "labels": {PLACEMENT: "default"},
        "n": 2,
        "mean": 5.0,
        "ci_low": 0.0,
        "ci_high": pytest.approx(5.0 + 12.706204736),
        "speedup": 1.0,
        "speedup_ci_low": 1.0,
        "speedup_ci_high": 1.0,
        "significant": None,
    }
