"""What a way is like: its links, their impairments, and the times at which something changes."""

import math
from dataclasses import replace

import pytest
from clusters import star

from hetsim.kernels.normal import normal_quantile
from hetsim.model.cluster import Background, Cluster
from hetsim.model.impairment import Impairment
from hetsim.network.conditions import PACKET_BYTES, Way, lateness_s
from hetsim.network.hops import at, rate_changes
from hetsim.network.routes import Routes

NIC = 1e9


def with_impairments(cluster: Cluster, host: str, *, leaving=(), coming=()) -> Cluster:
    """The cluster with impairments of what leaves a host, and of what its switch sends to it."""
    links = tuple(
        replace(link, from_a=leaving, from_b=coming) if (link.a, link.b) == (host, "switch") else link
        for link in cluster.links
    )
    return replace(cluster, links=links)


def way(cluster: Cluster, source: str, target: str) -> Way:
    routes = Routes(cluster)
    return Way(source, target, routes.path(source, target), routes.path(target, source))


def test_nothing_impaired_is_the_sum_of_the_links() -> None:
    found = way(star([NIC, NIC / 2], latency_s=1e-3), "h0", "h1").at(0.0)
    assert found.latency_s == 2e-3
    assert found.rtt_s == found.steady_rtt_s == 4e-3
    assert found.bytes_per_s == NIC / 2
    assert found.loss_frac == found.disorder_frac == 0.0


def test_a_qdisc_counts_on_the_way_out_of_its_end_alone() -> None:
    slow = (Impairment(delay_s=5e-3, bytes_per_s=NIC / 10, loss_frac=0.01),)
    cluster = with_impairments(star([NIC, NIC], latency_s=1e-3), "h0", leaving=slow)
    there, back = way(cluster, "h0", "h1").at(0.0), way(cluster, "h1", "h0").at(0.0)
    assert (there.latency_s, back.latency_s) == (7e-3, 2e-3)
    assert there.rtt_s == back.rtt_s == pytest.approx(9e-3)
    assert (there.bytes_per_s, back.bytes_per_s) == (NIC / 10, NIC)
    assert (there.loss_frac, back.loss_frac) == (pytest.approx(0.01), 0.0)


def test_losses_of_links_are_independent() -> None:
    lossy = (Impairment(loss_frac=0.1),)
    cluster = with_impairments(star([NIC, NIC]), "h0", leaving=lossy)
    cluster = with_impairments(cluster, "h1", coming=lossy)
    assert way(cluster, "h0", "h1").at(0.0).loss_frac == pytest.approx(1 - 0.9**2)


def test_states_follow_each_other() -> None:
    states = (Impairment(delay_s=1e-3), Impairment(at_s=10.0, bytes_per_s=0.0), Impairment(at_s=20.0))
    cluster = with_impairments(
        star([NIC, NIC], background=[Background(nic=((0.0, 0.0), (15.0, 0.5))), Background()]), "h0", leaving=states
    )
    found = way(cluster, "h0", "h1")
    assert found.times_s() == (0.0, 10.0, 20.0)  # half of nothing is nothing
    assert [found.at(t).bytes_per_s for t in (0.0, 9.9, 10.0, 15.0, 20.0)] == [NIC, NIC, 0.0, 0.0, NIC / 2]
    assert [found.at(t).latency_s for t in (0.0, 10.0, 20.0)] == [1e-3, 0.0, 0.0]
    (hop,) = (hop for hop in Routes(cluster).path("h0", "h1") if hop.name == "h0>switch")
    assert rate_changes(hop) == [(0.0, NIC), (10.0, 0.0), (20.0, NIC / 2)]


def test_before_the_first_state_nothing_is_impaired() -> None:
    assert at((Impairment(at_s=5.0, delay_s=1.0),), 4.0) == Impairment()


def test_directions_that_share_a_rate_share_the_lower_limit() -> None:
    cluster = star([NIC, NIC])
    half = tuple(
        replace(link, duplex="half", from_a=(Impairment(bytes_per_s=NIC / 4),)) if link.a == "h0" else link
        for link in cluster.links
    )
    for hop in Routes(replace(cluster, links=half)).path("h1", "h0"):
        if hop.link.a == "h0":
            assert rate_changes(hop) == [(0.0, NIC / 4)]


def test_only_what_leaves_a_host_is_networked() -> None:
    cluster = star([NIC, NIC])
    assert way(cluster, "h0/gpu0", "h1").is_networked
    assert not way(cluster, "h0/gpu0", "h0").is_networked
    assert not way(cluster, "h0", "h0").is_networked


def test_lateness_is_that_of_the_latest_of_the_packets_before() -> None:
    jitter_s = 2e-3
    sixteen = 16 * PACKET_BYTES / jitter_s
    expected = jitter_s * float(normal_quantile((16 - 0.375) / 16.25))
    assert lateness_s(jitter_s, sixteen) == pytest.approx(expected, rel=1e-12)
    assert 1.76 < expected / jitter_s < 1.78  # the mean greatest of 16 normal numbers is 1.766 standard deviations
    assert lateness_s(jitter_s, PACKET_BYTES / jitter_s / 2) == 0.0
    assert lateness_s(0.0, 1e9) == 0.0
    assert lateness_s(jitter_s, math.inf) == 0.0


def test_jitter_counts_for_the_round_trip_but_not_for_its_least() -> None:
    jittery = (Impairment(delay_s=5e-3, jitter_s=2e-3),)
    cluster = with_impairments(star([12.5e6, 12.5e6]), "h0", leaving=jittery, coming=jittery)
    found = way(cluster, "h0", "h1").at(0.0)
    late, late_back = lateness_s(2e-3, 12.5e6 / 2), lateness_s(2e-3, 12.5e6 / 4)
    assert found.steady_rtt_s == pytest.approx(10e-3)
    assert found.latency_s == pytest.approx(5e-3 + late)
    assert found.rtt_s == pytest.approx(10e-3 + late + late_back)
    assert 0.0 < late_back < late
