"""NCCL and Gloo on AWS under delay and rate of tc netem, measured by others, against what is predicted.

Constants of both transports were fitted to the first of two runs (fit_transports.py), so its honest errors are those of
rows left out; the second run had no part in the fit. Bars are those that the model was made for; where it does much
better, the figure is pinned beside it.
"""

import functools
import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from clusters import known_job, placed, plan_of, star
from validation.fit_transports import (
    FLOW_BYTES_PER_S,
    NIC_BYTES_PER_S,
    PAYLOAD_PER_FRAME,
    ROWS,
    Formula,
    Row,
    delayed_messages,
    errors_left_out,
    fit,
    gloo_s,
    limited_all_reduces,
    message_s,
    nccl_s,
)

from hetsim.catalog.transports import transports
from hetsim.engine.simulate import simulate
from hetsim.model.aggregation import Group, Rank
from hetsim.model.cluster import Cluster
from hetsim.model.impairment import Impairment
from hetsim.units import TICKS_PER_S

COMPUTE_S = 1e-6

DATA_PARALLEL = (
    Row("nccl", "all-reduce", 4, 256, 1, 5, 710),
    Row("nccl", "central", 4, 256, 1, 5, 1090),
    Row("nccl", "sharded", 4, 256, 1, 5, 800),
    Row("nccl", "all-reduce", 4, 256, 5, 2, 1770),
    Row("nccl", "central", 4, 256, 5, 2, 2860),
    Row("nccl", "sharded", 4, 256, 5, 2, 2350),
    Row("nccl", "all-reduce", 4, 256, 10, 1, 4060),
    Row("nccl", "central", 4, 256, 10, 1, 5550),
    Row("nccl", "sharded", 4, 256, 10, 1, 4230),
    Row("nccl", "all-reduce", 4, 256, 50, 1, 7570),
    Row("nccl", "central", 4, 256, 50, 1, 6650),
    Row("nccl", "sharded", 4, 256, 50, 1, 4770),
)
"""The same authors' run "Simulate_DP": ring, one parameter server on a node, one on each. Its ring takes 7 to 23 %
longer than the same rows of the first, and its central server was NCCL's reduce and broadcast, which pass along a chain
where a server receives from all: so only orders are compared."""


def cluster_of(row: Row) -> Cluster:
    """A star; netem acts on what leaves a node."""
    bare = star([NIC_BYTES_PER_S] * row.n_nodes)
    leaving = Impairment(delay_s=row.delay_s, bytes_per_s=row.rate_gbit * 1e9 / 8 * PAYLOAD_PER_FRAME)
    links = (replace(link, from_a=(leaving,)) if link.b == "switch" else link for link in bare.links)
    return replace(bare, links=tuple(links))


@functools.cache
def simulated_s(row: Row) -> float:
    """What the engine makes of a row."""
    n_workers = 1 if row.operation == "message" else row.n_nodes
    hosts = {"all-reduce": (), "message": ("h1",), "central": ("h0",)}.get(
        row.operation, tuple(f"h{node}" for node in range(row.n_nodes))
    )
    bare = known_job([COMPUTE_S] * n_workers, [int(row.n_bytes)], n_servers=len(hosts))
    job = replace(bare, transport=replace(transports()[row.transport], stream_bytes_per_s=FLOW_BYTES_PER_S))
    members = tuple(Rank(rank) for rank in range(n_workers))
    tree = Group(members=members, architecture="ring")
    if hosts:
        tree = Group(members=members, architecture="parameter-server", servers=hosts, sharding="even")
    at = replace(placed(job, [f"h{rank}/gpu0" for rank in range(n_workers)], hosts), tree=tree)
    (trace,) = simulate(plan_of(cluster_of(row), at), seed=0, replication=0).jobs
    s = float(trace.step_end.max()) / TICKS_PER_S - COMPUTE_S
    return s / 2 if row.operation == "message" else s  # a pull, then a push of as many bytes


def errors(rows: Sequence[Row]) -> np.ndarray:
    return np.array([simulated_s(row) * 1e3 / row.time_ms - 1.0 for row in rows])


def native(transport: str) -> list[Row]:
    rows = (row for row in ROWS if row.transport == transport and row.operation == "all-reduce")
    return [row for row in rows if not row.is_limited]


def messages(transport: str) -> list[Row]:
    return [row for row in ROWS if row.transport == transport and row.operation == "message"]


def test_every_row_is_predicted_below() -> None:
    parts = {name: (limited_all_reduces(name), native(name), messages(name)) for name in ("nccl", "gloo")}
    assert {name: [len(rows) for rows in part] for name, part in parts.items()} == {
        "nccl": [12, 4, 7],
        "gloo": [9, 1, 7],
    }
    assert len(ROWS) == len(set(ROWS)) == 40
    assert np.abs(errors(ROWS)).max() <= 0.15


def test_all_reduces_of_nccl_at_limited_rates() -> None:
    rows = limited_all_reduces("nccl")
    bare = np.array([row.ring_s * 1e3 / row.time_ms - 1.0 for row in rows])
    assert np.abs(errors(rows)).mean() <= 0.015
    assert np.abs(errors(rows)).max() <= 0.003
    assert np.abs(bare).mean() == pytest.approx(0.0246, abs=1e-4)
    # With a delay for each message: not enough at four nodes, too much at eight.
    delayed = [(row.ring_s + 2 * (row.n_nodes - 1) * row.delay_s) * 1e3 / row.time_ms - 1.0 for row in rows]
    assert np.abs(delayed).mean() == pytest.approx(0.0129, abs=1e-4)
    assert max(delayed) == pytest.approx(0.041, abs=1e-3)


def test_all_reduces_of_nccl_at_native_rates_are_predicted_too_short() -> None:
    """The instances' rate is not known, only that it is up to 10 Gbit/s; of a message by itself 9.8 were seen."""
    assert errors(native("nccl")) == pytest.approx([-0.068, -0.101, -0.084, -0.141], abs=1e-3)


def test_all_reduces_of_gloo() -> None:
    rows = limited_all_reduces("gloo")
    # The best that a constant factor on the ring term can do.
    ratios = np.array([row.time_ms / 1e3 / row.ring_s for row in rows])
    factors = np.arange(1.4, 2.0, 0.01)
    means = [np.abs(factor / ratios - 1.0).mean() for factor in factors]
    assert min(means) == pytest.approx(0.0875, abs=1e-3)
    assert np.abs(errors(rows)).mean() <= 0.08
    assert np.abs(errors(rows)).max() <= 0.03
    assert np.abs(errors(native("gloo"))).max() <= 0.01


def test_messages_by_themselves() -> None:
    for transport, worst in (("nccl", 0.102), ("gloo", 0.048)):
        rows = messages(transport)
        assert np.abs(errors(rows)).mean() <= 0.03
        assert np.abs(errors(rows)).max() == pytest.approx(worst, abs=1e-3)


def test_the_catalog_has_the_constants_that_fit() -> None:
    nccl, gloo = transports()["nccl"], transports()["gloo"]
    efficiency_frac, pass_rtts = fit(nccl_s, limited_all_reduces("nccl"), 2)
    assert nccl.efficiency_frac == round(efficiency_frac, 4)
    assert nccl.pass_rtts == round(pass_rtts, 3)
    (step_bytes,) = fit(gloo_s, limited_all_reduces("gloo"), 1)
    assert gloo.step_bytes == round(step_bytes, -6)
    # Set by hand.
    assert nccl.message_rtts == pytest.approx(fit(message_s, delayed_messages("nccl"), 1)[0], abs=0.1)
    assert gloo.message_rtts == pytest.approx(fit(message_s, delayed_messages("gloo"), 1)[0], abs=0.15)


def test_the_engine_does_what_was_fitted() -> None:
    nccl, gloo = transports()["nccl"], transports()["gloo"]
    for row in limited_all_reduces("nccl"):
        predicted_s = nccl_s(row, (nccl.efficiency_frac, nccl.pass_rtts))
        predicted_s += 2 * (row.n_nodes - 1) * nccl.message_s
        assert simulated_s(row) == pytest.approx(predicted_s, rel=1e-6)
    for row in limited_all_reduces("gloo"):
        assert simulated_s(row) == pytest.approx(gloo_s(row, (gloo.step_bytes,)), rel=1e-6)
    for row in (*messages("nccl"), *messages("gloo")):
        transport = transports()[row.transport]
        predicted_s = message_s(row, (transport.message_rtts,)) + transport.message_s
        assert simulated_s(row) == pytest.approx(predicted_s, rel=1e-6)


@pytest.mark.parametrize(
    ("formula", "rows", "n_constants", "mean", "worst"),
    [
        (nccl_s, limited_all_reduces("nccl"), 2, 0.0009, 0.0023),
        (gloo_s, limited_all_reduces("gloo"), 1, 0.0158, 0.0333),
        (message_s, delayed_messages("nccl"), 1, 0.0771, 0.1021),
        (message_s, delayed_messages("gloo"), 1, 0.0382, 0.0593),
    ],
)
def test_rows_left_out_of_the_fit(
    formula: Formula, rows: Sequence[Row], n_constants: int, mean: float, worst: float
) -> None:
    left_out = np.abs(errors_left_out(formula, rows, n_constants))
    assert left_out.mean() == pytest.approx(mean, abs=1e-4)
    assert left_out.max() == pytest.approx(worst, abs=1e-4)


@pytest.mark.parametrize(("delay_ms", "n_pairs"), [(1, 3), (5, 3), (10, 2), (50, 3)])
def test_the_order_of_ring_and_parameter_servers(delay_ms: float, n_pairs: int) -> None:
    """Wherever the measured gap is more than 10 %; at 50 ms one server is faster than a ring, and sharding fastest."""
    rows = sorted((row for row in DATA_PARALLEL if row.delay_ms == delay_ms), key=lambda row: row.time_ms)
    apart = [(a, b) for a, b in itertools.combinations(rows, 2) if b.time_ms > 1.1 * a.time_ms]
    assert len(apart) == n_pairs
    for faster, slower in apart:
        assert simulated_s(faster) < simulated_s(slower)
