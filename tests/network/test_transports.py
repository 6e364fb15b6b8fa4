"""Formulas of transports, by hand."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hetsim.catalog.transports import parse_transport, transports
from hetsim.errors import CatalogError
from hetsim.model.transport import IDEAL, Domain, Transport
from hetsim.network.conditions import Conditions
from hetsim.network.transports import (
    INITIAL_SEGMENTS,
    latency_s,
    loss_cap_bytes_per_s,
    outside,
    rate_cap_bytes_per_s,
    restarted_bytes_per_s,
    slow_start_s,
)

MSS = 1448.0
TCP = Transport(name="tcp", window_bytes=3e6, loss="mathis", restarts=True)


def conditions(rate=12.5e6, rtt_s=20e-3, loss_frac=0.0) -> Conditions:
    return Conditions(
        latency_s=rtt_s / 2, rtt_s=rtt_s, steady_rtt_s=rtt_s, bytes_per_s=rate, loss_frac=loss_frac, disorder_frac=0.0
    )


def test_ideal_pays_the_way_and_nothing_else() -> None:
    found = conditions(loss_frac=0.5)
    for role in ("lone", "first", "next", "hop"):
        assert latency_s(IDEAL, found, 1e9, role) == 10e-3
        assert rate_cap_bytes_per_s(IDEAL, found, role) == math.inf
    assert restarted_bytes_per_s(IDEAL, found, 1e9, 100.0) == math.inf


def test_the_catalog_has_the_same_ideal() -> None:
    assert replace(transports()["ideal"], source="") == replace(IDEAL, source="")


def test_a_window_is_sent_in_a_round_trip() -> None:
    assert rate_cap_bytes_per_s(TCP, conditions(), "lone") == 3e6 / 20e-3
    assert rate_cap_bytes_per_s(replace(TCP, n_streams=4), conditions(), "lone") == 4 * 3e6 / 20e-3
    assert rate_cap_bytes_per_s(TCP, conditions(rtt_s=0.0), "lone") == math.inf
    passes = replace(TCP, pass_window_bytes=1e6)
    assert rate_cap_bytes_per_s(passes, conditions(), "next") == 1e6 / 20e-3
    assert rate_cap_bytes_per_s(passes, conditions(), "lone") == 3e6 / 20e-3
    assert rate_cap_bytes_per_s(replace(TCP, stream_bytes_per_s=1e6, n_streams=2), conditions(), "hop") == 2e6


def test_losses_of_mathis() -> None:
    # MSS / RTT sqrt(3 / (2 p)): at 1 % 12.25 segments a round trip.
    assert loss_cap_bytes_per_s(TCP, conditions(loss_frac=0.01)) == pytest.approx(12.247449 * MSS / 20e-3)
    assert loss_cap_bytes_per_s(TCP, conditions()) == math.inf
    assert loss_cap_bytes_per_s(TCP, conditions(loss_frac=1.0)) == 0.0


def test_losses_of_pftk_are_those_of_mathis_without_timeouts() -> None:
    pftk = replace(TCP, loss="pftk")
    few, many = conditions(loss_frac=1e-8), conditions(loss_frac=0.1)
    # With b = 2 segments an acknowledgement: sqrt(3 / (4 p)).
    assert loss_cap_bytes_per_s(pftk, few) == pytest.approx(MSS / 20e-3 * math.sqrt(3 / 4e-8), rel=1e-3)
    root = 20e-3 * math.sqrt(4 * 0.1 / 3)
    timeouts = 0.22 * min(1, 3 * math.sqrt(3 * 0.1 / 4)) * 0.1 * (1 + 32 * 0.01)
    assert loss_cap_bytes_per_s(pftk, many) == pytest.approx(MSS / (root + timeouts))


def test_losses_of_go_back_n() -> None:
    rdma = Transport(name="rdma", loss="go-back-n", segment_bytes=4096.0)
    # 4096-byte packets at 4.096 GB/s and 100 us are 100 in flight: each loss sends 100 again.
    found = conditions(rate=4.096e9, rtt_s=1e-4, loss_frac=0.01)
    assert loss_cap_bytes_per_s(rdma, found) == pytest.approx(4.096e9 * 0.99 / (0.99 + 1.0))


def test_messages_pay_by_their_role() -> None:
    nccl = Transport(name="nccl", latency="pipelined", message_rtts=2.0, pass_rtts=1.0, message_s=1e-6)
    found = conditions()
    assert latency_s(nccl, found, 1e6, "lone") == pytest.approx(10e-3 + 40e-3 + 1e-6)
    assert latency_s(nccl, found, 1e6, "first") == pytest.approx(20e-3 + 1e-6)
    assert latency_s(nccl, found, 1e6, "next") == 1e-6
    assert latency_s(nccl, found, 1e6, "hop") == pytest.approx(10e-3 + 1e-6)
    gloo = Transport(name="gloo", step_bytes=1e6)
    assert latency_s(gloo, found, 3e6, "next") == pytest.approx(10e-3 + 3 * 20e-3)
    assert latency_s(gloo, found, 3e6, "lone") == pytest.approx(10e-3)


def test_slow_start_doubles_each_round_trip() -> None:
    first = INITIAL_SEGMENTS * MSS
    # A way that holds eight first windows: three round trips with 1 + 2 + 4 of them, which full rate sends in 7/8.
    found = conditions(rate=8 * first / 20e-3)
    assert slow_start_s(IDEAL, found, 1e9) == pytest.approx(3 * 20e-3 - 7 / 8 * 20e-3)
    assert slow_start_s(IDEAL, found, first) == 0.0
    cold = Transport(name="cold", latency="cold")
    assert latency_s(cold, found, 1e9, "lone") == pytest.approx(10e-3 + 20e-3 + 3 * 20e-3 - 7 / 8 * 20e-3)


def test_a_connection_that_was_idle_begins_at_half_of_the_way() -> None:
    found = conditions()
    full = 12.5e6
    assert restarted_bytes_per_s(TCP, found, 1e5, 0.1) == math.inf
    assert restarted_bytes_per_s(replace(TCP, restarts=False), found, 1e5, 1.0) == math.inf
    short = restarted_bytes_per_s(TCP, found, 1e5, 0.22)
    assert full / 2 <= short < 0.52 * full
    # CUBIC: half of what fills the way is 86 segments; they double in (86 / 0.4)^(1/3) = 6 s, Reno's way in 3.3 s.
    assert short < restarted_bytes_per_s(TCP, found, 1e7, 0.22) < full
    assert restarted_bytes_per_s(TCP, conditions(rtt_s=1e-4), 1e7, 1.0) == math.inf


@given(st.floats(1e5, 1e10), st.floats(1e-6, 1.0), st.floats(1.0, 1e10), st.floats(0.0, 1.0))
def test_caps_and_latencies_are_numbers(rate: float, rtt_s: float, n_bytes: float, loss_frac: float) -> None:
    found = conditions(rate, rtt_s, loss_frac)
    for transport in [*transports().values(), replace(TCP, loss="pftk"), replace(TCP, latency="cold")]:
        for role in ("lone", "first", "next", "hop"):
            assert rate_cap_bytes_per_s(transport, found, role) >= 0.0
            assert math.isfinite(latency_s(transport, found, n_bytes, role))
        assert restarted_bytes_per_s(transport, found, n_bytes, 10.0) > 0.0


def test_what_lies_outside_is_named_with_its_range() -> None:
    domain = Domain(rtt_s=(0.0, 0.01), message_bytes=(1e6, 1e8), loss_frac=(0.0, 0.001))
    measured = Transport(name="x", loss="mathis", domain=domain)
    complaints = dict(outside(measured, conditions(loss_frac=0.01), 1e9))
    assert complaints == {
        "round trip": "round trip 20 ms, measured from 0 s to 10 ms",
        "size": "size 1 GB, measured from 1 MB to 100 MB",
        "loss": "loss 1.000%, measured up to 0.100%",
    }
    assert list(outside(measured, conditions(rtt_s=0.005), 1e7)) == []
    disordered = replace(conditions(rtt_s=0.005), disorder_frac=0.25)
    assert dict(outside(measured, disordered, 1e7)).keys() == {"disorder"}


class _Row:
    """A row of the catalog with one cell changed."""

    def __init__(self, **changed: str) -> None:
        from hetsim.catalog.rows import Row
        from hetsim.catalog.tables import rows_of
        from hetsim.catalog.transports import TRANSPORT_COLUMNS

        (row,) = (row for row in rows_of("transports.csv", TRANSPORT_COLUMNS) if row.text("name") == "tcp")
        cells = {column: row.text(column) for column in TRANSPORT_COLUMNS} | changed
        self.row = Row("transports.csv", 9, cells)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"efficiency_frac": "1.1"}, "efficiency_frac 1.1 is above one"),
        ({"latency": "warm"}, "no latency 'warm'. Known: stepwise, pipelined, cold"),
        ({"loss": "some"}, "no loss 'some'. Known: none, mathis, pftk, go-back-n"),
        ({"rtt_s": "1"}, "rtt_s '1' is not a range of two numbers"),
        ({"rtt_s": "2 1"}, "rtt_s '2 1' is not a range from zero or more up"),
        ({"window_bytes": "wide"}, "window_bytes 'wide' is not a number"),
    ],
)
def test_a_malformed_row_is_named(changed: dict[str, str], message: str) -> None:
    with pytest.raises(CatalogError, match=r"^transports.csv:9: ") as caught:
        parse_transport(_Row(**changed).row)
    assert str(caught.value).endswith(message)
