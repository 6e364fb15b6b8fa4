"""Impairments in what ``hetsim network`` shows."""

import json
from dataclasses import replace

import pytest
from clusters import star

from hetsim.model.cluster import Cluster
from hetsim.model.impairment import Impairment
from hetsim.network.matrix import all_routes
from hetsim.report.network import network_dict, network_table


def impaired() -> Cluster:
    states = (
        Impairment(delay_s=5e-3, jitter_s=1e-3, loss_frac=1e-3, bytes_per_s=1.25e8),
        Impairment(at_s=2.0, bytes_per_s=0.0),
        Impairment(at_s=3.0),
    )
    cluster = star([1.25e9] * 3, latency_s=1e-5)
    links = tuple(replace(link, from_a=states) if link.a == "h1" else link for link in cluster.links)
    return replace(cluster, links=links)


def test_the_table_says_what_leaves_either_end() -> None:
    text = network_table("net", impaired(), {"h": ["h0", "h1", "h2"]})
    line = next(line for line in text.splitlines() if line.startswith("h1 - switch"))
    assert line.endswith("from h1: delay 5 ms, jitter 1 ms, loss 0.1 %, at most 1 Gbit/s; 2 changes from 2 s on")
    plain = network_table("net", star([1.25e9] * 3), {"h": ["h0", "h1", "h2"]})
    assert "impaired" not in plain


def test_routes_are_as_they_are_at_the_start() -> None:
    figures = {(route.source, route.target): route for route in all_routes(impaired())}
    assert figures["h1", "h0"].latency_s == pytest.approx(5e-3 + 2e-5)
    assert figures["h1", "h0"].bytes_per_s == 1.25e8
    assert figures["h0", "h1"].latency_s == pytest.approx(2e-5)
    assert figures["h0", "h1"].bytes_per_s == 1.25e9


def test_json_has_every_state() -> None:
    content = json.loads(json.dumps(network_dict("net", impaired()), allow_nan=False))
    (link,) = (link for link in content["links"] if link["a"] == "h1")
    assert [state["at_s"] for state in link["from_a"]] == [0.0, 2.0, 3.0]
    assert [state["bytes_per_s"] for state in link["from_a"]] == [1.25e8, 0.0, None]
    assert link["from_b"] == []
