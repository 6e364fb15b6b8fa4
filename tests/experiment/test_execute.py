"""A pool gives the same bytes as one process, and hands failures over whole."""

import pickle
from pathlib import Path

import pytest

from hetsim import compare, run
from hetsim.errors import (
    DeadlockError,
    HetsimError,
    Issue,
    PlacementError,
    PolicyError,
    ScenarioError,
    SimulationError,
    UnitError,
    UnknownNameError,
    WorkerError,
)
from hetsim.experiment.rows import job_rows, link_rows, rank_rows, step_rows, to_csv

POLICIES = '''
"""Policies that go wrong."""
import os

def breaks(view):
    """Break a rule."""
    raise ValueError("out of ideas")

def dies(view):
    """Take the process down."""
    os._exit(3)
'''


@pytest.mark.parametrize(
    "error",
    [
        HetsimError("plain"),
        UnitError("no unit"),
        UnknownNameError("no name"),
        ScenarioError([Issue(path="a.b", message="wrong", file="f.yaml", line=1, column=2)]),
        PolicyError("policy", "job", "rule"),
        PlacementError("policy", "job", "rule"),
        SimulationError("stuck", 1.5),
        DeadlockError("nobody moves", 2.5),
        WorkerError("gone"),
    ],
)
def test_errors_cross_process_boundaries_whole(error: HetsimError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def test_pool_gives_the_same_bytes(small: dict) -> None:
    small["replications"] = 10
    calls: list[tuple[int, int]] = []
    serial = run(small)
    pooled = run(small, processes=2, on_progress=lambda done, total: calls.append((done, total)))
    for rows in (job_rows, step_rows, rank_rows, link_rows):
        assert to_csv(rows(pooled.record)) == to_csv(rows(serial.record))
    assert pooled.choices == serial.choices
    assert calls[0] == (0, 10)
    assert calls[-1] == (10, 10)


def test_no_process_is_refused(small: dict) -> None:
    with pytest.raises(HetsimError, match="0 processes"):
        run(small, processes=0)


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "error"), [("breaks", PolicyError), ("dies", WorkerError)])
def test_failures_in_a_pool_are_errors_of_ours(
    policy: str, error: type[HetsimError], small: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bad_policies.py").write_text(POLICIES)
    monkeypatch.syspath_prepend(tmp_path)
    small["jobs"][0]["placement"] = {"policy": f"bad_policies:{policy}"}
    del small["compare"]
    with pytest.raises(error):
        run(small, processes=2)


def two_hosts(*nics: str, memory: str = "64 GB") -> list[dict]:
    return [
        {
            "name": f"h{index}",
            "devices": [{"type": "V100", "count": 2}],
            "cpu": {"type": "Xeon-E5-2686v4"},
            "memory": memory,
            "nic": nic,
        }
        for index, nic in enumerate(nics)
    ]


def scenario(hosts: list[dict], *jobs: dict) -> dict:
    fields = {"model": "vgg16", "dataset": "imagenet", "batch": 1, "workers": 2, "steps": 1}
    return {
        "name": "placed",
        "cluster": {"hosts": hosts, "topology": {"kind": "star", "latency": "25 us"}},
        "jobs": [{"name": f"job{index}", **fields, **job} for index, job in enumerate(jobs)],
    }


@pytest.mark.parametrize("model", ["alexnet", "vgg16"])
@pytest.mark.parametrize("nics", [("3 GB/s", "0.1 GB/s"), ("0.1 GB/s", "3 GB/s")])
@pytest.mark.parametrize("servers", ["colocated", "separate"])
def test_infrastructure_aware_is_not_slower_where_one_server_holds_most(
    model: str, nics: tuple[str, str], servers: str
) -> None:
    # either server may hold nearly all bytes, and either host has thirty times less network
    hosts = [*two_hosts(*nics), {**two_hosts("0.1 GB/s")[0], "name": "p"}, {**two_hosts("3 GB/s")[0], "name": "q"}]
    job = {"model": model, "batch": 16, "servers": 2}
    times = [
        run(scenario(hosts, {**job, "placement": {"policy": policy, "servers": servers}})).to_frame()["train_time_s"][0]
        for policy in ("infrastructure-aware", "default-tensorflow")
    ]
    assert times[0] <= times[1] * (1 + 1e-9)


def test_a_host_needs_memory_for_what_its_server_will_hold() -> None:
    hosts = two_hosts(*["1 GB/s"] * 2, memory="1.6 GB")
    job = {"servers": 2, "placement": {"policy": "default-tensorflow"}}
    # 553 MB of parameters, five times: themselves, momentum, sum, and a gradient of each of two workers
    with pytest.raises(PlacementError, match=r"needs 2.6 GiB on h0, which has 1.5 GiB free: 1.1 GiB short"):
        run(scenario(hosts, job))
    run(scenario(hosts, {**job, "aggregation": {"policy": "parameter-server", "sharding": "even"}}))
    tree = {"architecture": "parameter-server", "ranks": [0, 1], "sharding": [0.4, 0.6]}
    with pytest.raises(PlacementError, match=r"on h1, which has 1.5 GiB free: 57.5 MiB short"):
        run(scenario(hosts, {**job, "aggregation": tree}))


def test_memory_that_an_earlier_job_took_is_gone() -> None:
    hosts = [*two_hosts(*["1 GB/s"] * 2), {**two_hosts("1 GB/s", memory="3 GB")[0], "name": "p"}]
    jobs = [
        {"workers": 1, "placement": {"policy": "explicit", "workers": [f"h{index}/gpu0"], "servers": ["p"]}}
        for index in range(2)
    ]
    with pytest.raises(PlacementError, match=r"'job1': needs 2.1 GiB on p, which has 749.9 MiB free: 1.3 GiB short"):
        run(scenario(hosts, *jobs))
    jobs[1]["placement"] = {"policy": "infrastructure-aware"}
    assert run(scenario(hosts, *jobs)).record.jobs[1].placement.servers != ("p",)


def test_memory_that_an_earlier_worker_on_a_cpu_took_is_gone() -> None:
    hosts = [
        *two_hosts("1 GB/s"),
        {
            "name": "c",
            "devices": [{"type": "cpu"}],
            "cpu": {"type": "Xeon-E5-2686v4"},
            "memory": "4 GB",
            "nic": "1 GB/s",
        },
    ]
    on_cpu = {
        "workers": 1,
        "aggregation": {"policy": "ring"},
        "placement": {"policy": "explicit", "workers": ["c/cpu"]},
    }
    serves = {"workers": 1, "placement": {"policy": "explicit", "workers": ["h0/gpu0"], "servers": ["c"]}}
    run(scenario(hosts, serves))
    with pytest.raises(PlacementError, match=r"'job1': needs 2.1 GiB on c, which has .* free: .* short"):
        run(scenario(hosts, on_cpu, serves))


def test_a_job_that_takes_no_time_has_no_rates(small: dict) -> None:
    del small["compare"]
    small["jobs"][0] |= {"compute": "0 s", "workers": 1, "aggregation": {"policy": "ring"}}
    with pytest.raises(SimulationError, match="job 'train' took no time at all, so its rates are undefined"):
        run(small)


def test_more_steps_than_can_be_recorded_are_refused_before_anything_runs(small: dict) -> None:
    small["jobs"][0]["steps"] = 10**9
    # Four numbers of 8 bytes for each of 2 workers and 3 replications: 2 GiB hold 11184810 steps.
    message = r"jobs\[train\]\.steps: 1000000000 steps .* take 178.8 GiB, and may take 2.0 GiB; up to 11184810 steps"
    with pytest.raises(ScenarioError, match=message):
        run(small, on_progress=lambda *_: pytest.fail("something ran"))
    with pytest.raises(ScenarioError, match="up to 5592405 steps"):
        compare(small)


def test_both_executors_give_the_same_tables_and_say_which_it_was(small: dict) -> None:
    runs = {engine: run(small | {"engine": engine}) for engine in ("simpy", "kernel", "auto")}
    for frame in ("to_frame", "steps_frame", "ranks_frame", "links_frame"):
        first, second, third = (getattr(result, frame)() for result in runs.values())
        assert first.equals(second)
        assert first.equals(third)
    assert [result.to_dict()["engine"] for result in runs.values()] == ["simpy", "kernel", "simpy"]
    assert runs["kernel"].manifest()["engine"] == "kernel"


def test_auto_takes_the_kernel_for_long_work(small: dict) -> None:
    small["jobs"][0] |= {"steps": 20_000, "jitter": {"cv": 0}}
    assert run(small).setup.executor == "kernel"
