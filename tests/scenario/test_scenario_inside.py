"""What is inside a host: sockets, PCIe switches, NVLink meshes."""

from collections import Counter
from typing import Any

import pytest
from both import equal_run
from clusters import known_job, placed, plan_of
from known_scenario import HOST, KNOWN

from hetsim.catalog.meshes import MESH_COLUMNS, meshes, parse_mesh
from hetsim.catalog.rows import read_rows
from hetsim.catalog.tables import links
from hetsim.errors import CatalogError
from hetsim.model.cluster import Cluster
from hetsim.network.routes import Routes
from hetsim.scenario.build import build_cluster
from hetsim.scenario.load import load
from hetsim.scenario.reads import reads, unread
from hetsim.units import TICKS_PER_S

BUS: dict[str, Any] = {"rate": "10 GB/s", "latency": "1 us"}
DGX: dict[str, Any] = {
    "devices": [{"type": "V100", "count": 2, "on": f"pcie-{i}"} for i in range(4)],
    "inside": {
        "sockets": 2,
        "socket_link": "QPI-2",
        "switches": [{"name": f"pcie-{i}", "on": f"socket-{i // 2}"} for i in range(4)],
        "nvlink": "DGX-1-V100",
    },
}


def cluster(n_hosts: int = 1, **host: object) -> Cluster:
    hosts = [{**HOST, "count": n_hosts, **host}]
    source = KNOWN | {"cluster": {"hosts": hosts, "topology": {"kind": "star", "latency": "1 us"}}}
    loaded = load(source)
    with reads() as seen:
        built = build_cluster(loaded)
    assert [path for path in unread(loaded, seen) if "hosts" in path] == []
    return built


def names(built: Cluster, source: str, target: str) -> list[str]:
    return [hop.name for hop in Routes(built).path(f"a-0/{source}", f"a-0/{target}" if target else "a-0")]


def test_devices_on_nothing_are_on_the_host() -> None:
    plain = cluster(inside={})
    assert plain == cluster()
    assert names(plain, "gpu0", "gpu1") == ["a-0/gpu0>a-0", "a-0>a-0/gpu1"]


def test_switches_on_switches_lead_up_to_the_socket() -> None:
    built = cluster(
        devices=[{"type": "V100", "count": 1, "on": "leaf"}, {"type": "K80", "count": 2, "on": "root"}],
        inside={"switches": [{"name": "leaf", "on": "root", "uplink": BUS}, {"name": "root"}]},
    )
    assert names(built, "gpu0", "") == ["a-0/gpu0>a-0/leaf", "a-0/leaf>a-0/root", "a-0/root>a-0"]
    assert names(built, "gpu0", "gpu1") == [
        "a-0/gpu0>a-0/leaf",
        "a-0/leaf>a-0/root",
        "a-0/root>a-0/card1",
        "a-0/card1>a-0/gpu1",
    ]


@pytest.mark.parametrize("on", [None, "pcie"])
def test_what_is_on_a_switch_shares_its_uplink(on: str | None) -> None:
    devices = [{"type": "V100", "count": 2, "bus": BUS, "on": on}]
    inside = {"switches": [{"name": "pcie", "uplink": BUS}]}
    built = cluster(devices=devices, inside=inside)
    n_bytes = 100_000_000
    job = placed(known_job([0.0, 0.0], [n_bytes]), ["a-0/gpu0", "a-0/gpu1"], ["a-0"])
    # Two devices push to the memory of their host, and pull: one behind the other where they share the way.
    expected_s = 2 * n_bytes / 10e9 * (1 if on is None else 2)
    assert equal_run(plan_of(built, job)).end / TICKS_PER_S == pytest.approx(expected_s, rel=1e-3)


@pytest.mark.parametrize("nic_socket", [0, 1])
def test_the_network_card_is_on_one_of_the_sockets(nic_socket: int) -> None:
    built = cluster(
        devices=[{"type": "V100", "on": "socket-0"}, {"type": "V100", "on": "socket-1"}, {"type": "V100"}],
        inside={"sockets": 2, "socket_link": {"rate": "20 GB/s", "latency": "50 ns"}, "nic_socket": nic_socket},
    )
    far, near = f"gpu{1 - nic_socket}", f"gpu{nic_socket}"
    other = f"a-0/socket-{1 - nic_socket}"
    assert names(built, near, "") == [f"a-0/{near}>a-0"]
    assert names(built, "gpu2", "") == ["a-0/gpu2>a-0"]
    assert names(built, far, "") == [f"a-0/{far}>{other}", f"{other}>a-0"]
    assert Routes(built).free_bytes_per_s(f"a-0/{far}", "switch") == 1.25e9


def test_four_sockets_are_joined_each_to_each() -> None:
    built = cluster(inside={"sockets": 4, "socket_link": "UPI-2"})
    sockets = [link for link in built.links if link.bytes_per_s == links()["UPI-2"].bytes_per_s]
    assert len(sockets) == 6
    assert len({frozenset((link.a, link.b)) for link in sockets}) == 6


def test_a_dgx_1_goes_over_sockets_where_no_nvlink_is() -> None:
    built = cluster(**DGX)
    single, bus = links()["NVLink2-1"].bytes_per_s, links()["PCIe3-x16"].bytes_per_s
    routes = Routes(built)
    assert names(built, "gpu0", "gpu1") == ["a-0/gpu0>a-0/gpu1"]
    assert routes.free_bytes_per_s("a-0/gpu0", "a-0/gpu1") == single
    assert routes.free_bytes_per_s("a-0/gpu0", "a-0/gpu4") == 2 * single
    assert names(built, "gpu0", "gpu5") == [
        "a-0/gpu0>a-0/pcie-0",
        "a-0/pcie-0>a-0",
        "a-0>a-0/socket-1",
        "a-0/socket-1>a-0/pcie-2",
        "a-0/pcie-2>a-0/gpu5",
    ]
    assert routes.free_bytes_per_s("a-0/gpu0", "a-0/gpu5") == bus
    # Not through a device of the network card's socket, though that would be fewer links.
    assert [hop.name for hop in routes.path("a-0/gpu4", "switch")][1:] == [
        "a-0/pcie-2>a-0/socket-1",
        "a-0/socket-1>a-0",
        "a-0>switch",
    ]


@pytest.mark.parametrize(("name", "n_links"), [("DGX-1-P100", 4), ("DGX-1-V100", 6)])
def test_a_known_mesh_uses_every_link_of_every_device(name: str, n_links: int) -> None:
    counts: Counter[int] = Counter()
    for a, b, n in meshes()[name].pairs:
        counts[a] += n
        counts[b] += n
    assert counts == dict.fromkeys(range(8), n_links)


def test_a_mesh_of_ones_own() -> None:
    pairs = [{"between": [0, 1], "links": 3}]
    built = cluster(inside={"nvlink": {"link": {"rate": "20 GB/s", "latency": "2 us"}, "pairs": pairs}})
    assert Routes(built).free_bytes_per_s("a-0/gpu0", "a-0/gpu1") == 60e9
    assert Routes(built).latency_s("a-0/gpu0", "a-0/gpu1") == 2e-6


def test_the_network_rate_that_placement_sees_is_not_that_of_a_socket() -> None:
    from hetsim.placement.view import _network_rates

    assert _network_rates(cluster(**DGX))["a-0"] == (1.25e9, False)


@pytest.mark.parametrize(
    ("pairs", "link", "message"),
    [
        ("0-1 1:2", "NVLink2-1", "pairs '1:2' is not of the form"),
        ("0-0", "NVLink2-1", "pairs '0-0' is not of the form"),
        ("0-1", "PCIe3-x16", "no link 'PCIe3-x16'. Known: NVLink1"),
    ],
)
def test_a_malformed_mesh_is_refused(pairs: str, link: str, message: str) -> None:
    lines = [",".join(MESH_COLUMNS), f"M,{link},{pairs},a mesh,its standard"]
    (row,) = read_rows(lines, "meshes.csv", MESH_COLUMNS)
    with pytest.raises(CatalogError, match=message):
        parse_mesh(row)
