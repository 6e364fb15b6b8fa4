"""The choice among routes of equal cost."""

import itertools
import os
import random
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import networkx as nx
import pytest
from clusters import GPU, star
from fabrics import RATE, UP, cluster_of, ports
from hypothesis import given, settings
from hypothesis import strategies as st

from hetsim.model.cluster import Cluster, Device, Link
from hetsim.network.ecmp import ShortestRoutes
from hetsim.network.fat_tree import fat_tree
from hetsim.network.leaf_spine import leaf_spine
from hetsim.network.routes import Routes


def leaf_spine_cluster(n_spines: int, *, ecmp_seed: int = 0) -> Cluster:
    fabric = leaf_spine(ports(64), hosts_per_leaf=32, spines=n_spines, oversubscription=1.0, **UP)
    return cluster_of(fabric, 64, ecmp_seed=ecmp_seed)


def names(routes: Routes, source: str, target: str) -> list[str]:
    return [hop.name for hop in routes.path(source, target)]


PAIRS = [(f"h{a}", f"h{b}") for a in range(32) for b in range(32, 64)]


@pytest.mark.parametrize("n_spines", [2, 3, 8])
def test_pairs_spread_evenly_over_routes(n_spines: int) -> None:
    routes = Routes(leaf_spine_cluster(n_spines))
    counts = Counter(names(routes, a, b)[1] for a, b in PAIRS)
    assert len(counts) == n_spines
    expected = len(PAIRS) / n_spines
    # Chi-square of 7 degrees of freedom or fewer is above 40 in one of a million cases.
    assert sum((n - expected) ** 2 / expected for n in counts.values()) < 40.0


def test_a_fat_tree_has_as_many_routes_as_its_paper_says_and_uses_all() -> None:
    cluster = cluster_of(fat_tree(ports(54), k=6, **UP), 54)
    weights: dict[str, dict[str, int]] = {}
    for link in cluster.links:
        weights.setdefault(link.a, {})[link.b] = 1
        weights.setdefault(link.b, {})[link.a] = 1
    counted = ShortestRoutes(weights)
    assert counted.n_routes("h0", "h53") == 9
    assert counted.n_routes("h0", "h3") == 3
    assert counted.n_routes("h0", "h1") == 1
    assert len({tuple(counted.route("h0", "h53", key)) for key in range(9)}) == 9


def test_the_choice_depends_on_names_and_seed_alone() -> None:
    first, again, other = (Routes(leaf_spine_cluster(8, ecmp_seed=seed)) for seed in (0, 0, 1))
    chosen = {pair: names(first, *pair) for pair in PAIRS}
    shuffled = random.Random(7).sample(PAIRS, len(PAIRS))
    assert {pair: names(again, *pair) for pair in shuffled} == chosen
    n_moved = sum(names(other, *pair) != chosen[pair] for pair in PAIRS)
    assert 0.75 < n_moved / len(PAIRS) < 0.98
    turned = replace(leaf_spine_cluster(8), links=leaf_spine_cluster(8).links[::-1])
    assert {pair: names(Routes(turned), *pair) for pair in PAIRS[:20]} == {pair: chosen[pair] for pair in PAIRS[:20]}


def test_the_choice_is_the_same_in_every_process() -> None:
    code = (
        "from fabrics import *\nfrom hetsim.network.routes import Routes\n"
        "from hetsim.network.fat_tree import fat_tree\n"
        "routes = Routes(cluster_of(fat_tree(ports(16), k=4, **UP), 16))\n"
        "print([[hop.name for hop in routes.path(f'h{a}', f'h{b}')] for a in range(16) for b in range(16)])"
    )
    outputs = set()
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
        outputs.add(done.stdout)
    assert len(outputs) == 1


def test_routes_there_and_back_may_differ() -> None:
    routes = Routes(leaf_spine_cluster(8))
    spines = [(names(routes, a, b)[1].split(">")[1], names(routes, b, a)[1].split(">")[1]) for a, b in PAIRS]
    n_same = sum(there == back for there, back in spines)
    assert 0.05 < n_same / len(PAIRS) < 0.25


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_routes_are_those_that_a_search_of_all_finds(data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 8))
    pairs = data.draw(st.sets(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=20))
    graph = nx.Graph((min(pair), max(pair)) for pair in pairs if pair[0] != pair[1])
    graph = nx.relabel_nodes(graph, {i: f"n{i}" for i in range(n)})
    for a, b in graph.edges:
        graph.edges[a, b]["weight"] = data.draw(st.integers(1, 3))
    weights = {a: {b: graph.edges[a, b]["weight"] for b in graph[a]} for a in graph}
    found = ShortestRoutes(weights)
    for source, target in itertools.permutations(graph, 2):
        if not nx.has_path(graph, source, target):
            assert found.n_routes(source, target) == 0
            assert found.route(source, target, 5) == []
            continue
        every = {tuple(path) for path in nx.all_shortest_paths(graph, source, target, weight="weight")}
        assert found.n_routes(source, target) == len(every)
        assert {tuple(found.route(source, target, key)) for key in range(len(every))} == every


def test_devices_forward_nothing() -> None:
    # Two devices of a host are joined directly, and one of them to a third of which the other knows nothing.
    cluster = star([RATE])
    devices = tuple(Device(name=f"h0/gpu{i}", host="h0", card=f"h0/card{i}", spec=GPU) for i in range(3))
    bus = [
        Link(a="h0/gpu0", b="h0/left", bytes_per_s=1e10, latency_s=0.0),
        Link(a="h0/left", b="h0", bytes_per_s=1e10, latency_s=0.0),
        Link(a="h0/gpu1", b="h0", bytes_per_s=1e10, latency_s=0.0),
        Link(a="h0/gpu2", b="h0", bytes_per_s=1e10, latency_s=0.0),
    ]
    mesh = [Link(a=f"h0/gpu{i}", b=f"h0/gpu{i + 1}", bytes_per_s=1e11, latency_s=0.0) for i in range(2)]
    host = replace(cluster.hosts[0], devices=devices)
    routes = Routes(Cluster(hosts=(host,), switches=("switch", "h0/left"), links=(*bus, *mesh, cluster.links[-1])))
    assert names(routes, "h0/gpu0", "h0/gpu1") == ["h0/gpu0>h0/gpu1"]
    assert names(routes, "h0/gpu0", "h0/gpu2") == ["h0/gpu0>h0/left", "h0/left>h0", "h0>h0/gpu2"]
    assert names(routes, "h0/gpu0", "switch") == ["h0/gpu0>h0/left", "h0/left>h0", "h0>switch"]
