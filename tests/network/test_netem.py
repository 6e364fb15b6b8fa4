"""netem packet by packet: closed forms, what always holds, and what the kernel does where it surprises."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hetsim.errors import HetsimError
from hetsim.network.netem import Chance, GilbertElliott, Netem, StateLoss, correlated_frac
from hetsim.network.netem_text import parse_netem
from hetsim.network.qdisc import Packets, send

N = 100_000


def evenly(n: int, gap_s: float = 1e-3) -> np.ndarray:
    return np.arange(n) * gap_s


def lost_frac(spec: str, n: int = N) -> float:
    return float(send(spec, evenly(n), 1000, seed=1).is_lost.sum() / n)


def test_a_constant_delay_is_added() -> None:
    packets = send("delay 10ms", evenly(5), 1000)
    np.testing.assert_allclose(packets.receive_s, evenly(5) + 0.01, rtol=0, atol=1e-12)
    assert packets.arrival.tolist() == packets.packet.tolist() == [0, 1, 2, 3, 4]


def test_a_rate_queues_and_its_wait_counts_as_delay() -> None:
    # 1000 bytes take 8 ms at 1 Mbit/s; the second waits 7 ms for the first, which is more than its delay of 5 ms.
    packets = send("rate 1mbit delay 5ms", [0.0, 0.001, 0.1], 1000)
    np.testing.assert_allclose(packets.receive_s, [0.013, 0.021, 0.113], atol=1e-9)


def test_the_limit_counts_delayed_packets() -> None:
    # One packet a millisecond and 50 ms of delay: 50 are always on their way, and 20 are all that is taken.
    packets = send("delay 50ms limit 20", evenly(1000), 1000)
    assert packets.is_lost.sum() / 1000 == pytest.approx(0.6, abs=0.01)
    assert send("limit 0", evenly(3), 1000).is_lost.all()


def test_jitter_reorders_without_a_rate_alone() -> None:
    assert np.any(np.diff(send("delay 10ms 5ms", evenly(100), 1000).arrival) < 0)
    assert np.all(np.diff(send("delay 10ms 5ms rate 10mbit", evenly(100), 1000).arrival) == 1)


def test_every_nth_packet_is_reordered_where_the_probability_is_one() -> None:
    packets = send("delay 10ms reorder 100% gap 5", evenly(20), 1000)
    delays_s = packets.receive_s - evenly(20)
    assert np.flatnonzero(delays_s < 1e-9).tolist() == [4, 9, 14, 19]
    assert parse_netem("delay 10ms reorder 100% gap 5").reorder_frac == 0.2


def test_a_slot_lets_all_go_that_wait() -> None:
    # The first packet begins a slot of 20 ms; those of 0 to 20 ms leave together, and the next begins another.
    packets = send("slot 20ms", evenly(50), 1000)
    assert sorted(set(np.round(packets.receive_s, 9).tolist())) == [0.02, 0.041, 0.062]
    three = send("slot 20ms packets 3", evenly(6, 1e-6), 1000)
    np.testing.assert_allclose(three.receive_s, [0.02, 0.02, 0.02, 0.04, 0.04, 0.04], atol=1e-9)
    two = send("slot 20ms bytes 2000", evenly(4, 1e-6), 1000)
    np.testing.assert_allclose(two.receive_s, [0.02, 0.02, 0.04, 0.04], atol=1e-9)


def test_a_negative_delay_is_none() -> None:
    delays_s = send("delay 1ms 10ms", evenly(N), 1000).receive_s - evenly(N)
    assert delays_s.min() >= -1e-9
    spec = parse_netem("delay 1ms 10ms")
    assert delays_s.mean() == pytest.approx(spec.mean_delay_s, rel=0.02)


@pytest.mark.parametrize("name", ["normal", "pareto", "paretonormal"])
def test_the_mean_delay_is_that_of_the_table(name: str) -> None:
    spec = f"delay 5ms 3ms distribution {name}"
    delays_s = send(spec, evenly(N), 1000).receive_s - evenly(N)
    assert delays_s.mean() == pytest.approx(parse_netem(spec).mean_delay_s, rel=0.01)


@pytest.mark.parametrize(
    "spec",
    [
        "loss 3%",
        "loss 20% 30%",
        "loss 60% 70%",
        "loss state 5% 30% 20% 40% 2%",
        "loss state 2%",
        "loss state 0% 30% 0% 0% 10%",
        "loss gemodel 2% 20% 60% 1%",
        "loss gemodel 5%",
        "loss 10% duplicate 30%",
    ],
)
def test_the_stated_loss_is_what_comes_out(spec: str) -> None:
    stated = parse_netem(spec).loss_frac
    assert lost_frac(spec) == pytest.approx(stated, abs=12 * math.sqrt(stated / N))


def test_chains_have_their_closed_forms() -> None:
    assert GilbertElliott(p=0.01, r=0.1, bad_frac=0.7, good_frac=0.001).frac == pytest.approx(0.7 / 11 + 0.01 / 11)
    assert StateLoss(p13=0.1, p31=0.4).frac == pytest.approx(0.2)
    assert StateLoss(p13=0.0, p31=1.0, p14=0.25).frac == pytest.approx(0.2)
    assert StateLoss(p13=0.1, p31=0.0).frac == pytest.approx(1.0)
    # pi3 p31 = pi1 p13, pi2 p23 = pi3 p32, pi4 = pi1 p14.
    pi = np.array([1.0, 0.05 / 0.3 * 0.2 / 0.4, 0.05 / 0.3, 0.02])
    assert StateLoss(p13=0.05, p31=0.3, p32=0.2, p23=0.4, p14=0.02).frac == pytest.approx(pi[2:].sum() / pi.sum())
    # The kernel adds p13 and p14 in 32 bits: one half and one half, both rounded up, are nothing.
    assert StateLoss(p13=0.5, p31=0.5, p14=0.5).frac == pytest.approx(1 / 3)
    assert lost_frac("loss state 50% 50% 0% 100% 50%") == pytest.approx(1 / 3, abs=0.01)


@pytest.mark.parametrize("correlation_frac", [0.01, 0.3, 0.5, 0.8])
def test_a_correlated_number_is_a_weighted_sum_of_uniform_ones(correlation_frac: float) -> None:
    r = correlation_frac
    values = [correlated_frac(p, r) for p in np.linspace(0.05, 0.95, 19)]
    assert np.all(np.diff(values) > 0.0)
    np.testing.assert_allclose(values, 1.0 - np.array(values[::-1]), atol=1e-7)
    number = np.random.default_rng(0).random(N)
    for _ in range(math.ceil(math.log(1e-6) / math.log(r))):
        number = (1 - r) * np.random.default_rng(int(number[0] * 1e9)).random(N) + r * number
    assert (number <= 0.3).mean() == pytest.approx(correlated_frac(0.3, r), abs=5 * math.sqrt(0.25 / N))


def test_one_half_correlated_has_a_closed_form() -> None:
    # The sum of uniform numbers over 2, 4, 8, ... has the Fabius function, which is 5/72 at 1/4
    # (Fabius 1966, doi:10.1007/BF00536652).
    assert correlated_frac(0.25, 0.5) == pytest.approx(5 / 72, abs=1e-8)
    assert correlated_frac(0.3, 0.0) == 0.3
    assert correlated_frac(0.3, 1.0) == 0.3
    assert correlated_frac(0.44, 0.99) == pytest.approx(correlated_frac(0.44, 0.9900001), rel=1e-3)


def test_duplicates_come_anew_and_losses_of_doubles_come_once() -> None:
    packets = send("loss 20% duplicate 30% delay 10ms 5ms", evenly(N), 1000)
    stated = parse_netem("loss 20% duplicate 30%")
    assert packets.is_lost.sum() / N == pytest.approx(stated.loss_frac, abs=0.005)
    assert packets.is_copy.sum() / N == pytest.approx(stated.duplicate_frac, abs=0.005)
    first, second = packets.packet[packets.is_copy], np.flatnonzero(packets.is_copy)
    assert np.all(packets.packet[second - 1] == first)
    assert np.all(packets.receive_ns[second] >= packets.receive_ns[second - 1])
    assert np.corrcoef(packets.receive_ns[second] - packets.receive_ns[second - 1], first)[0, 1] < 0.05
    assert np.mean(packets.receive_ns[second] == packets.receive_ns[second - 1]) < 0.01


def test_correlation_of_duplicates_needs_another_one() -> None:
    # tc leaves it out of its message to the kernel unless some other correlation is there.
    assert parse_netem("duplicate 5% 50%").duplicate == Chance(0.05)
    assert parse_netem("duplicate 5% 50% loss 1% 0%").duplicate == Chance(0.05, 0.5)


def test_corrupt_packets_are_marked_as_such() -> None:
    packets = send("corrupt 10%", evenly(N), 1000)
    assert packets.is_corrupt.mean() == pytest.approx(0.1, abs=0.005)


def test_ecn_marks_what_can_be_marked() -> None:
    can = np.arange(N) % 2 == 0
    packets = send("loss 20% ecn", evenly(N), 1000, can_be_marked=can)
    assert not np.any(packets.is_lost & can[packets.packet])
    assert np.mean(packets.is_marked[can]) == pytest.approx(0.2, abs=0.01)
    assert np.mean(packets.is_lost[~can]) == pytest.approx(0.2, abs=0.01)
    assert parse_netem("loss 20% ecn").loss_frac == pytest.approx(0.2)


def test_a_draw_depends_on_its_packet_and_key_alone() -> None:
    spec = "delay 50ms 10ms loss 5%"
    long = send(spec, evenly(1000), 1000, seed=2)
    short = send(spec, evenly(500), 1000, seed=2)
    np.testing.assert_array_equal(long.receive_ns[:500], short.receive_ns)
    order = np.random.default_rng(0).permutation(1000)
    mixed = send("delay 50ms 10ms", evenly(1000)[order], 1000, seed=2)
    assert not np.array_equal(mixed.receive_ns, long.receive_ns)
    lossless = send("delay 50ms 10ms", evenly(1000), 1000, seed=2)
    both = ~long.is_lost
    np.testing.assert_array_equal(lossless.receive_ns[both], long.receive_ns[both])
    for other in (
        send(spec, evenly(1000), 1000, seed=3),
        send(spec, evenly(1000), 1000, seed=2, replication=1),
        send(spec, evenly(1000), 1000, seed=2, stream=7),
        send(f"{spec} seed 5", evenly(1000), 1000, seed=2),
    ):
        assert np.mean(other.receive_ns == long.receive_ns) < 0.1
    fixed = [send(f"{spec} seed 5", evenly(100), 1000, seed=seed).receive_ns for seed in (1, 2)]
    np.testing.assert_array_equal(*fixed)


@st.composite
def specs(draw: st.DrawFn) -> str:
    """Options in any number and order that go together."""
    percent = st.integers(0, 100).map(lambda p: f"{p}%")
    parts = [f"limit {draw(st.integers(0, 30))}"]
    if draw(st.booleans()):
        parts.append(f"delay {draw(st.integers(1, 30))}ms {draw(st.integers(0, 40))}ms {draw(percent)}")
        if draw(st.booleans()):
            parts.append(f"reorder {draw(percent)} {draw(percent)}")
    if draw(st.booleans()):
        parts.append(
            f"rate {draw(st.integers(100, 10_000))}kbit {draw(st.integers(-20, 40))} {draw(st.integers(0, 99))}"
        )
    loss = ("loss {} {}", "loss state {} {} {} {} {}", "loss gemodel {} {} {} {}")[draw(st.integers(0, 2))]
    parts.append(loss.format(*(draw(percent) for _ in range(5))))
    parts.append(f"duplicate {draw(percent)} corrupt {draw(percent)}")
    if draw(st.booleans()):
        parts.append(
            f"slot {draw(st.integers(1, 20))}ms {draw(st.integers(20, 40))}ms packets {draw(st.integers(0, 9))}"
        )
    return " ".join(draw(st.permutations(parts)))


@given(specs(), st.lists(st.integers(0, 20_000), min_size=1, max_size=60), st.integers(0, 2**32))
@settings(max_examples=150, deadline=None)
def test_what_always_holds(spec: str, gaps_us: list[int], seed: int) -> None:
    send_s = np.cumsum(gaps_us) * 1e-6
    sizes = 60 + np.arange(send_s.size) * 7919 % 1455
    packets, netem = send(spec, send_s, sizes, seed=seed), parse_netem(spec)
    check_rows(packets, send_s.size)
    arrived = ~packets.is_lost
    send_ns = np.rint(send_s * 1e9).astype(np.int64)
    assert np.all(packets.receive_ns[arrived] >= send_ns[packets.packet[arrived]])
    check_limit(packets, send_ns, netem.limit_packets)
    if netem.rate_bytes_per_s and not netem.gap_packets and not netem.duplicate.probability_frac:
        check_rate(packets, sizes, netem)
    again = send(spec, send_s, sizes, seed=seed)
    assert all(np.array_equal(getattr(packets, name), getattr(again, name)) for name in packets.__slots__)


def check_rows(packets: Packets, n: int) -> None:
    """Every packet is delivered, delivered twice or lost."""
    n_rows = np.bincount(packets.packet, minlength=n)
    assert set(n_rows.tolist()) <= {1, 2}
    assert packets.is_copy.sum() == (n_rows == 2).sum()
    assert not np.any(packets.is_copy & packets.is_lost)
    n_arrived = int((~packets.is_lost).sum())
    assert sorted(packets.arrival[~packets.is_lost].tolist()) == list(range(n_arrived))
    by_rank = packets.receive_ns[~packets.is_lost][np.argsort(packets.arrival[~packets.is_lost])]
    assert np.all(np.diff(by_rank) >= 0)


def check_limit(packets: Packets, send_ns: np.ndarray, limit: int) -> None:
    arrived = ~packets.is_lost
    came, left = send_ns[packets.packet[arrived]], packets.receive_ns[arrived]
    for now in send_ns:
        assert np.sum((came <= now) & (left > now)) <= limit


def check_rate(packets: Packets, sizes: np.ndarray, netem: Netem) -> None:
    """In order, and never more bytes in a time than the rate allows; slots only make it later and closer."""
    order = np.argsort(packets.arrival[~packets.is_lost])
    packet, receive_ns = packets.packet[~packets.is_lost][order], packets.receive_ns[~packets.is_lost][order]
    assert np.all(np.diff(packet) > 0)
    if netem.slot is None and not netem.jitter_s:
        n_bytes = sizes[packet] + netem.packet_overhead_bytes
        if netem.cell_bytes:
            n_bytes = -(-n_bytes // netem.cell_bytes) * netem.cell_bytes
        assert np.all(np.diff(receive_ns) >= np.floor(n_bytes[1:] * 1e9 / netem.rate_bytes_per_s) - 1)


@pytest.mark.parametrize(
    ("t_send_s", "size", "message"),
    [([math.nan], 1, "send times"), ([1e20], 1, "send times"), ([[0.0]], 1, "send times"), ([0.0], -1, "sizes")],
)
def test_what_cannot_be_sent_is_refused(t_send_s: list[float], size: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        send("delay 1ms", t_send_s, size)


def test_nothing_sent_is_nothing_received() -> None:
    assert send("delay 1ms", [], []).packet.size == 0
    assert send("tbf rate 1mbit burst 10kb limit 10kb", [], []).packet.size == 0


def test_times_beyond_the_clock_are_refused() -> None:
    with pytest.raises(HetsimError, match="more than 146 years"):
        send("rate 1bps", [0.0, 1.0, 2.0], 4294967295)
    with pytest.raises(HetsimError, match="more than 146 years"):
        send("tbf rate 8bit burst 10kb limit 1gb", [0.0] * 1000, 100_000_000)
