"""Rounds of training over real TCP through real netem, recorded for this project, as effects of the impairment."""

import csv
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from clusters import known_job, placed, plan_of, star

from hetsim.catalog.transports import transports
from hetsim.engine.simulate import simulate
from hetsim.model.aggregation import Group, Rank
from hetsim.model.cluster import Cluster
from hetsim.network.impairments import impairment_of
from hetsim.network.qdisc import parse as parse_qdisc
from hetsim.units import TICKS_PER_S

TABLE = Path(__file__).parent.parent / "data" / "training_netem.csv"

SERVER = "netem rate 200mbit limit 1000"
DELAYED_SERVER = "netem delay 5ms rate 200mbit limit 1000"

QDISCS: Mapping[str, tuple[str, str]] = {
    "tbf100_s200": ("tbf rate 100mbit burst 16kb latency 50ms", "tbf rate 200mbit burst 25kb latency 50ms"),
    "r100_s200": ("netem rate 100mbit limit 1000", SERVER),
    "d5_r100_s200": ("netem delay 5ms rate 100mbit limit 1000", DELAYED_SERVER),
    "d5j2_r100_s200": ("netem delay 5ms 2ms distribution normal rate 100mbit limit 1000", DELAYED_SERVER),
    "d5_loss01_r100_s200": ("netem delay 5ms loss 0.1% rate 100mbit limit 1000", DELAYED_SERVER),
}
"""At both ends of every worker's link, and of the server's, as it was given to tc."""

PLAIN = ("r100_s200", "tbf100_s200")
"""Without delay: what an effect is measured against, the first that has the row."""

LOSSY = "d5_loss01_r100_s200"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One recorded setting."""

    links: str
    scheme: str
    compute_ms: tuple[float, ...]
    gradient_bytes: int
    round_s: float | None

    @property
    def is_large(self) -> bool:
        return self.gradient_bytes == 1_000_000


@functools.cache
def read_cases() -> tuple[Case, ...]:
    with TABLE.open(newline="") as file:
        return tuple(
            Case(
                links=row["links"],
                scheme=row["scheme"],
                compute_ms=tuple(float(text) for text in row["compute_ms"].split()),
                gradient_bytes=int(row["gradient_bytes"]),
                round_s=float(row["round_ms"]) / 1e3 if row["round_ms"] else None,
            )
            for row in csv.DictReader(file)
        )


def chosen(scheme: str, *links: str, is_large: bool = True) -> list[Case]:
    cases = (case for case in read_cases() if case.scheme == scheme and case.links in links)
    return [case for case in cases if case.is_large == is_large]


def plain(case: Case) -> Case:
    """The row of the same training without delay."""
    bases = (replace(case, links=links, round_s=None) for links in PLAIN)
    return next(found for base in bases for found in read_cases() if replace(found, round_s=None) == base)


def cluster_of(links: str) -> Cluster:
    """Four workers and a server around a bridge; the hosts themselves bound nothing."""
    worker, server = ((impairment_of(parse_qdisc(text)),) for text in QDISCS[links])
    bare = star([1e12] * 5)
    ends = {link: server if link.a == "h4" else worker for link in bare.links if link.b == "switch"}
    impaired = (replace(link, from_a=ends.get(link, ()), from_b=ends.get(link, ())) for link in bare.links)
    return replace(bare, links=tuple(impaired))


@functools.cache
def steps_ms(links: str, n_steps: int, transport: str) -> np.ndarray:
    """Steps of asynchronous workers, as many as were recorded."""
    bare = known_job([0.02, 0.05, 0.1, 0.2], [1_000_000], n_steps=n_steps)
    job = replace(bare, transport=transports()[transport])
    members = tuple(Rank(rank) for rank in range(4))
    tree = Group(members=members, architecture="parameter-server", servers=("h4",), sync="async")
    at = replace(placed(job, [f"h{rank}/gpu0" for rank in range(4)], ("h4",)), tree=tree)
    (trace,) = simulate(plan_of(cluster_of(links), at), seed=0, replication=0).jobs
    last = np.sort(trace.step_end.ravel())[n_steps - 1]
    return np.diff(trace.step_end, axis=0, prepend=0)[trace.step_end <= last] / TICKS_PER_S * 1e3


def simulated_s(links: str, scheme: str, compute_ms: tuple[float, ...], gradient_bytes: int, transport: str) -> float:
    """Median round, the first left out."""
    bare = known_job([ms / 1e3 for ms in compute_ms], [gradient_bytes], n_steps=8)
    job = replace(bare, transport=transports()[transport])
    members = tuple(Rank(rank) for rank in range(4))
    servers = () if scheme == "ring" else ("h4",)
    tree = Group(members=members, architecture="ring" if scheme == "ring" else "parameter-server", servers=servers)
    at = replace(placed(job, [f"h{rank}/gpu0" for rank in range(4)], servers), tree=tree)
    (trace,) = simulate(plan_of(cluster_of(links), at), seed=0, replication=0).jobs
    return float(np.median(np.diff(trace.step_end.max(axis=1)))) / TICKS_PER_S


def round_s(case: Case, transport: str = "tcp") -> float:
    return simulated_s(case.links, case.scheme, case.compute_ms, case.gradient_bytes, transport)


def effect_errors(cases: Sequence[Case], transport: str = "tcp") -> np.ndarray:
    """Relative errors of how many times longer a round takes than without delay."""
    return np.array(
        [
            round_s(case, transport) / round_s(plain(case), transport) / (case.round_s / plain(case).round_s) - 1.0
            for case in cases
        ]
    )


def difference_errors(cases: Sequence[Case], transport: str = "tcp") -> np.ndarray:
    """Relative errors of the round that was measured without delay and the difference that is simulated."""
    return np.array(
        [
            (plain(case).round_s + round_s(case, transport) - round_s(plain(case), transport)) / case.round_s - 1.0
            for case in cases
        ]
    )


def test_every_row_is_used_or_named() -> None:
    """Asynchronous rows have no rounds: their steps are used."""
    cases = read_cases()
    assert len(cases) == len(set(cases)) == 24
    asynchronous = [case for case in cases if case.scheme == "asynchronous"]
    assert len(asynchronous) == 3
    assert all((case.round_s is None) == (case in asynchronous) for case in cases)
    used = [
        *chosen("parameter-server", *QDISCS),
        *chosen("ring", *QDISCS),
        *chosen("parameter-server", *QDISCS, is_large=False),
        *chosen("ring", *QDISCS, is_large=False),
    ]
    assert {*used, *asynchronous} == set(cases)
    assert [plain(case).links for case in chosen("parameter-server", "d5_r100_s200")] == ["r100_s200"] * 2
    assert [plain(case).links for case in chosen("ring", "d5_r100_s200", is_large=False)] == ["tbf100_s200"]


def test_a_parameter_server_without_delay() -> None:
    """Not an effect: rounds themselves."""
    cases = [*chosen("parameter-server", *PLAIN), *chosen("parameter-server", *PLAIN, is_large=False)]
    assert len(cases) == 5
    assert [round_s(case) / case.round_s - 1.0 for case in cases] == pytest.approx([0.0] * 5, abs=0.031)


def test_delay_and_jitter_slow_a_parameter_server() -> None:
    """Windows that restart after the computation, and packets that wait for late ones, are more than latency."""
    cases = chosen("parameter-server", "d5_r100_s200", "d5j2_r100_s200")
    ours, naive = effect_errors(cases), effect_errors(cases, "ideal")
    assert len(cases) == 4
    assert np.abs(ours).max() <= 0.08
    assert ours == pytest.approx([0.043, 0.044, -0.011, 0.064], abs=2e-3)
    assert naive == pytest.approx([0.043, -0.107, -0.159, -0.200], abs=2e-3)


def test_delay_slows_a_ring_of_small_messages() -> None:
    cases = chosen("ring", "d5_r100_s200", "d5j2_r100_s200", is_large=False)
    assert effect_errors(cases) == pytest.approx([0.070], abs=2e-3)


def test_rings_of_large_messages_are_held_up_by_the_processor() -> None:
    """Six rounds of four senders on two processors: without delay they take 19 to 42 % longer than links let them.

    So the simulated difference is added to the round that was measured without delay. A known miss all the same: while
    messages are on their way, the processor has time.
    """
    bare = [round_s(case) / case.round_s - 1.0 for case in chosen("ring", *PLAIN)]
    assert bare == pytest.approx([-0.221, -0.298, -0.161], abs=2e-3)
    cases = chosen("ring", "d5_r100_s200", "d5j2_r100_s200")
    assert difference_errors(cases) == pytest.approx([0.090, 0.050], abs=3e-3)


def test_delay_hardly_slows_the_median_step_of_asynchronous_workers() -> None:
    """It slows the one that computes longest, whose windows restart: recorded from 478 to 871 ms, here from 401 to 546.

    The median of all steps was recorded as 267.292 ms with delay and 266.211 ms without. Updates per second, in which
    the slowest worker shows, are 9.0 % off: a known miss.
    """
    effect = 267.292 / 266.211
    errors = {}
    for transport in ("tcp", "ideal"):
        delayed, bare = steps_ms("d5_r100_s200", 45, transport), steps_ms("tbf100_s200", 54, transport)
        errors[transport] = np.median(delayed) / np.median(bare) / effect - 1.0
    assert errors["tcp"] == pytest.approx(0.015, abs=2e-3)
    assert errors["ideal"] == pytest.approx(0.072, abs=2e-3)


def test_losses_slow_every_scheme() -> None:
    """Recorded rows are single short runs with wide quartiles: they are not judged."""
    cases = [case for case in read_cases() if case.links == LOSSY and case.scheme != "asynchronous"]
    assert len(cases) == 5
    for case in cases:
        assert round_s(case) > round_s(replace(case, links="d5_r100_s200"))
