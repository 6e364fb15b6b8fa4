import itertools
import math

import networkx as nx
import pytest
from clusters import star
from hypothesis import given, settings
from hypothesis import strategies as st

from hetsim.errors import HetsimError
from hetsim.model.cluster import Background, Cluster, Link
from hetsim.network.routes import Routes


def with_link(cluster: Cluster, *links: Link) -> Cluster:
    return Cluster(hosts=cluster.hosts, switches=cluster.switches, links=(*cluster.links, *links))


def test_a_way_through_the_star_and_back() -> None:
    routes = Routes(star([1e9, 2e9], latency_s=1e-3))
    there = [hop.name for hop in routes.path("h0/gpu0", "h1")]
    assert there == ["h0/gpu0>h0", "h0>switch", "switch>h1"]
    assert [hop.name for hop in routes.path("h1", "h0/gpu0")] == ["h1>switch", "switch>h0", "h0>h0/gpu0"]
    assert routes.latency_s("h0", "h1") == 2e-3
    assert routes.path("h0", "h0") == ()


def test_the_slowest_free_link_counts() -> None:
    load = Background(nic=((0.0, 0.25), (10.0, 0.75)))
    routes = Routes(star([1e9, 2e9], background=[Background(), load]))
    assert routes.free_bytes_per_s("h0", "h1") == 1e9
    assert routes.free_bytes_per_s("h0", "h1", time_s=10.0) == 0.5e9
    assert routes.free_bytes_per_s("h0", "h0") == math.inf


def test_among_ways_of_equal_length_the_quicker_and_then_the_faster_one_is_taken() -> None:
    cluster = star([1e9, 1e9])
    slow = [
        Link(a="h0", b="slow", bytes_per_s=1e12, latency_s=2.0),
        Link(a="slow", b="h1", bytes_per_s=1e12, latency_s=2.0),
    ]
    fast = [
        Link(a="h0", b="fast", bytes_per_s=2e9, latency_s=0.0),
        Link(a="fast", b="h1", bytes_per_s=2e9, latency_s=0.0),
    ]
    wider = Cluster(hosts=cluster.hosts, switches=("switch", "slow", "fast"), links=(*cluster.links, *slow, *fast))
    assert [hop.name for hop in Routes(wider).path("h0", "h1")] == ["h0>fast", "fast>h1"]


def test_no_way_is_an_error_that_names_both_ends() -> None:
    cluster = star([1e9, 1e9])
    cut = Cluster(hosts=cluster.hosts, switches=cluster.switches, links=cluster.links[:3])
    with pytest.raises(HetsimError, match="no route from h0 to h1"):
        Routes(cut).path("h0", "h1")
    assert Routes(cut).free_bytes_per_s("h0", "h1") == 0.0


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_climbing_trees_finds_what_a_search_of_the_whole_graph_finds(data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 9))
    names = [f"s{i}" for i in range(n)]
    pairs = data.draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=14))
    joined = {(min(a, b), max(a, b)) for a, b in pairs if a != b} | {(i // 2, i) for i in range(1, n)}
    # Rates of their own make every shortest way the only one.
    links = tuple(
        Link(a=names[a], b=names[b], bytes_per_s=1e9 / (1 + 2**k), latency_s=0.0)
        for k, (a, b) in enumerate(sorted(joined))
    )
    cluster = Cluster(hosts=(), switches=tuple(names), links=links)
    graph = nx.Graph()
    for k, link in enumerate(links):
        graph.add_edge(link.a, link.b, weight=10**9 + 2**k)
    source, target = data.draw(st.sampled_from(names)), data.draw(st.sampled_from(names))
    found = [hop.name for hop in Routes(cluster).path(source, target)]
    nodes = nx.shortest_path(graph, source, target, weight="weight")
    assert found == [f"{a}>{b}" for a, b in itertools.pairwise(nodes)]
