"""Step times that have a formula, with its source."""

import math

import pytest
from clusters import known_job, placed, plan_of, star
from hypothesis import given, settings
from hypothesis import strategies as st

from hetsim.engine.simulate import simulate
from hetsim.model.cluster import Background
from hetsim.units import to_seconds

NIC = 1.25e9


def time_s(plan) -> float:
    return to_seconds(simulate(plan, seed=0, replication=0).end)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 8, 13])
@pytest.mark.parametrize("latency_s", [0.0, 25e-6])
def test_ring_all_reduce(n: int, latency_s: float) -> None:
    # 2 (n - 1) (alpha + S / (n B)): Thakur, Rabenseifner and Gropp 2005, doi:10.1177/1094342005051521; a message
    # crosses two links of the star.
    n_bytes = 100_000_000
    job = known_job([0.0] * n, [n_bytes], n_servers=0)
    plan = plan_of(
        star([NIC] * n, latency_s=latency_s), placed(job, [f"h{i}/gpu0" for i in range(n)], architecture="ring")
    )
    expected = 2 * (n - 1) * (2 * latency_s + n_bytes / n / NIC)
    assert time_s(plan) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("n", [1, 2, 4, 7])
def test_one_server_moves_n_gradients_each_way(n: int) -> None:
    # n S / B for the pulls, n S / B for the pushes: flat star with one server, Li et al., "Scaling distributed machine
    # learning with the parameter server", OSDI 2014, section 2; the server's link is the bottleneck.
    n_bytes = 40_000_000
    job = known_job([0.1] * n, [n_bytes], n_steps=3, update_s=0.02)
    plan = plan_of(star([NIC] * (n + 1)), placed(job, [f"h{i}/gpu0" for i in range(n)], [f"h{n}"]))
    assert time_s(plan) == pytest.approx(3 * (2 * n * n_bytes / NIC + 0.1 + 0.02), rel=1e-8)


def test_a_colocated_server_serves_its_own_worker_without_the_network() -> None:
    n, n_bytes = 4, 40_000_000
    job = known_job([0.0] * n, [n_bytes])
    plan = plan_of(star([NIC] * n), placed(job, [f"h{i}/gpu0" for i in range(n)], ["h0"]))
    assert time_s(plan) == pytest.approx(2 * (n - 1) * n_bytes / NIC, rel=1e-4)


def test_round_robin_puts_most_of_an_uneven_model_on_one_server() -> None:
    # The largest share decides: max over servers of n S_k / B (tensorflow/python/training/device_setter.py places whole
    # variables in turn).
    n, sizes = 2, [4_000_000, 80_000_000, 8_000_000]
    job = known_job([0.0] * n, sizes, n_servers=2)
    cluster = star([NIC] * 4)
    for sharding, share in (("round-robin", 80_000_000), ("even", 46_000_000)):
        plan = plan_of(cluster, placed(job, ["h0/gpu0", "h1/gpu0"], ["h2", "h3"], sharding=sharding))
        assert time_s(plan) == pytest.approx(2 * n * share / NIC, rel=1e-6)


@given(st.lists(st.floats(1e-6, 10.0), min_size=1, max_size=8))
@settings(max_examples=25, deadline=None)
def test_compute_bound_steps_take_as_long_as_the_slowest_worker(compute_s: list[float]) -> None:
    job = known_job(compute_s, [4], n_steps=2)
    n = len(compute_s)
    plan = plan_of(star([1e15] * n), placed(job, [f"h{i}/gpu0" for i in range(n)], ["h0"]))
    assert time_s(plan) == pytest.approx(2 * max(compute_s), rel=1e-9, abs=1e-10)


def test_a_pair_of_jobs_shares_a_link() -> None:
    # Two rings of two ranks over the same two hosts' links would need two GPUs a host; two servers on one host do too:
    # both jobs' pulls leave through h2's link, each at half the rate.
    n_bytes = 50_000_000
    cluster = star([NIC] * 3)
    jobs = [
        placed(known_job([0.0], [n_bytes], name=name), [f"h{i}/gpu0"], ["h2"]) for i, name in enumerate(("one", "two"))
    ]
    alone, both = time_s(plan_of(cluster, jobs[0])), time_s(plan_of(cluster, *jobs))
    assert alone == pytest.approx(2 * n_bytes / NIC, rel=1e-6)
    assert both == pytest.approx(2 * alone, rel=1e-6)


def test_background_takes_its_share_of_gpu_cpu_and_network() -> None:
    n_bytes = 125_000_000
    load = Background(gpu=((0.0, 0.5),), cpu=((0.0, 0.75),), nic=((0.0, 0.2),))
    job = known_job([0.1], [n_bytes], update_s=0.01)
    idle = star([NIC, NIC])
    busy_worker = star([NIC, NIC], background=[load, Background()])
    busy_server = star([NIC, NIC], background=[Background(), load])
    work = placed(job, ["h0/gpu0"], ["h1"])
    assert time_s(plan_of(idle, work)) == pytest.approx(0.1 + 0.01 + 2 * 0.1, rel=1e-6)
    assert time_s(plan_of(busy_worker, work)) == pytest.approx(0.2 + 0.01 + 2 * 0.125, rel=1e-6)
    assert time_s(plan_of(busy_server, work)) == pytest.approx(0.1 + 0.04 + 2 * 0.125, rel=1e-6)


def test_a_load_that_rises_slows_the_step_in_flight() -> None:
    load = Background(gpu=((0.0, 0.0), (0.05, 0.5), (10.0, 0.0)))
    job = known_job([0.1], [4])
    plan = plan_of(star([1e15, 1e15], background=[load, Background()]), placed(job, ["h0/gpu0"], ["h1"]))
    assert time_s(plan) == pytest.approx(0.05 + 0.05 / 0.5, rel=1e-9)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from([0.0, 0.01, 0.05, 0.2]), min_size=2, max_size=6),
    st.sampled_from(["parameter-server", "ring"]),
    st.integers(0, 5),
)
def test_bytes_are_conserved_and_links_are_never_over_capacity(
    compute_s: list[float], architecture: str, odd: int
) -> None:
    n, n_bytes = len(compute_s), 4 * (1_000_000 + odd)
    cluster = star([NIC * (1 + i % 3) for i in range(n + 1)], latency_s=1e-5)
    servers = [f"h{n}"] if architecture == "parameter-server" else []
    job = known_job(compute_s, [n_bytes], n_servers=len(servers), n_steps=3)
    plan = plan_of(cluster, placed(job, [f"h{i}/gpu0" for i in range(n)], servers, architecture=architecture))
    run = simulate(plan, seed=0, replication=0)
    expected = n_bytes if servers else 2 * (n - 1) / n * n_bytes
    for resource, carried in zip(plan.resources, run.carried, strict=True):
        if resource.kind == "link":
            assert carried <= resource.capacity * run.end * (1 + 1e-9)
            if resource.name in {f"h{i}>switch" for i in range(n)}:
                assert carried == pytest.approx(3 * expected)


def test_a_longer_way_pays_the_sum_of_its_latencies() -> None:
    job = known_job([0.0], [4])
    plan = plan_of(star([NIC, NIC], latency_s=0.001), placed(job, ["h0/gpu0"], ["h1"]))
    assert time_s(plan) == pytest.approx(2 * 0.002 + 2 * 4 / NIC, rel=1e-6)
    assert math.isclose(to_seconds(1), 1e-12)
