"""Quantities with units, parsed once at the edge; below the scenario layer all is SI floats and integer ticks."""

import math
import re
from decimal import Decimal
from typing import Final, Literal

from hetsim.errors import UnitError, clipped

Dimension = Literal["time", "bytes", "rate", "flop", "flop rate"]

TICKS_PER_S: Final = 10**12
"""Simulated time is an integer number of ticks of one picosecond."""

MAX_TICKS: Final = 2**63 - 1
"""Ticks are int64: 106 days."""

TOO_LONG: Final = "longer than the 106 days that the clock can count"

_SI: Final = {"": "1", "k": "1e3", "M": "1e6", "G": "1e9", "T": "1e12", "P": "1e15"}
_IEC: Final = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}


def _prefixed(symbol: str, scale: str, *, binary: bool) -> dict[str, Decimal]:
    prefixes = _SI | _IEC if binary else _SI
    return {prefix + symbol: Decimal(factor) * Decimal(scale) for prefix, factor in prefixes.items()}


_BYTES: Final = _prefixed("B", "1", binary=True) | _prefixed("bit", "0.125", binary=True)
_TIMES: Final = {
    "ps": "1e-12",
    "ns": "1e-9",
    "us": "1e-6",
    "µs": "1e-6",
    "ms": "1e-3",
    "s": "1",
    "min": "60",
    "h": "3600",
    "d": "86400",
}
_UNITS: Final[dict[Dimension, dict[str, Decimal]]] = {
    "time": {unit: Decimal(scale) for unit, scale in _TIMES.items()},
    "bytes": _BYTES,
    "rate": {f"{unit}/s": factor for unit, factor in _BYTES.items()} | _prefixed("bps", "0.125", binary=False),
    "flop": _prefixed("FLOP", "1", binary=False),
    "flop rate": _prefixed("FLOP/s", "1", binary=False) | _prefixed("FLOPS", "1", binary=False),
}
_NOUNS: Final[dict[Dimension, str]] = {
    "time": "a time",
    "bytes": "an amount of data",
    "rate": "a data rate",
    "flop": "an amount of arithmetic",
    "flop rate": "a rate of arithmetic",
}
_EXAMPLES: Final[dict[Dimension, str]] = {
    "time": "25 us, 60 ms, 1.5 h",
    "bytes": "102 MB, 16 GiB",
    "rate": "10 Gbit/s, 12 GB/s",
    "flop": "4.1 GFLOP",
    "flop rate": "9.5 TFLOP/s",
}
_QUANTITY: Final = re.compile(r"\s*([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)\s*([A-Za-zµ/]*)\s*")


def parse(text: object, dimension: Dimension) -> float:
    """Return the SI value of a quantity such as ``"10 Gbit/s"``.

    Parameters
    ----------
    text : object
        What the scenario file holds. Bits and bytes, and prefixes of base 2 and base 10, are apart.
    dimension : {"time", "bytes", "rate", "flop", "flop rate"}
        What the quantity must measure.

    Returns
    -------
    float
        Seconds, bytes, bytes per second, FLOP or FLOP per second: the float nearest to what is written, so that the
        same quantity in other units is the same number.

    Raises
    ------
    UnitError
        If the text is no number with a unit of that dimension, is negative or is not finite.

    Examples
    --------
    >>> parse("10 Gbit/s", "rate")
    1250000000.0
    >>> parse("64 KiB", "bytes")
    65536.0
    >>> parse("25 us", "time") == parse("0.025 ms", "time") == 25e-6
    True
    """
    shown = clipped(repr(text))
    if not isinstance(text, str):
        raise UnitError(f"{shown} has no unit: write {_wanted(dimension)}")
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise UnitError(
            f"{shown} is not {_NOUNS[dimension]}: write a number and a unit, such as {_EXAMPLES[dimension]}"
        )
    number, unit = match.groups()
    factor = _factor(shown, unit, dimension)
    rough = float(number)
    # Decimal has bounds of its own: what is zero or infinite as a float stays so.
    value = float(Decimal(number) * factor) if rough and math.isfinite(rough) else rough
    if not math.isfinite(value):
        raise UnitError(f"{shown} is not finite")
    if value < 0:
        raise UnitError(f"{shown} is negative")
    return value + 0.0  # no negative zero


def _wanted(dimension: Dimension) -> str:
    return f"{_NOUNS[dimension]} with its unit, such as {_EXAMPLES[dimension]}"


def _factor(shown: str, unit: str, dimension: Dimension) -> Decimal:
    if not unit:
        raise UnitError(f"{shown} has no unit: write {_wanted(dimension)}")
    factor = _UNITS[dimension].get(unit)
    if factor is not None:
        return factor
    for other, table in _UNITS.items():
        if unit in table:
            raise UnitError(f"{shown} is {_NOUNS[other]}, not {_NOUNS[dimension]} such as {_EXAMPLES[dimension]}")
    folded = unit.lower()
    near = [known for known in _UNITS[dimension] if known.lower() == folded]
    if re.search("[A-Zk]i?b", unit):
        # A small b behind a proper prefix means bits to most people: say so before bytes.
        near = [known for known in _UNITS[dimension] if known.replace("bit", "b") == unit] + near
    hint = f"; did you mean {' or '.join(repr(name) for name in near)}?" if near else ";"
    raise UnitError(f"{shown} has the unknown unit {clipped(repr(unit))}{hint} write {_wanted(dimension)}")


def to_ticks(duration_s: float) -> int:
    """Return a duration in ticks, rounded up.

    Parameters
    ----------
    duration_s : float
        Seconds, finite and not negative.

    Returns
    -------
    int
        Ticks of one picosecond.

    Raises
    ------
    UnitError
        If the clock cannot count so far.

    Examples
    --------
    >>> to_ticks(2.5e-12)
    3
    """
    ticks = duration_s * TICKS_PER_S
    if not ticks <= MAX_TICKS:
        raise UnitError(f"{duration_s:.3g} s is {TOO_LONG}")
    return math.ceil(ticks)


def to_seconds(ticks: int) -> float:
    """Return ticks as seconds.

    Parameters
    ----------
    ticks : int
        Ticks of one picosecond.

    Returns
    -------
    float
        Seconds.
    """
    return ticks / TICKS_PER_S


def format_si(value: float, unit: str) -> str:
    """Return a value with an SI prefix, for people.

    Parameters
    ----------
    value : float
        In the base unit.
    unit : str
        The base unit, such as ``"B"`` or ``"s"``.

    Returns
    -------
    str
        Three significant digits.

    Examples
    --------
    >>> format_si(1.25e9, "B/s")
    '1.25 GB/s'
    >>> format_si(0.0305, "s")
    '30.5 ms'
    """
    scales = (
        (1e15, "P"),
        (1e12, "T"),
        (1e9, "G"),
        (1e6, "M"),
        (1e3, "k"),
        (1.0, ""),
        (1e-3, "m"),
        (1e-6, "u"),
        (1e-9, "n"),
        (1e-12, "p"),
    )
    for scale, prefix in scales:
        if abs(value) >= scale * 0.9995:
            return f"{value / scale:.3g} {prefix}{unit}"
    return f"0 {unit}" if value == 0 else f"{value:.3g} {unit}"


def format_iec(n_bytes: float) -> str:
    """Return bytes with a prefix of base 2 and one decimal, for people.

    Parameters
    ----------
    n_bytes : float
        Bytes.

    Returns
    -------
    str
        Such as ``'11.2 GiB'``.

    Examples
    --------
    >>> format_iec(12.5 * 2**30), format_iec(3 * 2**20), format_iec(12)
    ('12.5 GiB', '3.0 MiB', '12 B')
    """
    for prefix, factor in reversed(_IEC.items()):
        if n_bytes >= factor * 0.99995:
            return f"{n_bytes / factor:.1f} {prefix}B"
    return f"{n_bytes:.0f} B"
