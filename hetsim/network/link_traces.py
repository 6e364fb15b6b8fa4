"""Recordings of a link by ping and iperf3, as what they say of its latency and rate over time."""

import json
import math
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from hetsim.errors import TraceError

_REPLY: Final = re.compile(
    r"^(?:\[(?P<time>\d{1,12}(?:\.\d{1,9})?)\] )?\d+ bytes from .*?icmp_[sr]eq=(?P<seq>\d{1,5})"
    r".*? time=(?P<ms>\d{1,9}(?:\.\d{1,9})?) ms"
)
_MOST_BYTES: Final = 16 * 2**20
_LONGEST_LINE: Final = 1000
_SEQ_PERIOD: Final = 2**16
"""Numbers of requests have 16 bits."""

_INTERVAL_S: Final = 1.0
"""Between two requests of ping, unless its -i says otherwise."""

Samples = list[tuple[float, float]]
"""Seconds since the first sample, and the value from then on."""


def read_ping(path: Path) -> Samples:
    """Return round trips that ping printed.

    Lines have times with ``ping -D``; without them requests are taken to be a second apart, by their numbers. Requests
    without an answer say nothing of the latency and are left out.

    Parameters
    ----------
    path : Path
        What ping printed.

    Returns
    -------
    list of (float, float)
        Seconds since the first answer, and the round trip in seconds.

    Raises
    ------
    TraceError
        If it cannot be read, or no line is an answer.
    """
    found: Samples = []
    seq, n_periods = 0, 0
    for line in _text(path).splitlines():
        match = _REPLY.match(line.strip()) if len(line) <= _LONGEST_LINE else None
        if match is None:
            continue
        before, seq = seq, int(match["seq"])
        n_periods += seq < before - _SEQ_PERIOD // 2
        time_s = float(match["time"]) if match["time"] else _INTERVAL_S * (seq + n_periods * _SEQ_PERIOD)
        found.append((time_s, float(match["ms"]) / 1e3))
    if not found:
        raise TraceError(
            str(path), 0, 0, "no answer of ping, such as '64 bytes from 10.0.0.2: icmp_seq=1 time=0.42 ms'"
        )
    return _from_start(sorted(found))


def read_iperf3(path: Path) -> Samples:
    """Return rates that ``iperf3 --json`` measured, interval by interval.

    Parameters
    ----------
    path : Path
        Its output.

    Returns
    -------
    list of (float, float)
        Seconds since the first interval, and payload in bytes per second.

    Raises
    ------
    TraceError
        If it cannot be read, is no JSON, or has no intervals.
    """
    text = _text(path)
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise TraceError(str(path), error.lineno, error.colno, f"no JSON: {error.msg}") from None
    except (RecursionError, ValueError):
        raise TraceError(str(path), 0, 0, "no JSON of iperf3: nested too deeply, or numbers too long") from None
    found = list(_intervals(content, path))
    if not found:
        raise TraceError(str(path), 0, 0, "no 'intervals' of iperf3 --json")
    return _from_start(sorted(found))


def _intervals(content: Any, path: Path) -> Iterator[tuple[float, float]]:
    intervals = content.get("intervals") if isinstance(content, dict) else None
    for index, interval in enumerate(intervals if isinstance(intervals, list) else ()):
        try:
            start_s, rate = _number(interval["sum"]["start"]), _number(interval["sum"]["bits_per_second"])
        except (KeyError, TypeError):
            message = f"interval {index} has no sum with numbers start and bits_per_second"
            raise TraceError(str(path), 0, 0, message) from None
        except (ValueError, OverflowError):
            message = f"start and bits_per_second of interval {index} must be finite and not negative"
            raise TraceError(str(path), 0, 0, message) from None
        yield start_s, rate / 8.0


def _from_start(samples: Samples) -> Samples:
    """Return samples from time zero on, the last of those at one time, without those that repeat the value before."""
    first_s = samples[0][0]
    by_time = {time_s - first_s: value for time_s, value in samples}
    ordered = sorted(by_time.items())
    return ordered[:1] + [later for before, later in pairwise(ordered) if later[1] != before[1]]


def _text(path: Path) -> str:
    """Return what a file says, if it is one and no larger than any recording of a link."""
    try:
        if path.exists() and not path.is_file():
            raise TraceError(str(path), 0, 0, "is no file")
        if path.stat().st_size > _MOST_BYTES:
            raise TraceError(str(path), 0, 0, f"larger than {_MOST_BYTES // 2**20} MiB")
        return path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or "no text in UTF-8"
        raise TraceError(str(path), 0, 0, f"cannot be read: {reason[:1].lower()}{reason[1:]}") from None


def _number(text: object) -> float:
    """Return a finite number that is not negative, or raise a ValueError."""
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        raise TypeError
    number = float(text)
    if not 0.0 <= number < math.inf:
        raise ValueError
    return number
