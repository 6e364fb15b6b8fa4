"""Links whose directions share their rate, in both executors."""

from dataclasses import replace

import pytest
from both import equal_run
from clusters import known_job, placed, plan_of, star
from hypothesis import given, settings
from hypothesis import strategies as st

from hetsim.model.cluster import Cluster
from hetsim.network.routes import Routes
from hetsim.units import TICKS_PER_S

RATE = 1e9
N_BYTES = 100_000_000


def half(cluster: Cluster, *hosts: str) -> Cluster:
    """The network links of some hosts made half duplex."""
    links = [replace(link, duplex="half") if link.a in hosts else link for link in cluster.links]
    return replace(cluster, links=tuple(links))


def ring_s(cluster: Cluster) -> float:
    n = len(cluster.hosts)
    job = placed(known_job([0.0] * n, [N_BYTES]), [f"h{i}/gpu0" for i in range(n)], architecture="ring")
    return equal_run(plan_of(cluster, job)).end / TICKS_PER_S


def test_both_directions_have_one_name() -> None:
    routes = Routes(half(star([RATE, RATE]), "h0"))
    assert [hop.name for hop in routes.path("h0", "h1")] == ["h0<>switch", "switch>h1"]
    assert [hop.name for hop in routes.path("h1", "h0")] == ["h1>switch", "h0<>switch"]
    assert routes.free_bytes_per_s("h0", "h1") == RATE


def test_two_opposite_transfers_take_twice_as_long() -> None:
    # Two members of a ring send each other half of the bytes, twice, both at once.
    cluster = star([RATE, RATE])
    assert ring_s(cluster) == pytest.approx(N_BYTES / RATE, rel=1e-6)
    assert ring_s(half(cluster, "h0")) == pytest.approx(2 * N_BYTES / RATE, rel=1e-6)
    assert ring_s(half(cluster, "h0", "h1")) == pytest.approx(2 * N_BYTES / RATE, rel=1e-6)


@pytest.mark.parametrize("n", [3, 5])
def test_a_ring_over_half_duplex_links_takes_twice_as_long(n: int) -> None:
    cluster = star([RATE] * n)
    full_s = 2 * (n - 1) / n * N_BYTES / RATE
    assert ring_s(cluster) == pytest.approx(full_s, rel=1e-6)
    assert ring_s(half(cluster, *(f"h{i}" for i in range(n)))) == pytest.approx(2 * full_s, rel=1e-6)


def test_one_way_at_a_time_loses_nothing() -> None:
    job = placed(known_job([0.0], [N_BYTES]), ["h0/gpu0"], ["h1"])
    cluster = star([RATE, RATE])
    full, shared = (equal_run(plan_of(each, job)).end for each in (cluster, half(cluster, "h0", "h1")))
    assert full == shared == pytest.approx(2 * N_BYTES / RATE * TICKS_PER_S, rel=1e-6)


def test_a_host_that_serves_and_works_shares_its_link() -> None:
    # Each host holds half of the parameters and one worker: half of the bytes leave it while half come.
    job = known_job([0.0, 0.0], [N_BYTES // 2, N_BYTES // 2], n_servers=2)
    both = placed(job, ["h0/gpu0", "h1/gpu0"], ["h0", "h1"])
    cluster = star([RATE, RATE])
    full, shared = (equal_run(plan_of(each, both)).end for each in (cluster, half(cluster, "h0", "h1")))
    assert full == pytest.approx(N_BYTES / RATE * TICKS_PER_S, rel=1e-6)
    assert shared == pytest.approx(2 * N_BYTES / RATE * TICKS_PER_S, rel=1e-6)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(1, 5), min_size=2, max_size=4), st.data())
def test_half_duplex_is_never_faster_for_a_job_alone(rates: list[int], data: st.DataObject) -> None:
    cluster = star([1e8 * rate for rate in rates])
    hosts = data.draw(st.sets(st.sampled_from([host.name for host in cluster.hosts])))
    full_s, shared_s = ring_s(cluster), ring_s(half(cluster, *hosts))
    assert full_s * (1 - 1e-9) <= shared_s <= 2 * full_s * (1 + 1e-9)
