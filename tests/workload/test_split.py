import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hetsim.errors import PlacementError, ScenarioError
from hetsim.experiment.execute import Setup, replicate
from hetsim.experiment.inputs import inputs
from hetsim.metrics.throughput import samples_per_s
from hetsim.network.routes import Routes
from hetsim.scenario.build import build_cluster, build_jobs
from hetsim.scenario.load import load
from hetsim.workload.split import split_balanced, split_by_speed

SCENARIO = {
    "name": "unequal",
    "cluster": {
        "hosts": [
            {
                "name": "a",
                "devices": [{"type": "V100"}, {"type": "cpu"}],
                "cpu": {"type": "Xeon-E5-2686v4"},
                "memory": "64 GiB",
            }
        ]
    },
    "jobs": [
        {
            "name": "train",
            "model": "resnet50",
            "dataset": "imagenet",
            "batch": 32,
            "workers": 2,
            "steps": 2,
            "aggregation": {"policy": "ring"},
        }
    ],
}


@given(st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=8), st.integers(0, 500))
def test_a_split_sums_to_the_total_and_follows_speed(speeds: list[float], more: int) -> None:
    total = len(speeds) + more
    batches = split_by_speed(total, speeds)
    assert sum(batches) == total
    assert min(batches) >= 1
    for a, fast in zip(batches, speeds, strict=True):
        for b, slow in zip(batches, speeds, strict=True):
            assert fast < slow or a >= b - 1


def ran(*overrides: str):
    scenario = load(SCENARIO, overrides)
    setup = Setup(name="unequal", cluster=build_cluster(scenario), jobs=build_jobs(scenario), seed=0, n_replications=1)
    record = replicate(setup, Routes(setup.cluster), 0).record
    return record.jobs[0], [each.input for each in inputs(setup, record)]


def test_the_cpu_of_a_host_takes_its_part_of_the_batch() -> None:
    even, _ = ran()
    split, texts = ran("jobs[train].split=by-speed")
    gpu, cpu = split.step_times
    assert gpu.batch is not None
    assert cpu.batch is not None
    assert gpu.batch + cpu.batch == 64
    assert gpu.batch > 10 * cpu.batch
    assert max(gpu.total_s, cpu.total_s) < 0.3 * max(time.total_s for time in even.step_times)
    assert samples_per_s(split) > 3 * samples_per_s(even)
    assert any(f"batch {cpu.batch}:" in text for text in texts)
    assert [time.batch for time in even.step_times] == [None, None]


def test_a_part_that_does_not_fit_is_refused() -> None:
    with pytest.raises(PlacementError, match=r"the split gives rank 0 on a/gpu0 a batch of \d+, which needs"):
        ran("jobs[train].split=by-speed", "jobs[train].batch=100")


def test_known_times_cannot_be_split() -> None:
    job = {"name": "known", "compute": "10 ms", "gradient": "1 MB", "workers": 1, "steps": 1, "split": "by-speed"}
    with pytest.raises(ScenarioError, match="compute times are those of each worker's own batch"):
        load(SCENARIO | {"jobs": [job]})


LINES = st.lists(st.tuples(st.floats(0.0, 5.0), st.floats(0.01, 3.0)), min_size=1, max_size=3)


@given(LINES, st.integers(0, 12))
def test_no_other_split_ends_earlier_than_the_balanced_one(lines: list[tuple[float, float]], spare: int) -> None:
    total = len(lines) + spare
    step_s = [lambda n, a=a, b=b: a + b * n for a, b in lines]
    found = split_balanced(total, step_s)
    assert sum(found) == total
    assert min(found) >= 1

    def slowest(batches: tuple[int, ...]) -> float:
        return max(time(n) for time, n in zip(step_s, batches, strict=True))

    others = itertools.product(range(1, total + 1), repeat=len(lines))
    assert slowest(found) <= min(slowest(each) for each in others if sum(each) == total) * (1 + 1e-12)


def test_a_balanced_split_is_not_slower_than_one_by_speed() -> None:
    even, by_speed, balanced = (
        [time.total_s for time in ran(f"jobs[train].split={split}")[0].step_times]
        for split in ("even", "by-speed", "balanced")
    )
    assert max(balanced) <= max(by_speed) < max(even)
