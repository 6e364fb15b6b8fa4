"""Sizes and cuts of the topologies, from their papers; what every one of them must keep."""

import itertools
import math
from collections import Counter

import networkx as nx
import pytest
from fabrics import CASES, RATE, UP, case, cluster_of, ports
from hypothesis import given, settings
from hypothesis import strategies as st

from hetsim.model.cluster import Cluster
from hetsim.network.dragonfly import GLOBAL_METRIC, dragonfly
from hetsim.network.fabric import Port
from hetsim.network.fat_tree import fat_tree, most_hosts
from hetsim.network.leaf_spine import leaf_spine
from hetsim.network.matrix import all_routes, grouped_routes
from hetsim.network.routes import Routes
from hetsim.network.topologies import TOPOLOGIES
from hetsim.network.wan_ring import wan_ring


def test_every_topology_has_a_case() -> None:
    assert set(CASES) == set(TOPOLOGIES)
    assert len(CASES) == 7


@pytest.mark.parametrize("kind", CASES)
def test_it_joins_all_hosts_by_links_of_its_own(kind: str) -> None:
    n_hosts = CASES[kind][0]
    fabric = case(kind)
    assert case(kind) == fabric
    hosts = [f"h{i}" for i in range(n_hosts)]
    assert len(set(fabric.switches) | set(hosts)) == len(fabric.switches) + n_hosts
    assert all({link.a, link.b} <= {*fabric.switches, *hosts} for link in fabric.links)
    assert len({frozenset((link.a, link.b)) for link in fabric.links}) == len(fabric.links)
    routes = list(all_routes(cluster_of(fabric, n_hosts)))
    assert len(routes) == n_hosts * (n_hosts - 1)
    assert all(route.bytes_per_s > 0.0 and route.n_links >= 1 for route in routes)
    there = {(route.source, route.target): route for route in routes}
    for (a, b), route in there.items():
        assert route.n_links == there[b, a].n_links
        assert route.latency_s == pytest.approx(there[b, a].latency_s)


@pytest.mark.parametrize("kind", [kind for kind in CASES if kind != "graph"])
def test_a_host_has_one_link_of_the_rate_of_its_card(kind: str) -> None:
    own = [link for link in case(kind).links if link.a.startswith("h") or link.b.startswith("h")]
    assert [link.a for link in own] == [f"h{i}" for i in range(CASES[kind][0])]
    assert {(link.bytes_per_s, link.latency_s) for link in own} == {(RATE, 1e-6)}


@pytest.mark.parametrize("kind", CASES)
def test_a_pair_stands_for_hosts_that_are_joined_alike(kind: str) -> None:
    n_hosts = CASES[kind][0]
    cluster = cluster_of(case(kind), n_hosts)
    (found,) = grouped_routes(cluster, {"all": [f"h{i}" for i in range(n_hosts)]}).values()
    routes = list(all_routes(cluster))
    assert (found.low_bytes_per_s, found.high_bytes_per_s) == (
        min(route.bytes_per_s for route in routes),
        max(route.bytes_per_s for route in routes),
    )
    latencies = [route.latency_s for route in routes]
    assert found.low_latency_s == pytest.approx(min(latencies))
    assert found.high_latency_s == pytest.approx(max(latencies))


@pytest.mark.parametrize("ratio", [1.0, 2.5, 4.0])
def test_oversubscription_is_the_rate_of_ports_over_that_of_uplinks(ratio: float) -> None:
    unequal = [Port(host=f"h{i}", bytes_per_s=RATE * (1 + i % 3)) for i in range(12)]
    fabric = leaf_spine(unequal, hosts_per_leaf=4, spines=3, oversubscription=ratio, **UP)
    assert len(fabric.links) == 12 + 3 * 3
    assert fabric.switches == ("leaf-0", "leaf-1", "leaf-2", "spine-0", "spine-1", "spine-2")
    for leaf in ("leaf-0", "leaf-1", "leaf-2"):
        down = math.fsum(link.bytes_per_s for link in fabric.links if link.b == leaf)
        up = math.fsum(link.bytes_per_s for link in fabric.links if link.a == leaf)
        assert down / up == pytest.approx(ratio)


def test_empty_ports_of_a_leaf_count() -> None:
    fabric = leaf_spine(ports(5), hosts_per_leaf=4, spines=2, oversubscription=4.0, **UP)
    assert {link.bytes_per_s for link in fabric.links[5:]} == {4 * RATE / (2 * 4)}


def flow_between(cluster: Cluster, sources: list[str], targets: list[str]) -> float:
    """The greatest sum of rates from some hosts to others: the least cut between them."""
    graph = nx.DiGraph()
    for link in cluster.links:
        for a, b in ((link.a, link.b), (link.b, link.a)):
            graph.add_edge(a, b, capacity=link.bytes_per_s)
    graph.add_edges_from(("from", name) for name in sources)
    graph.add_edges_from((name, "to") for name in targets)
    return float(nx.maximum_flow_value(graph, "from", "to"))


@pytest.mark.parametrize("k", [2, 4, 6])
def test_a_fat_tree_has_the_sizes_and_the_bisection_of_its_paper(k: int) -> None:
    n = most_hosts(k)
    fabric = fat_tree(ports(n), k=k, **UP)
    assert n == k**3 / 4
    assert len(fabric.switches) == 5 * k**2 / 4
    assert len(fabric.links) == 3 * k**3 / 4
    degrees = Counter(end for link in fabric.links for end in (link.a, link.b))
    assert {degrees[switch] for switch in fabric.switches} == {k}
    cluster = cluster_of(fabric, n)
    half = [f"h{i}" for i in range(n // 2)]
    others = [f"h{i}" for i in range(n // 2, n)]
    assert flow_between(cluster, half, others) == n // 2 * RATE
    assert max(len(Routes(cluster).path("h0", host)) for host in others) == 6


def test_the_bisection_of_a_leaf_spine_is_cut_by_its_oversubscription() -> None:
    fabric = leaf_spine(ports(16), hosts_per_leaf=4, spines=2, oversubscription=4.0, **UP)
    half, others = [f"h{i}" for i in range(8)], [f"h{i}" for i in range(8, 16)]
    assert flow_between(cluster_of(fabric, 16), half, others) == 8 * RATE / 4


@settings(max_examples=40, deadline=None)
@given(g=st.integers(2, 9), a=st.integers(1, 5), p=st.integers(1, 2))
def test_minimal_routes_of_a_dragonfly_take_one_global_link_at_most(g: int, a: int, p: int) -> None:
    rates = {"local_bytes_per_s": 2 * RATE, "global_bytes_per_s": RATE}
    latencies = {"local_latency_s": 1e-6, "global_latency_s": 0.0}
    n = g * a * p
    fabric = dragonfly(ports(n), groups=g, routers_per_group=a, hosts_per_router=p, **rates, **latencies)
    assert len(fabric.links) == n + g * math.comb(a, 2) + math.comb(g, 2)
    between = [link for link in fabric.links if link.metric == GLOBAL_METRIC]
    groups = Counter(frozenset((link.a.split("-")[1], link.b.split("-")[1])) for link in between)
    assert len(groups) == len(between) == math.comb(g, 2)
    per_router = Counter(end for link in between for end in (link.a, link.b))
    assert max(per_router.values()) - min(per_router[router] for router in fabric.switches) <= 1
    routes = Routes(cluster_of(fabric, n))
    for source, target in itertools.islice(itertools.permutations(range(0, n, p), 2), 200):
        hops = [hop.link for hop in routes.path(f"h{source}", f"h{target}")][1:-1]
        assert len(hops) <= 3
        assert sum(link.metric == GLOBAL_METRIC for link in hops) == (source // (a * p) != target // (a * p))


def test_a_ring_of_sites_goes_the_short_way_round() -> None:
    routes = Routes(cluster_of(case("wan-ring"), 7))
    assert [hop.name for hop in routes.path("h0", "h2")] == ["h0>north", "north>east", "east>h2"]
    assert [hop.name for hop in routes.path("h6", "h0")] == ["h6>west", "west>north", "north>h0"]
    # Over east (10 + 20 ms) or over west (20 + 30 ms): as many links, so the latency decides.
    assert [hop.name for hop in routes.path("h0", "h5")][1:3] == ["north>east", "east>south"]
    assert routes.latency_s("h0", "h5") == pytest.approx(0.03 + 2e-6)


def test_two_sites_have_one_link() -> None:
    sites = {"a": ["h0"], "b": ["h1"]}
    fabric = wan_ring(ports(2), sites=sites, wan_bytes_per_s=[RATE], wan_latency_s=[0.01])
    assert [(link.a, link.b) for link in fabric.links[2:]] == [("a", "b")]
