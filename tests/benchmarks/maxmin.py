"""The max-min solver alone on a fabric: one solution, draining all transfers, and a small change in a large network."""

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
from fat_tree import TICKS_PER_S, Traffic, random_traffic
from measure import Figure, interleaved, timed
from simgrid import EXACT, SETTINGS, STORED, build

from hetsim.kernels import batch
from hetsim.kernels.jit import compile_all
from hetsim.kernels.state import NEVER, State, new_state, rates

N_PORTS: Final = 16
N_TRANSFERS: Final = 10_000
LATENCY_S: Final = 25e-6
"""Of each route in the peer, all on its first link: without any, SimGrid's CM02 gives no share."""

N_LINKS: Final = (6000, 60)
N_CHANGES: Final = 2000


class Transfers:
    """Transfers that all start at tick 0, ready to be solved any number of times."""

    def __init__(self, traffic: Traffic) -> None:
        compile_all()
        self.n = len(traffic.routes)
        self._empty = new_state(traffic.usages(), traffic.capacities(), self.n)
        self._starts = np.repeat(np.arange(self.n), batch.N_COLUMNS)
        self._amounts = np.array(traffic.n_bytes, dtype=np.float64)
        self.held, self.end = self._empty, NEVER

    def renew(self) -> None:
        """Forget what was started."""
        self.held = State(self._empty.ints.copy(), self._empty.floats.copy())

    def start(self) -> None:
        """Start all and find their rates."""
        _, self.end = batch.start_and_resolve(self._starts, self._amounts, 0, self.n, 0, *self.held)

    def drain(self) -> npt.NDArray[np.int64]:
        """Start all, and return the tick at which each ends."""
        self.start()
        ends, idents = np.full(self.n, NEVER), np.zeros(self.n, dtype=np.int64)
        nothing = np.zeros(0, dtype=np.int64), np.zeros(0)
        now = self.end
        while now != NEVER:
            ends[idents[: batch.pop_ended(idents, now, *self.held)]] = now
            _, now = batch.start_and_resolve(*nothing, 0, 0, now, *self.held)
        return ends


def solve_against_scan() -> Figure:
    """Rates of 10,000 transfers that start at once, and the same with numpy looking at all links for each level."""
    traffic = random_traffic(N_PORTS, N_TRANSFERS, seed=1)
    transfers, found = Transfers(traffic), np.zeros(N_TRANSFERS)

    def ours() -> float:
        transfers.renew()
        return timed(transfers.start)

    def peer() -> float:
        return timed(lambda: np.copyto(found, scanned(traffic)))

    ours_s, peer_s = interleaved(ours, peer, n_repetitions=7)
    by_ident = rates(transfers.held)
    np.testing.assert_allclose([by_ident[i] for i in range(N_TRANSFERS)], found, rtol=1e-12)
    note = f"{len(set(found.tolist()))} different rates, starting included; numpy {1e3 * peer_s:.3g} ms"
    return Figure(ours_s=ours_s, peer_s=peer_s, unit=f"{N_TRANSFERS} transfers on a fat-tree({N_PORTS})", note=note)


def scanned(traffic: Traffic) -> npt.NDArray[np.float64]:
    """Return max-min fair rates in bytes per tick: progressive filling, all links looked at for each level."""
    widths = [len(route) for route in traffic.routes]
    links, owners = np.concatenate(traffic.routes), np.repeat(np.arange(len(widths)), widths)
    left, n_users = np.array(traffic.capacities()), np.bincount(links, minlength=len(traffic.bytes_per_s))
    users = np.split(owners[np.argsort(links, kind="stable")], np.cumsum(n_users)[:-1])
    found, n_free = np.full(len(widths), -1.0), n_users.astype(np.float64)
    n_left = len(widths)
    with np.errstate(divide="ignore", invalid="ignore"):
        while n_left:
            levels = np.where(n_free > 0.0, left / n_free, np.inf)
            level = levels.min()
            stopped = np.unique(np.concatenate([users[link] for link in np.flatnonzero(levels == level)]))
            stopped = stopped[found[stopped] < 0.0]
            found[stopped] = level
            used = np.concatenate([traffic.routes[i] for i in stopped])
            np.subtract.at(left, used, level)
            np.subtract.at(n_free, used, 1.0)
            n_left -= len(stopped)
    return found


def drain_against_simgrid() -> Figure:
    """Drain 10,000 transfers of random sizes, each end at a tick of its own, against SimGrid's full updates."""
    traffic = random_traffic(N_PORTS, N_TRANSFERS, seed=1)
    transfers, ends = Transfers(traffic), np.zeros(N_TRANSFERS)

    def ours() -> float:
        transfers.renew()
        return timed(lambda: np.copyto(ends, transfers.drain() / TICKS_PER_S))

    ours_s = min(ours() for _ in range(3))
    check(ends, f"drain-{N_TRANSFERS}")
    unit = f"{N_TRANSFERS} ends on a fat-tree({N_PORTS})"
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder), "simgrid_flows")
        if program is None:
            note = "no peer: needs g++ and libsimgrid-dev; means and last of the ends equal the stored ones"
            return Figure(ours_s=ours_s, peer_s=None, unit=unit, note=note)
        peer_s, peer_ends = drained_by_simgrid(program, traffic)
        ours_s = min(ours_s, ours())
    np.testing.assert_allclose(ends, peer_ends, rtol=EXACT)
    off = float(np.abs(ends / peer_ends - 1.0).max())
    note = f"{1e6 * ours_s / N_TRANSFERS:.3g} us an end, SimGrid with Full (one run) {peer_s:.3g} s; ends {off:.1e} off"
    return Figure(ours_s=ours_s, peer_s=peer_s, unit=unit, note=note)


def summary(ends_s: npt.NDArray[np.float64]) -> list[float]:
    """Return what is stored of ends: the first, the mean of each tenth in the order of transfers, the last."""
    return [float(ends_s.min()), *(float(part.mean()) for part in np.split(ends_s, 10)), float(ends_s.max())]


def check(ends_s: npt.NDArray[np.float64], name: str) -> None:
    """Compare ends with the stored ones of SimGrid."""
    stored = json.loads(STORED.read_text("utf-8"))["ends_s"][name]
    np.testing.assert_allclose(summary(ends_s), stored, rtol=EXACT)


def drained_by_simgrid(program: Path, traffic: Traffic) -> tuple[float, npt.NDArray[np.float64]]:
    """Return the wall-clock seconds of a run of the peer, and when each transfer ends if there is no latency."""
    command = [program, "--log=root.thresh:warning", *SETTINGS["Full"]]
    text = peer_input(traffic)
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    wall_s, *ends_s = map(float, done.stdout.split())
    return wall_s, np.array(ends_s) - LATENCY_S


def peer_input(traffic: Traffic) -> str:
    """Return hosts, links and transfers; an end is known by its link, up or down."""
    used = {link: i for i, link in enumerate(dict.fromkeys(link for route in traffic.routes for link in route))}
    first = {route[0] for route in traffic.routes}
    hosts: dict[int, int] = {}
    for route in traffic.routes:
        for link in (route[0], route[-1]):
            hosts.setdefault(link, len(hosts))
    lines = [str(len(hosts)), str(len(used))]
    lines += [f"{traffic.bytes_per_s[link]!r} {LATENCY_S if link in first else 0.0!r}" for link in used]
    lines.append(str(len(traffic.routes)))
    for route, n_bytes in zip(traffic.routes, traffic.n_bytes, strict=True):
        ends = f"{hosts[route[0]]} {hosts[route[-1]]}"
        lines.append(f"{ends} {n_bytes} {len(route)} {' '.join(str(used[link]) for link in route)}")
    return "\n".join(lines)


def incremental() -> Figure:
    """One more transfer in a component of 10 links, and its end: in a network of 6,000 links and in one of 60."""
    large, small = (_Component(n) for n in N_LINKS)
    ours_s, peer_s = interleaved(large.change, small.change, n_repetitions=21)
    note = f"the same in a network of {N_LINKS[1]} links takes {1e6 * peer_s:.3g} us, here {1e6 * ours_s:.3g}"
    return Figure(ours_s=ours_s, peer_s=peer_s, unit=f"start and end in a network of {N_LINKS[0]} links", note=note)


class _Component:
    """Ten links in a row, each with transfers to the next, in a network with transfers everywhere."""

    def __init__(self, n_links: int) -> None:
        compile_all()
        usages = [[(link, 1.0), (link + 1, 1.0)] for link in range(n_links - 1) if link % 10 != 9]
        n = len(usages)
        self._held = new_state(usages, [1.0 + link % 7 for link in range(n_links)], 2 * n, changing=range(n_links))
        batch.start_and_resolve(np.repeat(np.arange(n), 2), np.full(n, 1e15), 0, n, 0, *self._held)
        self._one, self._amount = np.array([n, 4]), np.array([1.0])
        self._now = 0

    def change(self) -> float:
        """Return the seconds of one start and one end, with the solutions that follow."""
        return timed(self._change_all) / N_CHANGES

    def _change_all(self) -> None:
        idents, now = np.zeros(1, dtype=np.int64), self._now
        for _ in range(N_CHANGES):
            _, now = batch.start_and_resolve(self._one, self._amount, 0, 1, now, *self._held)
            batch.pop_ended(idents, now, *self._held)
            batch.start_and_resolve(self._one, self._amount, 0, 0, now, *self._held)
        self._now = now
