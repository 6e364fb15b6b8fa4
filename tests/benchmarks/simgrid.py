"""A ring message by message, against SimGrid's C++ where its library and a compiler are installed."""

import json
import math
import shutil
import subprocess
import tempfile
from pathlib import Path

from measure import Figure, interleaved, timed
from plans import LATENCY_S, ring, ring_speeds

from hetsim.engine.compiled import CompiledPlan
from hetsim.units import to_seconds

PEERS = Path(__file__).parent / "peers"
STORED = PEERS / "simgrid_ring.json"
EXACT = 1e-6
# The fastest settings of SimGrid that are exact: with network/optim:Full alone it takes about four times as long.
OPTIONS = ("--log=root.thresh:warning", "--cfg=network/maxmin-selective-update:yes")


def ring_against_simgrid() -> Figure:
    """128 unequal workers on a star, 2 x 127 rounds of messages."""
    stored = json.loads(STORED.read_text("utf-8"))
    n, message_bytes = stored["n_workers"], stored["message_bytes"]
    compiled = CompiledPlan(ring(n, message_bytes, "rounds"))
    simulated_s = to_seconds(compiled.run(seed=0, replication=0).end)
    _check(simulated_s, stored["simulated_s"])
    unit = f"{2 * (n - 1) * n} messages"
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        if program is None:
            ours_s = min(timed(lambda: compiled.run(seed=0, replication=0)) for _ in range(3))
            note = f"no peer: needs g++ and libsimgrid-dev; simulated time equals the stored one of {stored['version']}"
            return Figure(ours_s=ours_s, peer_s=None, unit=unit, note=note)

        def peer() -> float:
            peer_simulated_s, wall_s = run_peer(program, n, message_bytes)
            _check(simulated_s, peer_simulated_s)
            return wall_s

        ours_s, peer_s = interleaved(lambda: timed(lambda: compiled.run(seed=0, replication=0)), peer, n_repetitions=3)
    per_message_us = [1e6 * seconds / (2 * (n - 1) * n) for seconds in (ours_s, peer_s)]
    note = "kernel {:.2f} us a message, SimGrid {:.2f}; simulated times equal to 1e-6".format(*per_message_us)
    return Figure(ours_s=ours_s, peer_s=peer_s, unit=unit, note=note)


def _check(simulated_s: float, peer_s: float) -> None:
    if not math.isclose(simulated_s, peer_s, rel_tol=EXACT):
        raise AssertionError(f"hetsim simulates {simulated_s} s, SimGrid {peer_s} s")


def build(folder: Path) -> Path | None:
    """Compile the peer; None without a compiler or the library."""
    compiler, program = shutil.which("g++"), folder / "simgrid_ring"
    if compiler is None or not Path("/usr/include/simgrid/s4u.hpp").exists():
        return None
    source = PEERS / "simgrid_ring.cpp"
    subprocess.run([compiler, "-O3", "-std=c++17", source, "-o", program, "-lsimgrid"], check=True)
    return program


def run_peer(program: Path, n_workers: int, message_bytes: int) -> tuple[float, float]:
    """Return simulated and wall-clock seconds of one all-reduce."""
    compute_s, rates = ring_speeds(n_workers)
    lines = [f"{n_workers} 1 {message_bytes} {LATENCY_S!r}"]
    lines += [f"{seconds!r} {rate!r}" for seconds, rate in zip(compute_s, rates, strict=True)]
    done = subprocess.run([program, *OPTIONS], input="\n".join(lines), capture_output=True, text=True, check=True)
    simulated_s, wall_s = map(float, done.stdout.split())
    return simulated_s, wall_s
