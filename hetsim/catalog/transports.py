"""Transports by name: what was measured of each, and where."""

import functools
import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import cast, get_args

from hetsim.catalog.rows import Row
from hetsim.catalog.tables import rows_of, unique
from hetsim.model.transport import Domain, LatencyKind, LossResponse, Transport
from hetsim.units import format_iec, format_si

TRANSPORT_COLUMNS = (
    "name",
    "efficiency_frac",
    "latency",
    "message_rtts",
    "pass_rtts",
    "step_bytes",
    "message_s",
    "n_streams",
    "window_bytes",
    "pass_window_bytes",
    "restarts",
    "loss",
    "segment_bytes",
    "rtt_s",
    "bytes_per_s",
    "message_bytes",
    "loss_frac",
    "description",
    "source",
)


def parse_transport(row: Row) -> Transport:
    """Return the transport of a row of transports.csv.

    Parameters
    ----------
    row : Row
        With `TRANSPORT_COLUMNS`; a range is written as two numbers, what has no bound as ``inf``.

    Returns
    -------
    Transport
        The transport.

    Raises
    ------
    CatalogError
        If a cell is malformed, or the efficiency is above one.
    """
    efficiency_frac = row.number("efficiency_frac")
    if efficiency_frac > 1.0:
        raise row.error(f"efficiency_frac {efficiency_frac!r} is above one")
    return Transport(
        name=row.text("name"),
        efficiency_frac=efficiency_frac,
        latency=cast("LatencyKind", row.choice("latency", get_args(LatencyKind))),
        message_rtts=row.number("message_rtts", allow_zero=True),
        pass_rtts=row.number("pass_rtts", allow_zero=True),
        step_bytes=_bound(row, "step_bytes"),
        message_s=row.number("message_s", allow_zero=True),
        n_streams=row.count("n_streams"),
        window_bytes=_bound(row, "window_bytes"),
        pass_window_bytes=_bound(row, "pass_window_bytes"),
        restarts=row.choice("restarts", ("yes", "no")) == "yes",
        loss=cast("LossResponse", row.choice("loss", get_args(LossResponse))),
        segment_bytes=row.number("segment_bytes"),
        domain=Domain(
            rtt_s=_range(row, "rtt_s"),
            bytes_per_s=_range(row, "bytes_per_s"),
            message_bytes=_range(row, "message_bytes"),
            loss_frac=_range(row, "loss_frac"),
        ),
        source=row.text("source"),
    )


def _bound(row: Row, column: str) -> float:
    return math.inf if row.text(column) == "inf" else row.number(column)


def _range(row: Row, column: str) -> tuple[float, float]:
    text = row.text(column)
    try:
        low, high = (float(word) for word in text.split())
    except ValueError:
        raise row.error(f"{column} {text!r} is not a range of two numbers") from None
    if not 0.0 <= low <= high:
        raise row.error(f"{column} {text!r} is not a range from zero or more up")
    return low, high


@functools.cache
def transports() -> Mapping[str, Transport]:
    """Return every transport of transports.csv.

    Returns
    -------
    mapping of str to Transport
        By name, in the order of the file.

    Raises
    ------
    CatalogError
        If the file is malformed.

    Examples
    --------
    >>> transports()["nccl"].latency
    'pipelined'
    """
    rows = rows_of("transports.csv", TRANSPORT_COLUMNS)
    return MappingProxyType(unique(rows, parse_transport, lambda transport: transport.name))


def descriptions() -> Mapping[str, str]:
    """Return a one-line description of every transport.

    Returns
    -------
    mapping of str to str
        By name, in the order of the file.
    """
    rows = {row.text("name"): row.text("description") for row in rows_of("transports.csv", TRANSPORT_COLUMNS)}
    return MappingProxyType({name: f"{rows[name]} ({figures(each)})" for name, each in transports().items()})


def figures(transport: Transport) -> str:
    """Return what a transport has of connections, windows and losses, and where it was measured.

    Parameters
    ----------
    transport : Transport
        Any.

    Returns
    -------
    str
        For people.
    """
    n, window_bytes, (_, most_rtt_s) = transport.n_streams, transport.window_bytes, transport.domain.rtt_s
    parts = [f"{n} connection{'' if n == 1 else 's'}"]
    parts += [f"window {format_iec(window_bytes)} each"] if math.isfinite(window_bytes) else []
    parts += [f"loss by {transport.loss}"] if transport.loss != "none" else []
    if math.isfinite(most_rtt_s):
        (low, high), (least, most) = transport.domain.bytes_per_s, transport.domain.message_bytes
        rates = f"{format_si(low, 'B/s')} to {format_si(high, 'B/s')}"
        sizes = f"{format_si(least, 'B')} to {format_si(most, 'B')}"
        parts.append(f"measured at round trips up to {format_si(most_rtt_s, 's')}, {rates}, {sizes}")
    return "; ".join(parts)
