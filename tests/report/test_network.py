"""The network in tables, JSON and drawings."""

import csv
import io
import json

import pytest
from fabrics import CASES, RATE, case, cluster_of

from hetsim.report.figure import to_file
from hetsim.report.network import MATRIX_COLUMNS, matrix_csv, network_dict, network_table
from hetsim.report.network_figure import network_figure
from hetsim.scenario.build import build_cluster
from hetsim.scenario.load import load
from hetsim.scenario.specs import host_names


def of_kind(kind: str):
    return cluster_of(case(kind), CASES[kind][0])


@pytest.mark.parametrize("kind", CASES)
def test_a_table_names_every_kind_of_link(kind: str) -> None:
    cluster = of_kind(kind)
    templates = {"h": [host.name for host in cluster.hosts]}
    text = network_table("mine", cluster, templates)
    assert text.startswith(f"mine: {len(cluster.hosts)} hosts, {len(cluster.switches)} switch")
    assert max(map(len, text.splitlines())) < 200
    assert "10 Gbit/s" in text
    assert ("metric" in text) == (kind in {"dragonfly", "graph"})


def test_the_tables_of_a_shipped_scenario() -> None:
    loaded = load("busy-datacenter")
    templates = {host.name: host_names(host) for host in loaded.document.cluster.hosts}
    lines = network_table(loaded.name, build_cluster(loaded), templates).splitlines()
    assert lines[0] == "busy-datacenter: 10 hosts, 1 switch, 10 network links"
    assert lines[4] == "v100-busy (2)  1 V100     54 %        50 %        20 %        30 %"
    assert "v100-busy-0 - switch and 1 more  23.5 Gbit/s  25 us      20 %    full      -" in lines
    assert "k80 (2)        9.41 Gbit/s      9.41 Gbit/s  9.41 Gbit/s  9.41 Gbit/s" in lines
    assert "v100 (4)       50 us            50 us       50 us       50 us" in lines


def test_many_hosts_by_name_are_cut_short_and_it_says_so() -> None:
    cluster = of_kind("dragonfly")
    text = network_table("mine", cluster, {host.name: [host.name] for host in cluster.hosts})
    assert "10 more: the whole matrix is in --json" in text


@pytest.mark.parametrize("kind", CASES)
def test_json_and_csv_hold_the_whole_matrix(kind: str) -> None:
    cluster = of_kind(kind)
    content = network_dict("mine", cluster)
    json.dumps(content, allow_nan=False)
    rows = list(csv.reader(io.StringIO(matrix_csv(cluster))))
    assert tuple(rows[0]) == MATRIX_COLUMNS
    n = len(cluster.hosts)
    assert len(rows) == 1 + n * (n - 1)
    names = [host["name"] for host in content["hosts"]]
    for source, target, rate, latency, _ in rows[1:]:
        i, j = names.index(source), names.index(target)
        assert content["bottleneck_bytes_per_s"][i][j] == float(rate)
        assert content["latency_s"][i][j] == float(latency)
    assert all(content["latency_s"][i][i] is None for i in range(n))
    assert len(content["links"]) == len(cluster.links)


def test_the_figures_of_a_star() -> None:
    content = network_dict("mine", of_kind("star"))
    assert {rate for row in content["bottleneck_bytes_per_s"] for rate in row} == {None, RATE}
    assert {latency for row in content["latency_s"] for latency in row} == {None, 2e-6}


def test_hosts_that_no_route_joins_are_no_error() -> None:
    cluster = of_kind("star")
    cut = type(cluster)(hosts=cluster.hosts, switches=cluster.switches, links=cluster.links[1:])
    content = network_dict("mine", cut)
    assert content["bottleneck_bytes_per_s"][0] == [None, 0.0, 0.0, 0.0, 0.0]
    assert content["latency_s"][0] == [None] * 5
    assert "no route" in network_table("mine", cut, {})


@pytest.mark.parametrize("kind", CASES)
def test_a_drawing_shows_every_node_and_every_kind_of_link(kind: str) -> None:
    cluster = of_kind(kind)
    figure = network_figure("mine", cluster)
    axes = figure.axes[0]
    texts = {text.get_text() for text in axes.texts}
    assert texts >= {*cluster.switches, *(host.name for host in cluster.hosts)}
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    kinds = {(link.bytes_per_s, link.latency_s, link.duplex) for link in cluster.links}
    assert len(legend) == min(len(kinds), 7)


@pytest.mark.parametrize(("kind", "start"), [("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG")])
def test_a_drawing_is_the_same_bytes_on_every_run(kind, start) -> None:
    first, second = (to_file(network_figure("mine", of_kind("wan-ring")), kind) for _ in range(2))
    assert first == second
    assert first.startswith(start)
