"""Topologies as a scenario writes them, and graph files beside it."""

import copy
import json
from pathlib import Path
from typing import Any, cast

import networkx as nx
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from known_scenario import HOST, KNOWN, messages

from hetsim import run
from hetsim.errors import ScenarioError
from hetsim.model.cluster import Cluster
from hetsim.network.graph_files import to_graphml, to_json
from hetsim.network.topologies import TOPOLOGIES
from hetsim.scenario.build import build_cluster
from hetsim.scenario.load import load
from hetsim.scenario.reads import reads, unread
from hetsim.scenario.topology import _TOPOLOGY_EXAMPLES
from hetsim.scenario.tree import Place, find, from_python, leaves, replace, to_python

FULL: dict[str, dict[str, Any]] = {
    "star": {},
    "two-level": {"hosts_per_rack": 3, "uplink": "40 Gbit/s"},
    "leaf-spine": {"hosts_per_leaf": 3, "spines": 2, "oversubscription": 2, "uplink_latency": "2 us", "ecmp_seed": 3},
    "fat-tree": {"k": 4, "uplink": "20 Gbit/s", "ecmp_seed": 1},
    "dragonfly": {
        "groups": 3,
        "routers_per_group": 2,
        "hosts_per_router": 2,
        "local_rate": "50 Gbit/s",
        "global_rate": "25 Gbit/s",
        "global_latency": "2 us",
    },
    "wan-ring": {"sites": 3, "wan": ["1 Gbit/s", "2 Gbit/s", "500 Mbit/s"], "wan_latency": "10 ms", "ecmp_seed": 2},
    "graph": {
        "switches": ["s"],
        "links": [
            {"between": [f"a-{i}", "s"], "rate": f"{1 + i} Gbit/s", "latency": "10 us", "queue": "1 MB"}
            for i in range(8)
        ]
        + [{"between": ["a-0", "a-1"], "rate": "1 Gbit/s", "latency": "1 us", "metric": 3, "duplex": "full"}],
    },
}
"""Every field of each kind that is not the same as of a star."""


def scenario(topology: dict[str, Any], *, n_hosts: int = 8, **cluster: object) -> dict[str, Any]:
    hosts = [{**HOST, "count": n_hosts}]
    return KNOWN | {"cluster": {"hosts": hosts, "topology": topology, **cluster}}


def full(kind: str) -> dict[str, Any]:
    base = {} if kind == "graph" else {"latency": "25 us", "queue": "50 ms"}
    return scenario({"kind": kind, **base, "duplex": "half", **FULL[kind]})


def network(cluster: Cluster) -> tuple[object, ...]:
    """What makes two networks the same, whatever the order of their links."""
    links = {
        (frozenset((k.a, k.b)), k.bytes_per_s, k.latency_s, k.queue_bytes, k.duplex, k.metric, k.background)
        for k in cluster.network_links
    }
    return {host.name for host in cluster.hosts}, set(cluster.switches), links, cluster.ecmp_seed


def test_all_kinds_are_covered() -> None:
    assert set(FULL) == set(TOPOLOGIES) == set(_TOPOLOGY_EXAMPLES)


@pytest.mark.parametrize("kind", FULL)
def test_every_field_is_read_and_kept(kind: str) -> None:
    loaded = load(full(kind))
    with reads() as seen:
        cluster = build_cluster(loaded)
    assert [path for path in unread(loaded, seen) if "topology" in path] == []
    assert cluster.ecmp_seed == FULL[kind].get("ecmp_seed", 0)
    assert {link.duplex for link in cluster.network_links} == ({"half", "full"} if kind == "graph" else {"half"})
    assert network(build_cluster(load(loaded.resolved()))) == network(cluster)


@pytest.mark.parametrize("kind", FULL)
def test_the_example_of_a_kind_is_right(kind: str) -> None:
    topology = yaml.safe_load(f"{{{_TOPOLOGY_EXAMPLES[kind]}}}")
    hosts = [{**HOST, "name": "a", "count": None}] + ([{**HOST, "name": "b", "count": 3}] if kind != "graph" else [])
    source = KNOWN | {"cluster": {"hosts": hosts, "topology": topology}}
    assert build_cluster(load(source)).network_links


def test_latencies_fall_back_to_that_of_each_link() -> None:
    for kind in ("leaf-spine", "fat-tree", "dragonfly"):
        fields = {key: value for key, value in FULL[kind].items() if not key.endswith("latency")}
        cluster = build_cluster(load(scenario({"kind": kind, "latency": "7 us", **fields})))
        assert {link.latency_s for link in cluster.network_links} == {7e-6}


def test_links_of_a_fat_tree_are_as_fast_as_the_fastest_card() -> None:
    source = scenario({"kind": "fat-tree", "k": 4, "latency": "1 us"})
    source["cluster"]["hosts"].append({**HOST, "name": "b", "nic": "40 Gbit/s", "count": 1})
    links = build_cluster(load(source)).network_links
    assert {link.bytes_per_s for link in links if "edge" in link.a or "agg" in link.a} == {5e9}


def test_sites_name_hosts_templates_or_how_many() -> None:
    source = scenario(
        {
            "kind": "wan-ring",
            "sites": [{"name": "x", "hosts": 2}, {"name": "y", "hosts": ["a-0", "b"]}, {"name": "z", "hosts": 1}],
            "wan": "1 Gbit/s",
            "wan_latency": "10 ms",
            "latency": "1 us",
        },
        n_hosts=4,
    )
    source["cluster"]["hosts"].append({**HOST, "name": "b", "count": 2})
    links = build_cluster(load(source)).network_links
    assert {link.a: link.b for link in links[:6]} == {
        "a-0": "y",
        "a-1": "x",
        "a-2": "x",
        "a-3": "z",
        "b-0": "y",
        "b-1": "y",
    }


def test_sites_are_filled_evenly() -> None:
    topology = {"kind": "wan-ring", "sites": 3, "wan": "1 Gbit/s", "wan_latency": "1 ms", "latency": "1 us"}
    links = build_cluster(load(scenario(topology))).network_links
    assert [sum(link.b == f"site-{i}" for link in links[:8]) for i in range(3)] == [2, 3, 3]


def test_an_exception_wins_over_the_topology() -> None:
    links = [{"between": ["switch", "a-1"], "duplex": "half"}, {"between": ["a-2", "switch"], "rate": "1 Gbit/s"}]
    cluster = build_cluster(load(scenario({"kind": "star", "latency": "1 us"}, links=links)))
    assert [link.duplex for link in cluster.network_links] == ["full", "half", *["full"] * 6]
    turned = [links[0] | {"duplex": "full"}]
    cluster = build_cluster(load(scenario({"kind": "star", "latency": "1 us", "duplex": "half"}, links=turned)))
    assert [link.duplex for link in cluster.network_links] == ["half", "full", *["half"] * 6]


def beside(folder: Path, source: dict[str, Any], **files: str) -> str:
    for name, content in files.items():
        (folder / name.replace("_", ".")).write_text(content, encoding="utf-8")
    path = folder / "scenario.yaml"
    path.write_text(json.dumps(source), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("kind", FULL)
@pytest.mark.parametrize("write", [to_graphml, to_json])
def test_what_is_exported_is_read_as_the_same_network(kind: str, write: Any, tmp_path: Path) -> None:
    cluster = build_cluster(load(full(kind)))
    name = "net.json" if write is to_json else "net.graphml"
    path = beside(tmp_path, scenario({"kind": "graph", "file": name}), **{name.replace(".", "_"): write(cluster)})
    loaded = load(path)
    assert network(build_cluster(loaded)) == network(cluster)
    assert network(build_cluster(load(loaded.resolved()))) == network(cluster)


RATES = st.floats(1.0, 1e12, allow_nan=False)
TIMES = st.floats(0.0, 10.0, allow_nan=False)


@settings(max_examples=40, deadline=None)
@given(data=st.data(), write=st.sampled_from([to_graphml, to_json]))
def test_any_graph_comes_back(data: st.DataObject, write: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    nodes = ["a-0", "a-1", "s.1", "t_2"]
    # A chain, so that the hosts are joined, and what else there is.
    pairs = [("a-0", "s.1"), ("s.1", "a-1"), ("a-1", "t_2")]
    pairs += data.draw(st.lists(st.sampled_from([("a-0", "a-1"), ("a-0", "t_2"), ("s.1", "t_2")]), unique=True))
    links = []
    for a, b in pairs:
        link: dict[str, Any] = {"between": [a, b]}
        link |= {"rate": f"{data.draw(RATES)!r} B/s", "latency": f"{data.draw(TIMES)!r} s"}
        link |= {"duplex": data.draw(st.sampled_from(["full", "half"])), "metric": data.draw(st.integers(1, 99))}
        if data.draw(st.booleans()):
            link["queue"] = f"{data.draw(RATES)!r} B"
        links.append(link)
    seed = data.draw(st.integers(0, 2**40))
    topology = {"kind": "graph", "switches": nodes[2:], "links": links, "ecmp_seed": seed}
    cluster = build_cluster(load(scenario(topology, n_hosts=2)))
    folder = tmp_path_factory.getbasetemp()
    name = "any.json" if write is to_json else "any.graphml"
    source = scenario({"kind": "graph", "file": name}, n_hosts=2)
    again = build_cluster(load(beside(folder, source, **{name.replace(".", "_"): write(cluster)})))
    assert network(again) == network(cluster)


GRAPH = {
    "nodes": [{"id": "a-0"}, {"id": "a-1"}, {"id": "s", "colour": "red"}],
    "links": [
        {"source": "a-0", "target": "s", "rate": "10 Gbit/s", "latency": "1 us", "colour": "red"},
        {"source": "s", "target": "a-1", "rate_bytes_per_s": 1e9, "latency_s": 2e-6, "queue": "1 MB"},
    ],
}


def test_a_file_of_another_program_may_say_more_and_spell_units(tmp_path: Path) -> None:
    path = beside(tmp_path, scenario({"kind": "graph", "file": "net.json"}, n_hosts=2), net_json=json.dumps(GRAPH))
    loaded = load(path)
    with reads() as seen:
        cluster = build_cluster(loaded)
    assert [path for path in unread(loaded, seen) if "topology" in path] == []
    assert [(link.a, link.b, link.bytes_per_s, link.latency_s) for link in cluster.network_links] == [
        ("a-0", "s", 1.25e9, 1e-6),
        ("a-1", "s", 1e9, 2e-6) if cluster.network_links[1].a == "a-1" else ("s", "a-1", 1e9, 2e-6),
    ]
    assert cluster.switches == ("s",)


def test_two_directions_that_say_the_same_are_one_link(tmp_path: Path) -> None:
    graph = nx.DiGraph()
    for a, b in (("a-0", "s"), ("s", "a-1")):
        graph.add_edge(a, b, rate="1 Gbit/s", latency="1 us")
        graph.add_edge(b, a, rate="1 Gbit/s", latency="1 us")
    source = scenario({"kind": "graph", "file": "net.graphml"}, n_hosts=2)
    path = beside(tmp_path, source, net_graphml="\n".join(nx.generate_graphml(graph)))
    assert len(build_cluster(load(path)).network_links) == 2
    graph.edges["s", "a-0"]["rate"] = "2 Gbit/s"
    beside(tmp_path, source, net_graphml="\n".join(nx.generate_graphml(graph)))
    (message,) = messages(path)
    assert message.startswith("net.graphml: cluster.topology.links[")
    assert "a second entry for the link between" in message


def test_what_a_file_holds_is_part_of_the_fingerprint(tmp_path: Path) -> None:
    source = scenario({"kind": "graph", "file": "net.json"}, n_hosts=2)
    path = beside(tmp_path, source, net_json=json.dumps(GRAPH))
    first = run(path).fingerprint
    assert run(path).fingerprint == first
    other = copy.deepcopy(GRAPH)
    other["links"][0]["rate"] = "20 Gbit/s"
    beside(tmp_path, source, net_json=json.dumps(other))
    assert run(path).fingerprint != first


def test_files_can_be_compared(tmp_path: Path) -> None:
    faster = json.dumps(GRAPH).replace("10 Gbit/s", "20 Gbit/s")
    source = scenario({"kind": "graph", "file": "net.json"}, n_hosts=2)
    source |= {"compare": {"cluster.topology.file": ["net.json", "faster.json"]}}
    loaded = load(beside(tmp_path, source, net_json=json.dumps(GRAPH), faster_json=faster))
    points = [loaded.with_values({"cluster.topology.file": name}) for name in ("net.json", "faster.json")]
    assert [build_cluster(point).network_links[0].bytes_per_s for point in points] == [1.25e9, 2.5e9]
    with pytest.raises(ScenarioError, match="nowhere"):
        loaded.with_values({"cluster.topology.file": "nowhere.json"})


ODD = [
    None,
    True,
    -1,
    0,
    7,
    10**30,
    1e308,
    "",
    "x",
    "a",
    "a-0",
    "1 Gbit/s",
    "1 ms",
    "half",
    "graph",
    "net.json",
    [],
    {},
]


@settings(max_examples=120, deadline=None)
@given(kind=st.sampled_from(sorted(FULL)), data=st.data())
def test_any_value_anywhere_is_a_scenario_or_its_error(kind: str, data: st.DataObject) -> None:
    tree = from_python(full(kind), Place())
    topology = find(tree, ("cluster", "topology"))
    assert topology is not None
    for loc in data.draw(st.lists(st.sampled_from(list(leaves(topology, ("cluster", "topology")))), max_size=2)):
        tree = replace(tree, loc, from_python(data.draw(st.sampled_from(ODD)), Place()))
    try:
        loaded = load(cast("dict[str, Any]", to_python(tree)))
    except ScenarioError as error:
        issues = error.issues
    else:
        issues = ()
        assert build_cluster(loaded).network_links
    assert all(issue.message for issue in issues)


def test_a_second_edge_of_a_pair_is_no_silent_replacement(tmp_path):
    import json

    from hetsim.errors import HetsimError
    from hetsim.network.graph_files import read_graph

    edge = {"source": "a", "target": "b", "rate_bytes_per_s": 1e9, "latency_s": 0.0}
    content = {"nodes": [{"id": "a"}, {"id": "b"}], "edges": [edge, edge | {"rate_bytes_per_s": 1.0}]}
    path = tmp_path / "net.json"
    path.write_text(json.dumps({"directed": False, "multigraph": False, "graph": {}} | content), encoding="utf-8")
    with pytest.raises(HetsimError, match="2 edges join only 1 pairs of nodes"):
        read_graph(path)
