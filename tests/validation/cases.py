"""Recorded training runs as clusters, jobs and trees, and what is predicted of them."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hetsim.catalog.tables import profiles
from hetsim.engine.simulate import simulate
from hetsim.experiment.api import load
from hetsim.model.aggregation import Group, Rank
from hetsim.model.placement import Placement
from hetsim.model.plan import Plan
from hetsim.network.routes import Routes
from hetsim.placement.view import step_times
from hetsim.plan.lower import lower
from hetsim.plan.placed import PlacedJob
from hetsim.scenario.build import build_cluster, build_jobs
from hetsim.units import TICKS_PER_S

TABLE = Path(__file__).parent.parent / "data" / "training.csv"

FRAME_PER_PAYLOAD = 1514 / 1448
"""Ethernet frame of a full TCP segment with time stamps over its payload: tbf counts the former, a job the latter."""

CPU = {"name": "any", "peak": "1 TFLOP/s", "memory_rate": "10 GB/s", "cores": 1}
"""Plays no part: compute is given, and the servers of the recording answered at once."""

QUEUE = "50 ms"
"""tbf holds what it can send in 50 ms (`latency 50ms` in every setting of the recording), beside its bucket."""

N_STEPS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One recorded setting.

    Parameters
    ----------
    setting : str
        Its label in the recording.
    scheme : {"parameter-server", "ring", "routed-parameter-server", "two-level"}
        How gradients were combined.
    groups : tuple of int
        Workers of each group; none on a star.
    link_mbit, compute_ms : tuple of float, shape (n_workers,)
        Rate of each worker's link, headers included; its known compute time.
    uplink_mbit : tuple of float, shape (n_groups,)
        Rate of the link between each group's aggregator and the router.
    server_mbit : float
        Rate of the server's link; zero for a ring.
    gradient_bytes : int
        Payload.
    round_s : float
        Measured: median time from one round's last worker to the next round's, mean over repetitions.
    """

    setting: str
    scheme: str
    groups: tuple[int, ...]
    link_mbit: tuple[float, ...]
    uplink_mbit: tuple[float, ...]
    server_mbit: float
    compute_ms: tuple[float, ...]
    gradient_bytes: int
    round_s: float

    @property
    def n_workers(self) -> int:
        return len(self.compute_ms)

    @property
    def group_of(self) -> tuple[int, ...]:
        """Group of each worker."""
        return tuple(group for group, n in enumerate(self.groups) for _ in range(n))

    @property
    def ports(self) -> list[tuple[float, int]]:
        """Rate of each link in Mbit/s, headers included, and the transfers that cross it at the same time."""
        n, groups = self.n_workers, self.groups
        links = [(rate, 1) for rate in self.link_mbit]
        if self.scheme == "two-level":
            fast = [(self.link_mbit[self.group_of.index(group)], size) for group, size in enumerate(groups)]
            return links + fast + [(rate, 1) for rate in self.uplink_mbit] + [(self.server_mbit, len(groups))]
        shared = list(zip(self.uplink_mbit, groups, strict=True))
        return links + shared + ([(self.server_mbit, n)] if self.server_mbit else [])


def read_cases(scheme: str) -> list[Case]:
    """The recorded settings of one scheme."""
    with TABLE.open(newline="") as file:
        return [_case(row) for row in csv.DictReader(file) if row["scheme"] == scheme]


def _case(row: Mapping[str, str]) -> Case:
    def floats(column: str) -> tuple[float, ...]:
        return tuple(float(text) for text in row[column].split())

    return Case(
        setting=row["setting"],
        scheme=row["scheme"],
        groups=tuple(int(text) for text in row["groups"].split()),
        link_mbit=floats("link_mbit"),
        uplink_mbit=floats("uplink_mbit"),
        server_mbit=float(row["server_mbit"] or 0),
        compute_ms=floats("compute_ms"),
        gradient_bytes=int(row["gradient_bytes"]),
        round_s=float(row["round_ms"]) / 1e3,
    )


def burst_bytes(mbit: float) -> float:
    """Bucket of a tbf link in bytes of frames: 1 ms of its rate, 16 KiB at least, whole KiB (tc counts kb so)."""
    return 1024 * max(16, int(mbit / 8))


def waiting_bytes(case: Case) -> float:
    """Payload of a transfer that has to wait for tokens, in place of the gradient.

    The buckets fill while workers compute, and their content passes at once (tc-tbf(8)). Transfers that share a link
    share its bucket; the link with the least for each is also the one that holds the transfer up, since buckets are
    1 ms of the rate. Of a ring's 2 (n - 1) messages of S / n bytes only the first finds a full bucket.
    """
    credit = min(burst_bytes(rate) / n for rate, n in case.ports) / FRAME_PER_PAYLOAD
    if case.scheme == "ring":
        credit *= case.n_workers / (2 * (case.n_workers - 1))
    return case.gradient_bytes - credit


def plan_of(case: Case, queue: str = QUEUE) -> Plan:
    """What the engine runs for a case, with what every link holds.

    Latency is left at zero: 4 KiB in a full bucket took 0.03 ms one way, under 0.1 % of every round.
    """
    return plan_for_tree(case, tree_of(case), queue)


def plan_for_tree(case: Case, tree: Group, queue: str = QUEUE, n_steps: int = N_STEPS) -> Plan:
    """What the engine runs for a case with another tree."""
    scenario = load(_scenario(case, queue, n_steps))
    cluster = build_cluster(scenario)
    (job,) = build_jobs(scenario)
    servers = _servers(case)
    placement = Placement(tuple(f"w{rank}/cpu" for rank in range(case.n_workers)), servers)
    times = step_times(cluster, job, placement, profiles())
    placed = PlacedJob(job=job, placement=placement, tree=tree, step_times=times)
    return lower(cluster, Routes(cluster), [placed])


def tree_of(case: Case) -> Group:
    """How the workers of a case combined their gradients."""
    ranks = tuple(Rank(rank) for rank in range(case.n_workers))
    if case.scheme == "ring":
        return Group(members=ranks, architecture="ring")
    if case.scheme != "two-level":
        return Group(members=ranks, architecture="parameter-server", servers=("top",))
    groups = tuple(
        Group(
            members=tuple(rank for rank in ranks if case.group_of[rank.index] == group),
            architecture="parameter-server",
            servers=(f"aggregator{group}",),
        )
        for group in range(len(case.groups))
    )
    return Group(members=groups, architecture="parameter-server", servers=("top",))


def round_s(plan: Plan) -> float:
    """Median time of a round, the first left out as in the recording, in seconds."""
    (trace,) = simulate(plan, seed=0, replication=0).jobs
    return float(np.median(np.diff(trace.step_end.max(axis=1)))) / TICKS_PER_S


def textbook_s(case: Case) -> float:
    """What is usually written down for a round: the slowest worker, then all bytes at the rate of the slowest link.

    A ring sends 2 (n - 1) / n of the gradient (Patarasuk and Yuan 2009, doi:10.1016/j.jpdc.2008.09.002), a parameter
    server all of it twice, over links shared equally; two levels one after the other.
    """
    frame_mbit = case.gradient_bytes * FRAME_PER_PAYLOAD * 8 / 1e6
    slowest_compute_s = max(case.compute_ms) / 1e3
    if case.scheme == "ring":
        return slowest_compute_s + 2 * (case.n_workers - 1) / case.n_workers * frame_mbit / min(case.link_mbit)
    if case.scheme == "two-level":
        inside = max(case.groups) / min(case.link_mbit)
        across = max(1 / min(case.uplink_mbit), len(case.groups) / case.server_mbit)
        return slowest_compute_s + 2 * frame_mbit * (inside + across)
    return slowest_compute_s + 2 * frame_mbit / min(rate / n for rate, n in case.ports)


def _servers(case: Case) -> tuple[str, ...]:
    if case.scheme == "ring":
        return ()
    inner = tuple(f"aggregator{group}" for group in range(len(case.groups))) if case.scheme == "two-level" else ()
    return ("top", *inner)


def _scenario(case: Case, queue: str, n_steps: int) -> dict[str, object]:
    """The case as the content of a scenario file."""
    workers = [{"name": f"w{rank}", "devices": [{"type": "cpu"}]} for rank in range(case.n_workers)]
    others = [{"name": f"aggregator{group}"} for group in range(len(case.groups))]
    if case.server_mbit:
        others.append({"name": "top"})
    hosts = [{**host, "cpu": CPU, "memory": "1 GB"} for host in [*workers, *others]]
    switches = [f"bridge{group}" for group in range(len(case.groups))]
    return {
        "name": "recorded",
        "cluster": {
            "hosts": hosts,
            "topology": {"kind": "graph", "switches": [*switches, "core"], "links": _links(case, queue)},
        },
        "jobs": [
            {
                "name": "train",
                "compute": [f"{ms!r} ms" for ms in case.compute_ms],
                "gradient": f"{round(waiting_bytes(case) / 4) * 4} B",
                "update": "0 s",
                "workers": case.n_workers,
                "servers": max(1, len(_servers(case))),
                "steps": n_steps,
            }
        ],
    }


def _links(case: Case, queue: str) -> list[dict[str, object]]:
    """Worker to bridge to aggregator to core to server; on a star, worker to core to server."""
    switch_of = [f"bridge{group}" for group in case.group_of] or ["core"] * case.n_workers
    links = [
        (f"w{rank}", switch, rate) for rank, (switch, rate) in enumerate(zip(switch_of, case.link_mbit, strict=True))
    ]
    for group, rate in enumerate(case.uplink_mbit):
        fast = case.link_mbit[case.group_of.index(group)]
        links += [(f"bridge{group}", f"aggregator{group}", fast), (f"aggregator{group}", "core", rate)]
    if case.server_mbit:
        links.append(("core", "top", case.server_mbit))
    return [
        {"between": [a, b], "rate": f"{mbit / FRAME_PER_PAYLOAD!r} Mbit/s", "latency": "0 s", "queue": queue}
        for a, b, mbit in links
    ]
