import pytest

from hetsim.model.cluster import IDLE, share_at
from hetsim.network.fabric import Edge, Port
from hetsim.network.topologies import busiest, graph, rack_names, star, two_level

PORTS = [
    Port(host=f"h{index}", bytes_per_s=1e9, latency_s=5e-6, background=((0.0, 0.1 * index),)) for index in range(5)
]


def ends(fabric):
    return [(link.a, link.b) for link in fabric.links]


def test_a_star_has_one_link_for_each_host():
    fabric = star(PORTS)
    assert fabric.switches == ("switch",)
    assert ends(fabric) == [(f"h{index}", "switch") for index in range(5)]
    assert {(link.bytes_per_s, link.latency_s) for link in fabric.links} == {(1e9, 5e-6)}
    assert fabric.links[2].background == ((0.0, 0.2),)


def test_racks_are_filled_in_order_and_joined_by_the_core():
    fabric = two_level(PORTS, hosts_per_rack=2, uplink_bytes_per_s=4e9, uplink_latency_s=1e-5)
    assert fabric.switches == ("rack-0", "rack-1", "rack-2", "core")
    assert ends(fabric)[:5] == [
        ("h0", "rack-0"),
        ("h1", "rack-0"),
        ("h2", "rack-1"),
        ("h3", "rack-1"),
        ("h4", "rack-2"),
    ]
    assert ends(fabric)[5:] == [("rack-0", "core"), ("rack-1", "core"), ("rack-2", "core")]
    assert {(link.bytes_per_s, link.latency_s, link.background) for link in fabric.links[5:]} == {(4e9, 1e-5, IDLE)}


@pytest.mark.parametrize(("n_hosts", "per_rack", "n_racks"), [(1, 4, 1), (4, 4, 1), (5, 4, 2), (8, 4, 2)])
def test_there_are_as_many_racks_as_needed(n_hosts, per_rack, n_racks):
    assert len(rack_names(n_hosts, per_rack)) == n_racks


def test_a_graph_has_the_links_that_are_listed():
    edges = [
        Edge(a="h0", b="s", bytes_per_s=1e9, latency_s=0.0),
        Edge(a="s", b="h1", bytes_per_s=2e9, latency_s=1e-6),
        Edge(a="h1", b="h2", bytes_per_s=3e9, latency_s=1e-6),
    ]
    fabric = graph(PORTS[:3], switches=["s"], edges=edges)
    assert fabric.switches == ("s",)
    assert ends(fabric) == [("h0", "s"), ("s", "h1"), ("h1", "h2")]
    assert [link.background for link in fabric.links] == [((0.0, 0.0),), ((0.0, 0.1),), ((0.0, 0.2),)]


def test_the_busiest_schedule_is_the_greater_at_each_time():
    first, second = ((0.0, 0.5), (4.0, 0.1), (8.0, 0.3)), ((0.0, 0.2), (4.0, 0.2), (6.0, 0.4))
    both = busiest(first, second)
    for time_s in (0.0, 3.9, 4.0, 5.0, 6.0, 7.0, 8.0, 99.0):
        assert share_at(both, time_s) == max(share_at(first, time_s), share_at(second, time_s))
    assert [at_s for at_s, _ in both] == [0.0, 4.0, 6.0]
