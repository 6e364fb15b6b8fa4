"""Quantities as `tc` reads them, which are not those of scenario files.

A bare time is in microseconds, a bare rate in bit/s, ``bps`` is bytes per second, prefixes of rates are decimal and
those of sizes binary (``kb`` is 1024 bytes), a bare percentage is one already, and letter case counts nowhere.
Sources: tc(8), and iproute2's tc/tc_util.c.
"""

import math
import re
from collections.abc import Mapping
from typing import Final

from hetsim.errors import UnitError, clipped
from hetsim.lookup import did_you_mean

_TIMES: Final = {
    **dict.fromkeys(("s", "sec", "secs"), 1),
    **dict.fromkeys(("ms", "msec", "msecs"), 10**3),
    **dict.fromkeys(("us", "usec", "usecs"), 10**6),
    **dict.fromkeys(("ns", "nsec", "nsecs"), 10**9),
}
"""Units in one second."""

_BITS: Final = {
    f"{prefix}{unit}": factor * bits
    for unit, bits in (("bit", 1.0), ("bps", 8.0))
    for prefix, factor in {
        "": 1.0,
        "k": 1e3,
        "ki": 2.0**10,
        "m": 1e6,
        "mi": 2.0**20,
        "g": 1e9,
        "gi": 2.0**30,
        "t": 1e12,
        "ti": 2.0**40,
    }.items()
}
_SIZES: Final = {
    "b": 1.0,
    **{f"{prefix}{end}": 2.0**power for prefix, power in (("k", 10), ("m", 20), ("g", 30)) for end in ("", "b")},
    **{f"{prefix}bit": 2.0 ** (power - 3) for prefix, power in (("k", 10), ("m", 20), ("g", 30))},
}

_QUANTITY: Final = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?)(.*)", re.IGNORECASE | re.DOTALL)
_MOST_U32: Final = 2**32 - 1


def time_s(word: str) -> float:
    """Return a time in seconds.

    Parameters
    ----------
    word : str
        Such as ``50ms``; without a unit, microseconds.

    Returns
    -------
    float
        Seconds.

    Raises
    ------
    UnitError
        If it is none, or negative.

    Examples
    --------
    >>> time_s("50ms"), time_s("200")
    (0.05, 0.0002)
    """
    number, unit = _parts(word, "a time", _TIMES, "50ms")
    # A quotient is rounded once: 0.3 ms is the float nearest to 0.0003.
    return number / _TIMES[unit or "us"]


def rate_bytes_per_s(word: str) -> float:
    """Return a rate in bytes per second.

    Parameters
    ----------
    word : str
        Such as ``10mbit`` or ``1mbps``, which is bytes; without a unit, bits per second.

    Returns
    -------
    float
        Whole bytes per second, as the kernel has them.

    Raises
    ------
    UnitError
        If it is none, or less than a byte per second.

    Examples
    --------
    >>> rate_bytes_per_s("10mbit"), rate_bytes_per_s("10mbps"), rate_bytes_per_s("8000")
    (1250000.0, 10000000.0, 1000.0)
    """
    if word.endswith("%"):
        raise UnitError(f"{clipped(repr(word))} is a share of a device's rate, and there is no device: write 10mbit")
    number, unit = _parts(word, "a rate", _BITS, "10mbit")
    rate = float(math.floor(number * _BITS[unit or "bit"] / 8.0))
    if not 1.0 <= rate < 2.0**63:
        raise UnitError(f"{clipped(repr(word))} is not between 1 byte/s and 2^63 bytes/s")
    return rate


def size_bytes(word: str) -> int:
    """Return a size in bytes, or a number of packets with a prefix.

    Parameters
    ----------
    word : str
        Such as ``10kb``, 10240 bytes.

    Returns
    -------
    int
        Bytes, below 2^32.

    Raises
    ------
    UnitError
        If it is none.

    Examples
    --------
    >>> size_bytes("10kb"), size_bytes("1000"), size_bytes("8kbit")
    (10240, 1000, 1024)
    """
    number, unit = _parts(word, "a size", _SIZES, "10kb")
    size = number * _SIZES[unit or "b"]
    if size > _MOST_U32:
        raise UnitError(f"{clipped(repr(word))} is more than 2^32 - 1")
    return int(size)


def share(word: str) -> float:
    """Return a percentage as a fraction.

    Parameters
    ----------
    word : str
        Such as ``1%``; a bare number is in per cent too.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    UnitError
        If it is none.

    Examples
    --------
    >>> share("25%"), share("0.5")
    (0.25, 0.005)
    """
    number, _ = _parts(word, "a percentage", {"%": 1.0}, "1%")
    if number > 100.0:
        raise UnitError(f"{clipped(repr(word))} is more than 100%")
    return number / 100.0


def seed(word: str) -> int:
    """Return the seed of a generator.

    Parameters
    ----------
    word : str
        Digits.

    Returns
    -------
    int
        Below 2^64.

    Raises
    ------
    UnitError
        If it is none.
    """
    if re.fullmatch(r"\d{1,20}", word) is None or int(word) >= 2**64:
        raise UnitError(f"{clipped(repr(word))} is not a whole number from 0 to 2^64 - 1")
    return int(word)


def whole(word: str) -> int:
    """Return a whole number.

    Parameters
    ----------
    word : str
        Digits, perhaps with a sign.

    Returns
    -------
    int
        Of 32 bits with a sign.

    Raises
    ------
    UnitError
        If it is none.
    """
    if re.fullmatch(r"[+-]?\d{1,20}", word) is None or not -(2**31) <= int(word) < 2**31:
        raise UnitError(f"{clipped(repr(word))} is not a whole number")
    return int(word)


def count(word: str) -> int:
    """Return a whole number that is not negative.

    Parameters
    ----------
    word : str
        Digits.

    Returns
    -------
    int
        Below 2^31.

    Raises
    ------
    UnitError
        If it is none.
    """
    number = whole(word)
    if number < 0:
        raise UnitError(f"{clipped(repr(word))} is negative")
    return number


def _parts(word: str, noun: str, units: Mapping[str, float], example: str) -> tuple[float, str]:
    """Split a word in a finite number that is not negative and a known unit in small letters, or none."""
    shown = clipped(repr(word))
    match = _QUANTITY.fullmatch(word)
    if match is None:
        raise UnitError(f"{shown} is not {noun}, such as {example}")
    number, unit = float(match[1]), match[2].lower()
    if unit and unit not in units:
        hint = did_you_mean(unit, units) or "."
        raise UnitError(f"{shown} has the unknown unit {clipped(repr(unit))}{hint} Known: {', '.join(units)}")
    if not math.isfinite(number):
        raise UnitError(f"{shown} is not finite")
    if number < 0.0:
        raise UnitError(f"{shown} is negative")
    return number + 0.0, unit
