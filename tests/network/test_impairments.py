"""What qdiscs mean to fluid transfers."""

import math

import pytest

from hetsim.errors import QdiscError
from hetsim.network.impairments import impairment_of
from hetsim.network.qdisc import parse as parse_qdisc

MBIT = 1e6 / 8


def of(text: str):
    return impairment_of(parse_qdisc(text))


def test_a_delay_is_a_latency() -> None:
    found = of("delay 10ms")
    assert found.delay_s == pytest.approx(10e-3, abs=1e-7)
    assert found.jitter_s == found.loss_frac == found.disorder_frac == 0.0


def test_a_rate_is_of_frames() -> None:
    assert of("rate 100mbit").bytes_per_s == pytest.approx(100 * MBIT * 1448 / 1514)
    assert of("tbf rate 100mbit burst 16kb latency 50ms").bytes_per_s == pytest.approx(100 * MBIT * 1448 / 1514)
    assert of("rate 100mbit 20").bytes_per_s == pytest.approx(100 * MBIT * 1448 / 1534)
    # 1514 bytes are 32 cells of 48, each of which occupies 53.
    assert of("rate 100mbit 0 48 5").bytes_per_s == pytest.approx(100 * MBIT * 1448 / (32 * 53))


def test_a_limit_is_not_reached() -> None:
    assert of("delay 100ms limit 100").bytes_per_s == math.inf
    assert of("delay 1ms rate 1mbit limit 1000").bytes_per_s == pytest.approx(MBIT * 1448 / 1514)


def test_jitter_keeps_its_order_only_with_a_rate() -> None:
    ordered = of("delay 10ms 3ms distribution normal rate 1gbit")
    assert (ordered.jitter_s, ordered.disorder_frac) == (pytest.approx(3e-3), 0.0)
    free = of("delay 10ms 3ms distribution normal")
    assert (free.jitter_s, free.disorder_frac) == (0.0, 1.0)
    assert of("delay 10ms 3ms rate 1gbit").jitter_s == pytest.approx(3e-3 / math.sqrt(3))


def test_losses_and_corruption_are_losses() -> None:
    assert of("loss 1%").loss_frac == pytest.approx(0.01)
    assert of("loss 1% corrupt 2%").loss_frac == pytest.approx(1 - 0.99 * 0.98)
    # The kernel's correlated loss is not what it says.
    assert of("loss 5% 25%").loss_frac == pytest.approx(0.0019, abs=1e-4)
    assert of("loss gemodel 1% 10% 70% 0.1%").loss_frac == pytest.approx((0.7 + 10 * 0.001) / 11)


def test_disorder_is_what_overtakes_or_comes_twice() -> None:
    assert of("duplicate 5%").disorder_frac == pytest.approx(0.05)
    assert of("delay 10ms reorder 25%").disorder_frac == pytest.approx(0.25)
    assert of("slot 20ms").disorder_frac == 1.0


def test_a_whole_command_is_taken_too() -> None:
    assert parse_qdisc("tc qdisc add dev eth0 root netem delay 5ms") == parse_qdisc("delay 5ms")
    with pytest.raises(QdiscError, match="no qdisc 'fq_codel'"):
        parse_qdisc("tc qdisc add dev eth0 root fq_codel")


def test_a_negative_overhead_may_leave_nothing() -> None:
    assert of("rate 1gbit -1514").bytes_per_s == math.inf
    assert of("rate 1gbit -3000").bytes_per_s == math.inf
    assert of("rate 1gbit -14").bytes_per_s == pytest.approx(1.25e8 * 1448 / 1500)
