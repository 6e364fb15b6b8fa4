"""Where the nodes of a drawing go."""

import math

import pytest
from fabrics import CASES, case, cluster_of

from hetsim.network.layout import layout

LAYERED = {"star": 2, "two-level": 3, "leaf-spine": 3, "fat-tree": 4}


@pytest.mark.parametrize("kind", CASES)
def test_every_node_has_a_place_of_its_own(kind: str) -> None:
    n_hosts = CASES[kind][0]
    fabric = case(kind)
    places = layout(cluster_of(fabric, n_hosts))
    assert set(places.positions) == {*fabric.switches, *(f"h{i}" for i in range(n_hosts))}
    rounded = {(round(x, 9), round(y, 9)) for x, y in places.positions.values()}
    assert len(rounded) == len(places.positions)
    assert places.is_layered == (kind in LAYERED)


@pytest.mark.parametrize("kind", LAYERED)
def test_hosts_are_at_the_bottom_and_links_lead_one_layer_up(kind: str) -> None:
    fabric = case(kind)
    positions = layout(cluster_of(fabric, CASES[kind][0])).positions
    assert {positions[f"h{i}"][1] for i in range(CASES[kind][0])} == {0.0}
    assert all(abs(positions[link.a][1] - positions[link.b][1]) == 1.0 for link in fabric.links)
    assert len({y for _, y in positions.values()}) == LAYERED[kind]


def test_empty_switches_are_beside_full_ones_of_their_name() -> None:
    fabric = case("fat-tree")
    few = type(fabric)(
        fabric.switches, tuple(link for link in fabric.links if link.a not in {f"h{i}" for i in range(2, 16)})
    )
    places = layout(cluster_of(few, 2))
    assert places.is_layered
    assert {y for name, (_, y) in places.positions.items() if "edge" in name} == {1.0}


def test_sites_are_on_a_circle() -> None:
    positions = layout(cluster_of(case("wan-ring"), 7)).positions
    for name in ("north", "east", "south", "west"):
        assert math.hypot(*positions[name]) == pytest.approx(1.0)
    assert positions["north"] == pytest.approx((0.0, 1.0))
