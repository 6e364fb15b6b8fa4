"""Fit the constants of transports.csv that come from published measurements, and write them beside the catalog's.

Run ``python tests/validation/fit_transports.py``. Figures: BinhangYuan/tc_cluster_setting, results (GitHub; no licence
file, so retyped here): 2 to 8 AWS p3.2xlarge, tc netem delay and rate on each node's interface, torch 1.9, NCCL and
Gloo, 2021. Their separate run "Simulate_DP" is not fitted, and not pooled with these.
"""

import itertools
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.optimize import least_squares

from hetsim.catalog.transports import transports

PAYLOAD_PER_FRAME: Final = 8949 / 9015
"""Of jumbo frames as netem counts them: MTU 9001, Ethernet header 14, IP and TCP with time stamps 52."""

NIC_BYTES_PER_S: Final = 10e9 / 8 * 8949 / 9039
"""Payload of 10 Gbit/s Ethernet, with preamble, check sequence and gap; what the instances really have is not known."""

FLOW_BYTES_PER_S: Final = 5e9 / 8
"""Of a single flow outside of a cluster placement group (Amazon EC2 User Guide, instance network bandwidth)."""

GLOO_EFFICIENCY: Final = transports()["gloo"].efficiency_frac
"""Not fitted: what Gloo's all-reduces over equal links without delay show too (test_recorded_gloo.py)."""


@dataclass(frozen=True, slots=True)
class Row:
    """One measured operation."""

    transport: str
    operation: str
    n_nodes: int
    size_mib: int
    delay_ms: float
    rate_gbit: float
    time_ms: float

    @property
    def n_bytes(self) -> float:
        return self.size_mib * 2.0**20

    @property
    def delay_s(self) -> float:
        """Of what leaves a node, one way: a round trip has it twice."""
        return self.delay_ms / 1e3

    @property
    def is_limited(self) -> bool:
        return math.isfinite(self.rate_gbit)

    @property
    def ring_s(self) -> float:
        """What each member of a ring sends in an all-reduce, 2 (n - 1) / n of its bytes, at the bare rate."""
        return 2 * (self.n_nodes - 1) / self.n_nodes * self.n_bytes * 8 / (self.rate_gbit * 1e9)


NATIVE: Final = math.inf
"""No rate was set: about 8.5 to 9.8 Gbit/s, of a single TCP flow 5 Gbit/s."""

ROWS: Final = (
    Row("nccl", "all-reduce", 4, 128, 0, NATIVE, 175),
    Row("nccl", "all-reduce", 4, 256, 0, NATIVE, 363),
    Row("nccl", "all-reduce", 4, 128, 1, 5, 329),
    Row("nccl", "all-reduce", 4, 256, 1, 5, 655),
    Row("nccl", "all-reduce", 4, 128, 5, 2, 835),
    Row("nccl", "all-reduce", 4, 256, 5, 2, 1650),
    Row("nccl", "all-reduce", 4, 128, 10, 1, 1669),
    Row("nccl", "all-reduce", 4, 256, 10, 1, 3298),
    Row("nccl", "all-reduce", 8, 128, 0, NATIVE, 208),
    Row("nccl", "all-reduce", 8, 256, 0, NATIVE, 443),
    Row("nccl", "all-reduce", 8, 128, 1, 5, 383),
    Row("nccl", "all-reduce", 8, 256, 1, 5, 763),
    Row("nccl", "all-reduce", 8, 128, 5, 2, 970),
    Row("nccl", "all-reduce", 8, 256, 5, 2, 1921),
    Row("nccl", "all-reduce", 8, 128, 10, 1, 1940),
    Row("nccl", "all-reduce", 8, 256, 10, 1, 3841),
    Row("gloo", "all-reduce", 4, 128, 0, NATIVE, 327),
    Row("gloo", "all-reduce", 4, 128, 1, 5, 485),
    Row("gloo", "all-reduce", 4, 128, 5, 2, 1517),
    Row("gloo", "all-reduce", 4, 128, 10, 1, 2993),
    Row("gloo", "all-reduce", 4, 256, 1, 5, 959),
    Row("gloo", "all-reduce", 4, 256, 5, 2, 2989),
    Row("gloo", "all-reduce", 4, 256, 10, 1, 5909),
    Row("gloo", "all-reduce", 8, 256, 1, 5, 1111),
    Row("gloo", "all-reduce", 8, 256, 5, 2, 3562),
    Row("gloo", "all-reduce", 8, 256, 10, 1, 6999),
    Row("nccl", "message", 2, 64, 0, NATIVE, 55),
    Row("nccl", "message", 2, 64, 5, NATIVE, 80),
    Row("nccl", "message", 2, 64, 10, NATIVE, 113),
    Row("nccl", "message", 2, 64, 0, 5, 109),
    Row("nccl", "message", 2, 64, 0, 2, 270),
    Row("nccl", "message", 2, 64, 0, 1, 541),
    Row("nccl", "message", 2, 64, 10, 1, 543),
    Row("gloo", "message", 2, 64, 0, NATIVE, 107),
    Row("gloo", "message", 2, 64, 5, NATIVE, 274),
    Row("gloo", "message", 2, 64, 10, NATIVE, 532),
    Row("gloo", "message", 2, 64, 0, 5, 110),
    Row("gloo", "message", 2, 64, 0, 2, 271),
    Row("gloo", "message", 2, 64, 0, 1, 541),
    Row("gloo", "message", 2, 64, 10, 1, 620),
)

Formula = Callable[[Row, Sequence[float]], float]


def limited_all_reduces(transport: str) -> list[Row]:
    """What passes are fitted to: native rates are not known."""
    return [row for row in ROWS if row.operation == "all-reduce" and row.transport == transport and row.is_limited]


def delayed_messages(transport: str) -> list[Row]:
    """What the round trips of a message by itself show in."""
    return [row for row in ROWS if row.operation == "message" and row.transport == transport and row.delay_s]


def nccl_s(row: Row, constants: Sequence[float]) -> float:
    """Ring term, and both passes pay their round trips; the 14 us of work for a message, 0.03 % of each row, left out.

    Constants: efficiency over that of frames, round trips of a pass.
    """
    efficiency_frac, pass_rtts = constants
    return row.ring_s / (efficiency_frac * PAYLOAD_PER_FRAME) + 2 * pass_rtts * 2 * row.delay_s


def gloo_s(row: Row, constants: Sequence[float]) -> float:
    """Ring term, each of the 2 (n - 1) messages pays its way, and a round trip for every step of its bytes.

    Constants: bytes of a step.
    """
    (step_bytes,) = constants
    n_messages = 2 * (row.n_nodes - 1)
    n_steps = n_messages / row.n_nodes * row.n_bytes / step_bytes
    return row.ring_s / (GLOO_EFFICIENCY * PAYLOAD_PER_FRAME) + n_messages * row.delay_s + n_steps * 2 * row.delay_s


def message_s(row: Row, constants: Sequence[float]) -> float:
    """A message by itself: its way, its round trips, and its bytes at what link, connections and windows let through.

    Constants: round trips.
    """
    (message_rtts,) = constants
    transport = transports()[row.transport]
    rtt_s = 2 * row.delay_s
    per_stream = min(FLOW_BYTES_PER_S, transport.window_bytes / rtt_s if rtt_s else math.inf)
    link = min(NIC_BYTES_PER_S, row.rate_gbit * 1e9 / 8 * PAYLOAD_PER_FRAME)
    rate = min(link, transport.n_streams * per_stream)
    return row.delay_s + message_rtts * rtt_s + row.n_bytes / transport.efficiency_frac / rate


def fit(formula: Formula, rows: Sequence[Row], n_constants: int) -> np.ndarray:
    """Constants with the least squares of the logarithms of predicted over measured; all are positive."""

    def misses(logs: np.ndarray) -> list[float]:
        return [math.log(formula(row, np.exp(logs)) * 1e3 / row.time_ms) for row in rows]

    return np.exp(least_squares(misses, np.zeros(n_constants), xtol=1e-12, ftol=1e-12, gtol=1e-12).x)


def errors_left_out(formula: Formula, rows: Sequence[Row], n_constants: int) -> np.ndarray:
    """Relative error of each row, by constants that are fitted without it."""
    kept = list(itertools.combinations(rows, len(rows) - 1))[::-1]
    return np.array(
        [
            formula(row, fit(formula, others, n_constants)) * 1e3 / row.time_ms - 1.0
            for row, others in zip(rows, kept, strict=True)
        ]
    )


def main() -> None:
    """Write a line for each fit."""
    for name, formula, rows, columns in (
        ("nccl", nccl_s, limited_all_reduces("nccl"), ("efficiency_frac", "pass_rtts")),
        ("nccl", message_s, delayed_messages("nccl"), ("message_rtts",)),
        ("gloo", gloo_s, limited_all_reduces("gloo"), ("step_bytes",)),
        ("gloo", message_s, delayed_messages("gloo"), ("message_rtts",)),
    ):
        fitted = fit(formula, rows, len(columns))
        left_out = np.abs(errors_left_out(formula, rows, len(columns)))
        constants = ", ".join(
            f"{column} {value:.5g} (catalog {getattr(transports()[name], column):.5g})"
            for column, value in zip(columns, fitted, strict=True)
        )
        sys.stdout.write(
            f"{name}: {len(rows)} rows, {constants}; of a row left out: "
            f"mean error {left_out.mean():.2%}, worst {left_out.max():.2%}\n"
        )


if __name__ == "__main__":
    main()
