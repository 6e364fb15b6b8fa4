"""Rings message by message, against SimGrid's C++ where its library and a compiler are installed."""

import json
import math
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from measure import Figure, interleaved, timed
from plans import ring, two_level
from simgrid_input import n_messages, peer_input

from hetsim.engine.compiled import CompiledPlan
from hetsim.model.plan import Plan
from hetsim.units import to_seconds

PEERS = Path(__file__).parent / "peers"
STORED = PEERS / "simgrid.json"
EXACT = 1e-6
PLANS: Final[dict[str, Callable[[], Plan]]] = {
    "ring-128": lambda: ring(128, 1_000_000, "rounds"),
    "two-level-512": lambda: two_level(32, 16, 100_000),
}
"""Not 64 hosts of 8: the more rounds and the fewer flows share a link, the more does max-min sharing magnify what a
rounded end of a message puts off. There, the end of the step is 2.7e-5 from SimGrid's; here, 2.6e-8."""
SETTINGS: Final = {
    "Full": ("--cfg=network/optim:Full",),
    "Full with selective update": ("--cfg=network/optim:Full", "--cfg=network/maxmin-selective-update:yes"),
    "Lazy (the default)": ("--cfg=network/optim:Lazy",),
}
"""The first is exact, the others only where nothing shares a link: SimGrid 3.32 is off by 1.4e-3 on two levels."""


def ring_against_simgrid() -> Figure:
    """128 unequal workers on a star, 2 x 127 rounds of messages."""
    return _against_simgrid("ring-128", n_repetitions=5)


def two_level_against_simgrid() -> Figure:
    """32 hosts of 16 unequal workers: scatter inside, 16 rings side by side across hosts, gather inside."""
    return _against_simgrid("two-level-512", n_repetitions=3)


@dataclass(slots=True)
class Peer:
    """SimGrid with one of the settings, on one plan; `simulated_s` is of the last run."""

    program: Path
    text: str
    label: str
    simulated_s: float = math.nan

    def __call__(self) -> float:
        """Return the wall-clock seconds of a run."""
        command = [self.program, "--log=root.thresh:warning", *SETTINGS[self.label]]
        done = subprocess.run(command, input=self.text, capture_output=True, text=True, check=True)
        self.simulated_s, wall_s = map(float, done.stdout.split())
        return wall_s


def _against_simgrid(name: str, *, n_repetitions: int) -> Figure:
    """Time the event kernel against the fastest settings of SimGrid with which it simulates the same time."""
    stored, plan = json.loads(STORED.read_text("utf-8")), PLANS[name]()
    compiled = CompiledPlan(plan, events_only=True)
    simulated_s = to_seconds(compiled.run(seed=0, replication=0).end)
    _check(simulated_s, stored["simulated_s"][name])
    unit = f"{n_messages(plan)} messages"

    def ours() -> float:
        return timed(lambda: compiled.run(seed=0, replication=0))

    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        if program is None:
            note = f"no peer: needs g++ and libsimgrid-dev; simulated time equals the stored one of {stored['version']}"
            return Figure(ours_s=min(ours() for _ in range(3)), peer_s=None, unit=unit, note=note)
        peers = [Peer(program, peer_input(plan), label) for label in SETTINGS]
        # A process of its own for each run of the peer: nothing to warm.
        ours_s, *peers_s = interleaved(ours, *peers, n_repetitions=n_repetitions, n_warm=0)
    _check(simulated_s, peers[0].simulated_s)
    off = [abs(peer.simulated_s / simulated_s - 1.0) for peer in peers]
    peer_s, label = min((peers_s[i], peers[i].label) for i in range(len(peers)) if off[i] <= EXACT)
    times = ", ".join(
        f"{peer.label} {seconds / ours_s:.3g} x" + (f" but {error:.1e} off" if error > EXACT else "")
        for peer, seconds, error in zip(peers, peers_s, off, strict=True)
    )
    ours_us, peer_us = (1e6 * seconds / n_messages(plan) for seconds in (ours_s, peer_s))
    note = (
        f"{compiled.path} {ours_us:.2f} us a message, SimGrid {peer_us:.2f} with {label} ({times}); times within 1e-6"
    )
    return Figure(ours_s=ours_s, peer_s=peer_s, unit=unit, note=note)


def _check(simulated_s: float, peer_s: float) -> None:
    if not math.isclose(simulated_s, peer_s, rel_tol=EXACT):
        raise AssertionError(f"hetsim simulates {simulated_s} s, SimGrid {peer_s} s")


def build(folder: Path, name: str = "simgrid_messages") -> Path | None:
    """Compile a peer; None without a compiler or the library."""
    compiler, program = shutil.which("g++"), folder / name
    if compiler is None or not Path("/usr/include/simgrid/s4u.hpp").exists():
        return None
    source = PEERS / f"{name}.cpp"
    subprocess.run([compiler, "-O3", "-std=c++17", source, "-o", program, "-lsimgrid"], check=True)
    return program
