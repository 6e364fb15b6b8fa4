"""Problems of what is inside a host that no field has by itself."""

import re
from collections.abc import Iterator
from typing import Final

from hetsim.catalog.meshes import meshes
from hetsim.lookup import unknown
from hetsim.scenario.hardware import CpuDevice, HostSection, InsideSection, NvlinkMesh
from hetsim.scenario.problems import Problem
from hetsim.scenario.tree import Loc

_TAKEN: Final = re.compile(r"(gpu|card)\d+|socket-.*|cpu|peer")
"""Names of other nodes inside a host."""


def check_inside(host: HostSection, at: Loc) -> Iterator[Problem]:
    """Yield what is wrong between the fields of one host's inside, and with where its devices are.

    Parameters
    ----------
    host : HostSection
        Valid by itself.
    at : Loc
        Where it is.

    Yields
    ------
    Problem
        In no particular order.
    """
    inside = host.inside or InsideSection()
    where = (*at, "inside")
    sockets = [f"socket-{index}" for index in range(inside.sockets)]
    places = list(dict.fromkeys([*sockets, *(switch.name for switch in inside.switches)]))
    for index, entry in enumerate(host.devices):
        if not isinstance(entry, CpuDevice) and entry.on is not None and entry.on not in places:
            yield Problem((*at, "devices", index, "on"), unknown("socket or PCIe switch", entry.on, places))
    if inside.sockets > 1 and inside.socket_link is None:
        yield Problem((*where, "socket_link"), f"required to join {inside.sockets} sockets")
    if inside.nic_socket >= inside.sockets:
        yield Problem((*where, "nic_socket"), f"there is no socket {inside.nic_socket}: the first one is 0")
    yield from _check_switches(inside, places, where)
    yield from _check_mesh(host, inside, where)


def _check_switches(inside: InsideSection, places: list[str], where: Loc) -> Iterator[Problem]:
    above = {switch.name: switch.on for switch in inside.switches}
    for index, switch in enumerate(inside.switches):
        here = (*where, "switches", index)
        if _TAKEN.fullmatch(switch.name):
            yield Problem((*here, "name"), f"{switch.name!r} is the name of something else inside a host")
        elif any(switch.name == other.name for other in inside.switches[:index]):
            yield Problem((*here, "name"), f"another switch is called {switch.name!r}")
        if switch.on is not None and switch.on not in places:
            yield Problem((*here, "on"), unknown("socket or PCIe switch", switch.on, places))
        elif _is_on_itself(switch.name, above):
            yield Problem((*here, "on"), f"{switch.name!r} is on itself: a PCIe switch leads up to a socket")


def _is_on_itself(name: str, above: dict[str, str | None]) -> bool:
    seen: set[str | None] = set()
    node: str | None = name
    while node in above and node not in seen:
        seen.add(node)
        node = above[node]
    return node == name and bool(seen)


def _check_mesh(host: HostSection, inside: InsideSection, where: Loc) -> Iterator[Problem]:
    nvlink = inside.nvlink
    if nvlink is None:
        return
    if host.peer is not None:
        yield Problem((*where, "nvlink"), "peer joins the same devices through a switch: leave one of the two out")
    n_gpus = sum(entry.count for entry in host.devices if not isinstance(entry, CpuDevice))
    if not isinstance(nvlink, NvlinkMesh):
        n_needed = 1 + max(max(a, b) for a, b, _ in meshes()[nvlink].pairs)
        if n_gpus != n_needed:
            yield Problem((*where, "nvlink"), f"{nvlink} joins {n_needed} devices, not {n_gpus}")
        return
    seen: set[frozenset[int]] = set()
    for index, pair in enumerate(nvlink.pairs):
        here = (*where, "nvlink", "pairs", index, "between")
        strangers = [number for number in pair.between if number >= n_gpus]
        if strangers:
            yield Problem(here, f"there is no device {strangers[0]}: the host has {n_gpus}, and the first one is 0")
        elif pair.between[0] == pair.between[1]:
            yield Problem(here, f"joins device {pair.between[0]} to itself")
        elif frozenset(pair.between) in seen:
            yield Problem(here, f"a second entry for the devices {pair.between[0]} and {pair.between[1]}")
        seen.add(frozenset(pair.between))
