import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hetsim.errors import UnitError
from hetsim.units import MAX_TICKS, Dimension, format_si, parse, to_seconds, to_ticks


@pytest.mark.parametrize(
    ("text", "dimension", "value"),
    [
        ("25 us", "time", 25e-6),
        ("25µs", "time", 25e-6),
        ("1.5 h", "time", 5400.0),
        ("2d", "time", 172800.0),
        ("102 MB", "bytes", 102e6),
        ("16 GiB", "bytes", 16 * 2.0**30),
        ("8 Mbit", "bytes", 1e6),
        ("10 Gbit/s", "rate", 1.25e9),
        ("10Gbps", "rate", 1.25e9),
        ("1e3 MB/s", "rate", 1e9),
        (".5 GiB/s", "rate", 2.0**29),
        ("4.1 GFLOP", "flop", 4.1e9),
        ("15.7 TFLOP/s", "flop rate", 15.7e12),
        ("0 s", "time", 0.0),
        ("1e-99999999999999999999 s", "time", 0.0),
    ],
)
def test_quantities(text: str, dimension: Dimension, value: float) -> None:
    assert parse(text, dimension) == value


@pytest.mark.parametrize(
    ("text", "dimension", "message"),
    [
        (5, "time", "5 has no unit: write a time with its unit"),
        ("5", "time", "'5' has no unit"),
        (True, "time", "True has no unit"),
        ("fast", "rate", "'fast' is not a data rate"),
        ("10 Gb/s", "rate", "unknown unit 'Gb/s'; did you mean 'Gbit/s' or 'GB/s'?"),
        ("10 gbit/s", "rate", "did you mean 'Gbit/s'?"),
        ("10 GB", "rate", "'10 GB' is an amount of data, not a data rate"),
        ("-1 s", "time", "'-1 s' is negative"),
        ("1e999 s", "time", "'1e999 s' is not finite"),
        ("1e99999999999999999999 s", "time", "is not finite"),
        ("1e308 h", "time", "is not finite"),
        ("nan s", "time", "'nan s' is not a time"),
        ("1 000 s", "time", "is not a time"),
        ("9" * 100_000 + " s", "time", f"'{'9' * 59}... is not finite"),
        ("1 " + "s" * 100_000, "time", f"has the unknown unit '{'s' * 59}...;"),
    ],
)
def test_what_is_no_quantity(text: object, dimension: Dimension, message: str) -> None:
    with pytest.raises(UnitError) as caught:
        parse(text, dimension)
    assert message in str(caught.value)


@given(st.integers(0, 10**12))
def test_the_same_quantity_in_other_units_is_the_same_number(n: int) -> None:
    assert parse(f"{n} us", "time") == parse(f"{n / 1000!r} ms", "time") or n / 1000 * 1000 != n
    assert parse(f"{n} ns", "time") == parse(f"{n}e-3 us", "time") == parse(f"{n}e-9 s", "time")


@given(st.floats(0, 1e6))
def test_ticks_are_rounded_up(duration_s: float) -> None:
    ticks = to_ticks(duration_s)
    assert ticks >= duration_s * 1e12 * (1 - 1e-15)
    assert math.isclose(to_seconds(ticks), duration_s, rel_tol=1e-12, abs_tol=1e-12)


@pytest.mark.parametrize("duration_s", [9223372.036854776, 1e300, math.inf, math.nan])
def test_what_the_clock_cannot_count_is_an_error(duration_s: float) -> None:
    with pytest.raises(UnitError, match=r" s is longer than the 106 days that the clock can count"):
        to_ticks(duration_s)
    assert to_ticks(9223372.0) < MAX_TICKS


def test_there_is_no_negative_zero() -> None:
    assert math.copysign(1.0, parse("-0 s", "time")) == 1.0


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0 B"), (999.6, "1 kB"), (1.25e9, "1.25 GB"), (0.0305, "30.5 mB"), (2e-13, "2e-13 B")]
)
def test_prefixes(value: float, text: str) -> None:
    assert format_si(value, "B") == text
