"""A token bucket that shapes a link, as data: parsed from the text of a `tc` command.

Sources: tc-tbf(8); Linux 6.1, net/sched/sch_tbf.c; iproute2, tc/q_tbf.c.
"""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from hetsim.errors import UnitError
from hetsim.network import tc, tc_units
from hetsim.network.tc import Words

if TYPE_CHECKING:
    from collections.abc import Callable

OPTIONS: Final = (
    "limit",
    "latency",
    "burst",
    "buffer",
    "maxburst",
    "mtu",
    "minburst",
    "mpu",
    "rate",
    "peakrate",
    "overhead",
    "linklayer",
)
"""In the order in which tc compares them with an abbreviation."""

_ALIASES: Final = {"buffer": "burst", "maxburst": "burst", "minburst": "mtu"}
_LINK_LAYERS: Final = ("ethernet", "atm", "adsl")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tbf:
    """A tbf qdisc at the root of an interface, on its way out.

    Parameters
    ----------
    rate_bytes_per_s : float
        Of tokens.
    burst_bytes : int
        Tokens that the bucket holds; a larger packet is dropped.
    limit_bytes : int
        More than these waiting are dropped.
    peak_rate_bytes_per_s : float
        Of a second bucket; zero for none.
    mtu_bytes : int
        Tokens that the second bucket holds.
    mpu_bytes, overhead_bytes : int
        A packet counts as its size and the overhead, and as the former at least.
    is_atm : bool
        Whether it counts as the cells of 53 bytes that carry it, 48 each.
    """

    rate_bytes_per_s: float
    burst_bytes: int
    limit_bytes: int
    peak_rate_bytes_per_s: float = 0.0
    mtu_bytes: int = 0
    mpu_bytes: int = 0
    overhead_bytes: int = 0
    is_atm: bool = False

    @property
    def largest_packet_bytes(self) -> int:
        """Size of the largest packet that either bucket can ever let through."""
        return min(self.burst_bytes, self.mtu_bytes) if self.peak_rate_bytes_per_s else self.burst_bytes


def parse_tbf(text: str) -> Tbf:
    """Return the token bucket that a text describes.

    Parameters
    ----------
    text : str
        Such as ``tbf rate 10mbit burst 10kb latency 50ms``, or the whole `tc` command.

    Returns
    -------
    Tbf
        In SI units.

    Raises
    ------
    QdiscError
        With every problem of the text.

    Examples
    --------
    >>> tbf = parse_tbf("tbf rate 10mbit burst 10kb latency 50ms")
    >>> tbf.rate_bytes_per_s, tbf.burst_bytes, tbf.limit_bytes
    (1250000.0, 10240, 72740)
    """
    words = Words(text, OPTIONS)
    kind = tc.skip_head(words)
    if kind != "tbf" and not words.problems:
        words.blame(0, f"this is a {kind}, and not a tbf")
    words.check()
    found = _read(words)
    _check(words, found)
    words.check()
    return Tbf(
        rate_bytes_per_s=found["rate"],
        burst_bytes=int(found["burst"]),
        limit_bytes=_limit_bytes(found),
        peak_rate_bytes_per_s=found.get("peakrate", 0.0),
        mtu_bytes=int(found.get("mtu", 0)),
        mpu_bytes=int(found.get("mpu", 0)),
        overhead_bytes=int(found.get("overhead", 0)),
        is_atm=bool(found.get("linklayer", 0)),
    )


def _read(words: Words) -> dict[str, float]:
    readers: dict[str, tuple[Callable[[str], float], str]] = {
        "limit": (tc_units.size_bytes, "a size, such as 10kb"),
        "latency": (tc_units.time_s, "a time, such as 50ms"),
        "burst": (_size_and_cell, "a size, such as 10kb"),
        "mtu": (_size_and_cell, "a size, such as 1540"),
        "mpu": (tc_units.size_bytes, "a size, such as 64"),
        "rate": (tc_units.rate_bytes_per_s, "a rate, such as 10mbit"),
        "peakrate": (tc_units.rate_bytes_per_s, "a rate, such as 20mbit"),
        "overhead": (tc_units.count, "a number of bytes"),
        "linklayer": (_is_atm, f"one of {', '.join(_LINK_LAYERS)}"),
    }
    found: dict[str, float] = {}
    while words.peek():
        word = words.take()
        name = words.option(word)
        name = _ALIASES.get(name, name)
        if not name:
            while words.is_number_next(signed=True):
                words.take()
            continue
        if name in found:
            words.blame(word.column, f"{name!r} is there twice")
        value = words.value(word, *readers[name])
        found[name] = -1.0 if value is None else float(value)
    return found


def _size_and_cell(word: str) -> int:
    """Return a size, which a size of cells may follow that kernels since 3.8 ignore."""
    return tc_units.size_bytes(word.partition("/")[0])


def _is_atm(word: str) -> int:
    for layer in _LINK_LAYERS:
        if layer.startswith(word):
            return int(layer != "ethernet")
    raise UnitError(f"no link layer {word!r}. Known: {', '.join(_LINK_LAYERS)}")


def _check(words: Words, found: dict[str, float]) -> None:
    """Say what is missing, or does not go together."""
    needs = partial(_needs, words, found)
    needs("rate", "a tbf needs a rate")
    needs("burst", "a tbf needs a burst, the size of its bucket")
    if not found.get("limit") and not found.get("latency"):
        words.blame(0, "a tbf needs a limit in bytes, or a latency")
    if found.get("limit") and found.get("latency"):
        words.blame(0, "a tbf has a limit or a latency, not both")
    peak = found.get("peakrate", 0.0)
    if peak:
        needs("mtu", "a peak rate needs an mtu, the size of its bucket")
        if 0.0 < peak <= found.get("rate", 0.0):
            words.blame(0, "the peak rate must be more than the rate")


def _needs(words: Words, found: dict[str, float], name: str, message: str) -> None:
    if not found.get(name):
        words.blame(0, message)


def _limit_bytes(found: dict[str, float]) -> int:
    """Return the limit: what the tokens of a latency and a full bucket let through (tc-tbf(8))."""
    if found.get("limit"):
        return int(found["limit"])
    latency_us = int(found["latency"] * 1e6 + 1e-6)
    limits = [found["rate"] * latency_us / 1e6 + found["burst"]]
    if found.get("peakrate"):
        limits.append(found["peakrate"] * latency_us / 1e6 + found["mtu"])
    return int(min(limits))
