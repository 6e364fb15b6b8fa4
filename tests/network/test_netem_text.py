"""The text of a `tc` command, as tc reads it, and what is said where it is wrong."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hetsim.errors import QdiscError, TraceError
from hetsim.network import distributions, tc_units
from hetsim.network.netem import Chance, GilbertElliott, Netem, Slot, StateLoss, tick_ns, units
from hetsim.network.netem_text import parse_netem
from hetsim.network.qdisc import parse
from hetsim.network.tbf import Tbf, parse_tbf


@pytest.mark.parametrize(
    ("text", "netem"),
    [
        ("netem", Netem()),
        ("netem limit 1k", Netem(limit_packets=1024)),
        ("delay 50ms 10ms 25%", Netem(delay_s=0.05, jitter_s=0.01, delay_correlation_frac=0.25)),
        ("latency 200", Netem(delay_s=0.0002)),
        ("del 1S 5MSEC", Netem(delay_s=1.0, jitter_s=0.005)),
        ("delay 10ms 2ms delay 20ms", Netem(delay_s=0.02, jitter_s=0.002)),
        ("delay 10ms 2ms distribution pareto", Netem(delay_s=0.01, jitter_s=0.002, distribution="pareto")),
        ("loss 1", Netem(loss=Chance(0.01))),
        ("drop random 1% 20%", Netem(loss=Chance(0.01, 0.2))),
        ("loss state 1%", Netem(loss=StateLoss(p13=0.01, p31=0.99))),
        (
            "loss state 1% 30% 20% 40% 2%",
            Netem(loss=StateLoss(p13=0.01, p31=0.3, p32=0.2, p23=0.4, p14=0.02)),
        ),
        ("loss gemodel 1%", Netem(loss=GilbertElliott(p=0.01, r=0.99))),
        (
            "loss gemodel 1% 10% 70% 0.1%",
            Netem(loss=GilbertElliott(p=0.01, r=0.1, bad_frac=0.7, good_frac=0.001)),
        ),
        (
            "delay 10ms reorder 25% 50%",
            Netem(delay_s=0.01, reorder=Chance(0.25, 0.5), gap_packets=1),
        ),
        ("gap 5 reorder 25% delay 1ms", Netem(delay_s=0.001, reorder=Chance(0.25), gap_packets=5)),
        ("corrupt 1% 2% duplicate 3% 4%", Netem(corrupt=Chance(0.01, 0.02), duplicate=Chance(0.03, 0.04))),
        ("rate 10mbit", Netem(rate_bytes_per_s=1.25e6)),
        (
            "rate 1mbps -14 48 5",
            Netem(rate_bytes_per_s=1e6, packet_overhead_bytes=-14, cell_bytes=48, cell_overhead_bytes=5),
        ),
        ("slot 20ms", Netem(slot=Slot(min_delay_s=0.02, max_delay_s=0.02))),
        (
            "slot 5ms 15ms packets 5 bytes 9kb",
            Netem(slot=Slot(min_delay_s=0.005, max_delay_s=0.015, n_packets=5, n_bytes=9216)),
        ),
        (
            "slot distribution normal 5ms 1ms",
            Netem(slot=Slot(distribution="normal", delay_s=0.005, jitter_s=0.001)),
        ),
        ("loss 1% ecn seed 18446744073709551615", Netem(loss=Chance(0.01), ecn=True, seed=2**64 - 1)),
        ("tc qdisc add dev eth0 root handle 1: netem delay 5ms", Netem(delay_s=0.005)),
        ("tc qdisc replace dev lo parent 1:1 netem delay 5ms", Netem(delay_s=0.005)),
        ("qdisc change dev lo root netem", Netem()),
    ],
)
def test_texts(text: str, netem: Netem) -> None:
    assert parse_netem(text) == netem
    assert parse(text) == netem


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("", [(0, "the text is empty")]),
        ("dely 5ms", [(1, "no option 'dely'; did you mean 'delay'? Known: limit, latency, delay,")]),
        ("delay 5xs loss 101%", [(7, "'5xs' has the unknown unit 'xs'"), (16, "'101%' is more than 100%")]),
        ("delay loss 1%", [(1, "'delay' needs a time, such as 50ms")]),
        ("delay 5ms 1ms 10% 7", [(19, "no option '7'")]),
        ("delay -5ms", [(7, "'-5ms' is negative")]),
        ("delay 1e400s", [(7, "'1e400s' is not finite")]),
        ("delay 300s", [(1, "netem can delay by 274.877906 s at most")]),
        ("loss 1% loss 2%", [(9, "a second loss")]),
        ("loss stat 1%", [(6, "no model of loss 'stat'; did you mean 'state'? Known: random, state, gemodel")]),
        ("loss gemodel", [(1, "'loss' needs a percentage")]),
        ("reorder 5%", [(1, "reordering needs a delay")]),
        ("gap 5", [(1, "a gap needs a probability")]),
        ("ecn", [(1, "ecn marks packets that would be lost")]),
        ("delay 5ms distribution normal", [(11, "a distribution needs a delay and a jitter")]),
        ("delay 5ms 1ms distribution experimental", [(28, "'experimental' is a table of measurements")]),
        ("delay 5ms 1ms distribution norml", [(28, "no distribution 'norml'; did you mean 'normal'?")]),
        ("delay 5ms 1ms distribution ./none.dist", [(28, "none.dist: No such file")]),
        ("rate 50%", [(6, "'50%' is a share of a device's rate")]),
        ("rate 1bit", [(6, "'1bit' is not between 1 byte/s")]),
        ("slot 5ms 3ms", [(1, "the longest time between slots is less")]),
        ("slot distribution normal 5ms 0ms", [(1, "the jitter of slots must be positive")]),
        ("seed -1", [(6, "'-1' is not a whole number")]),
        ("limit 5gb", [(7, "'5gb' is more than 2^32 - 1")]),
        ("tc qdisc add dev eth0 root htb rate 1mbit", [(28, "no qdisc 'htb' here")]),
        ("tc qdisc ad dev eth0 root netem", [(10, "'ad' is none of add, change")]),
        ("tc qdisc add dev eth0 root", [(0, "no qdisc is named")]),
        ("lim 5 bogus 3 x rate", [(7, "no option 'bogus'"), (15, "no option 'x'"), (17, "'rate' needs a rate")]),
    ],
)
def test_problems(text: str, problems: list[tuple[int, str]]) -> None:
    with pytest.raises(QdiscError) as caught:
        parse(text)
    assert [column for column, _ in caught.value.problems] == [column for column, _ in problems]
    for (_, message), (_, expected) in zip(caught.value.problems, problems, strict=True):
        assert expected in message
    assert caught.value.text == text


@pytest.mark.parametrize(
    ("text", "tbf"),
    [
        (
            "tbf rate 10mbit burst 10kb latency 50ms",
            Tbf(rate_bytes_per_s=1.25e6, burst_bytes=10240, limit_bytes=72740),
        ),
        (
            "tc qdisc add dev lo root tbf rate 8kbit buffer 1600/8 limit 3000 mpu 64 overhead 4 linklayer atm",
            Tbf(rate_bytes_per_s=1e3, burst_bytes=1600, limit_bytes=3000, mpu_bytes=64, overhead_bytes=4, is_atm=True),
        ),
        (
            "tbf rate 8kbit burst 1600 peakrate 16kbit minburst 1540 latency 1s",
            Tbf(
                rate_bytes_per_s=1e3,
                burst_bytes=1600,
                limit_bytes=2600,
                peak_rate_bytes_per_s=2e3,
                mtu_bytes=1540,
            ),
        ),
    ],
)
def test_tbf_texts(text: str, tbf: Tbf) -> None:
    assert parse_tbf(text) == tbf
    assert parse(text) == tbf


def test_a_tbf_says_all_that_it_lacks() -> None:
    with pytest.raises(QdiscError) as caught:
        parse("tbf peakrate 1mbit")
    messages = [message for _, message in caught.value.problems]
    assert messages == [
        "a tbf needs a rate",
        "a tbf needs a burst, the size of its bucket",
        "a tbf needs a limit in bytes, or a latency",
        "a peak rate needs an mtu, the size of its bucket",
    ]
    for text, message in (
        ("tbf rate 1mbit burst 10kb limit 1 latency 1ms", "not both"),
        ("tbf rate 2mbit burst 10kb limit 1 peakrate 1mbit mtu 2000", "more than the rate"),
        ("tbf rate 1mbit rate 2mbit burst 10kb limit 1", "'rate' is there twice"),
        ("tbf rate 1mbit burst 10kb limit 1 linklayer wifi", "no link layer 'wifi'"),
        ("tbf rate 1mbit bust 10kb limit 1", "did you mean 'burst'?"),
    ):
        with pytest.raises(QdiscError, match=message):
            parse(text)
    with pytest.raises(QdiscError, match="not a netem"):
        parse_netem("tbf rate 1mbit")
    with pytest.raises(QdiscError, match="not a tbf"):
        parse_tbf("netem delay 1ms")


def problems_of(text: str) -> list[tuple[int, str]]:
    try:
        assert isinstance(parse(text), Netem | Tbf)
    except QdiscError as error:
        return list(error.problems) or [(-1, "")]
    return []


@given(st.text(alphabet="netmdlayosrgpbiku 0123456789.%-:/", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    for column, message in problems_of(text):
        assert 0 <= column <= len(text)
        assert message


def test_units_are_those_of_tc() -> None:
    assert tc_units.rate_bytes_per_s("1Mibit") == 131072.0
    assert tc_units.rate_bytes_per_s("1KBps") == tc_units.rate_bytes_per_s("8kbit") == 1000.0
    assert tc_units.size_bytes("1mbit") == 131072
    assert tc_units.time_s("0.3ms") == 0.0003
    # A probability of 32 bits; a delay in whole microseconds and then in 64 ns.
    assert (units(0.0), units(0.5), units(1.0)) == (0, 2**31, 2**32 - 1)
    assert [tick_ns(x) for x in (1e-9, 1e-6, 64e-6, 0.01, 0.05)] == [0, 960, 64_000, 10_000_000, 50_000_000]


def test_tables_are_what_their_formulas_say() -> None:
    for name in ("normal", "pareto", "paretonormal"):
        table = distributions.table_of(name)
        assert len(table) == 4096
        assert list(table) == sorted(table)
    normal, pareto = distributions.normal(), distributions.pareto()
    # The median and one standard deviation; entry i is the quantile of i / 4096 and up to half of a cell of 1/16384.
    assert abs(normal[2048]) <= 2
    assert normal[round(4096 * 0.8413447)] == pytest.approx(8192, abs=8)
    assert normal[4000] / 8192 == pytest.approx(1.98741, abs=1e-3)
    # (1/u)^(1/3) - 3/2, times 4/3: at u = 1/8 it is 2/3, at u = 1 it is -2/3.
    assert pareto[0] == round(-8192 * 2 / 3)
    assert pareto[4096 * 7 // 8] == round(8192 * 2 / 3)
    assert pareto[-1] == 32767
    mixed = [int((a + 3 * b) / 4) for a, b in zip(normal, pareto, strict=True)]
    assert distributions.paretonormal()[1:] == tuple(mixed[1:])


@pytest.mark.parametrize("name", ["normal", "pareto", "paretonormal"])
def test_tables_are_those_of_iproute2(name: str) -> None:
    files = [path for pattern in ("tc", "*/tc") for path in Path("/usr/lib").glob(f"{pattern}/{name}.dist")]
    if not files:
        pytest.skip("needs iproute2 with its tables")
    assert distributions.read_table(files[0]) == distributions.table_of(name)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("# nothing\n", "0 entries"),
        ("1 2\n3 x4\n", r":2:3: 'x4' is no integer"),
        ("40000", ":1:1: '40000' is no integer from -32768 to 32767"),
        ("1 " * 16385, "16385 entries"),
    ],
)
def test_a_bad_table_is_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "bad.dist"
    path.write_text(content)
    with pytest.raises(TraceError, match=message):
        distributions.read_table(path)
    with pytest.raises(QdiscError, match="column 28"):
        parse("delay 5ms 1ms distribution ./bad.dist", tmp_path)


def test_a_table_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "mine.dist").write_text("# two\n0\t8192\n")
    netem = parse("delay 5ms 1ms distribution mine.dist", tmp_path)
    assert isinstance(netem, Netem)
    assert netem.table == (0, 8192)
    assert netem.mean_delay_s == pytest.approx(0.0055)
