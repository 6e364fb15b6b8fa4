"""Packets recorded through a real kernel's netem and tbf; what the model and a textbook make of their send times."""

import csv
import gzip
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import NormalDist

import numpy as np

from hetsim.network.netem import Netem
from hetsim.network.qdisc import Packets, parse, pass_through

FOLDER = Path(__file__).parents[1] / "data" / "netem"

BASELINE_OF = {"p1": "p1", "p10": "p1", "o1": "p1", "p02": "p02", "b100": "b100", "b20": "b100"}
"""Baselines were recorded for three of the ways to send."""

N_BURST = {"b100": 100, "b20": 20}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One recording: a qdisc, when packets were sent in microseconds, and their delays; no number for lost ones."""

    setting: str
    mode: str
    repetition: str
    qdisc: str
    wire_bytes: int
    send_us: np.ndarray
    delay_us: np.ndarray
    last_receive_us: float

    @property
    def name(self) -> str:
        return f"{self.setting} {self.mode} {self.repetition}"

    @property
    def recorded_us(self) -> np.ndarray:
        """Delays without the baseline."""
        return self.delay_us - baseline_us(self)


def read_cases(*settings: str, mode: str = "") -> list[Case]:
    """The recordings of some settings, or of all."""
    with (FOLDER / "settings.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if not settings or row["setting"] in settings]
    return [_case(tuple(row.items())) for row in rows if mode in {"", row["mode"]}]


@lru_cache
def _case(items: tuple[tuple[str, str], ...]) -> Case:
    row = dict(items)
    name = f"{row['setting']}__{row['mode']}__{row['repetition']}.csv.gz"
    with gzip.open(FOLDER / name, "rt", newline="") as file:
        packets = [(int(after), float(delay or "nan")) for after, delay in list(csv.reader(file))[1:]]
    after_us, delay_us = np.array(packets).T
    return Case(
        setting=row["setting"],
        mode=row["mode"],
        repetition=row["repetition"],
        qdisc=row["qdisc"],
        wire_bytes=int(row["wire_bytes"]),
        send_us=np.cumsum(after_us),
        delay_us=delay_us,
        last_receive_us=float(row["last_receive_us"]),
    )


def baseline_us(case: Case) -> float:
    """Median delay without impairment, over repetitions.

    A queue passes on to a burst what its first packet pays, which is more: 150 ms of silence lie before it.
    """
    has_queue = "rate" in case.qdisc and case.mode in N_BURST
    column = "first_of_burst_median_us" if has_queue else "median_us"
    with (FOLDER / "baseline.csv").open(newline="") as file:
        values = [float(row[column]) for row in csv.DictReader(file) if row["mode"] == BASELINE_OF[case.mode]]
    return float(np.median(values))


def predicted_us(case: Case, *, seed: int = 0, qdisc: Netem | None = None) -> np.ndarray:
    """Delays of the model for the packets of a recording; no number for lost ones."""
    send_ns = (case.send_us * 1000).astype(np.int64)
    packets = pass_through(qdisc or parse(case.qdisc), send_ns, case.wire_bytes, seed)
    delay_us = np.full(send_ns.size, np.nan)
    arrived = ~packets.is_lost & ~packets.is_copy
    owner = packets.packet[arrived]
    delay_us[owner] = packets.receive_ns[arrived] / 1000 - case.send_us[owner]
    # A recording ended 1.5 s after its last packet, whatever was still on its way.
    delay_us[case.send_us + delay_us > case.send_us[-1] + 1.5e6] = np.nan
    return delay_us


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """One recording of loss or duplication: how many of each packet arrived."""

    setting: str
    repetition: str
    qdisc: str
    n_arrived: np.ndarray


def read_losses() -> list[Losses]:
    """The recordings of loss and duplication."""
    with gzip.open(FOLDER / "losses.csv.gz", "rt", newline="") as file:
        return [
            Losses(
                setting=row["setting"],
                repetition=row["repetition"],
                qdisc=row["qdisc"],
                n_arrived=np.array(["x.2".index(letter) for letter in row["packets"]]),
            )
            for row in csv.DictReader(file)
        ]


def predicted_arrivals(qdisc: str | Netem, n: int, *, seed: int = 0) -> np.ndarray:
    """How many of each packet arrive, of packets sent every 250 us."""
    packets: Packets = pass_through(qdisc, np.arange(n) * 250_000, 1000, seed)
    return np.bincount(packets.packet[~packets.is_lost], minlength=n)


def textbook(case: Case, qdisc: Netem) -> np.ndarray:
    """Delays as they are usually written down: each within the jitter on its own, and the queue of a fixed rate."""
    rng = np.random.default_rng(0)
    delay_us = 1e6 * (qdisc.delay_s + qdisc.jitter_s * rng.uniform(-1.0, 1.0, case.send_us.size))
    delay_us[rng.random(delay_us.size) < qdisc.reorder.probability_frac] = 0.0
    if qdisc.rate_bytes_per_s:
        delay_us += 1e6 * case.wire_bytes / qdisc.rate_bytes_per_s
    return delay_us


def block_interval(values: np.ndarray, n_block: int, *, n_draws: int = 2000) -> tuple[float, float]:
    """The 99 % interval of a mean by a bootstrap of blocks, since neighbours depend on each other.

    Each draw is measured in its own standard errors, as rare losses are skewed (Efron and Tibshirani 1993, ch. 12.5).
    """
    n = values.size // n_block * n_block
    means = values[:n].reshape(-1, n_block).mean(axis=1)
    draws = means[np.random.default_rng(0).integers(0, means.size, (n_draws, means.size))]
    centre, error = means.mean(), means.std(ddof=1) / math.sqrt(means.size)
    t = (draws.mean(axis=1) - centre) / np.maximum(draws.std(axis=1, ddof=1) / math.sqrt(means.size), 1e-12)
    low, high = np.quantile(t, [0.005, 0.995])
    return float(centre - high * error), float(centre - low * error)


def quantile_interval(values: np.ndarray, frac: float, *, level: float) -> tuple[float, float]:
    """An interval of a quantile, as wide as a bootstrap of blocks of 50 says."""
    blocks = values[: values.size // 50 * 50].reshape(-1, 50)
    picks = np.random.default_rng(0).integers(0, len(blocks), (200, len(blocks)))
    error = np.nanquantile(blocks[picks].reshape(len(picks), -1), frac, axis=1).std(ddof=1)
    centre, z = np.nanquantile(values, frac), NormalDist().inv_cdf(0.5 + level / 2.0)
    return float(centre - z * error), float(centre + z * error)


def runs(is_lost: np.ndarray) -> np.ndarray:
    """Lengths of runs of losses."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], is_lost.astype(int), [0]))))
    return edges[1::2] - edges[::2]


def reordered(send_us: np.ndarray, delay_us: np.ndarray) -> np.ndarray:
    """Of each packet that arrived, in the order of arrival, whether one sent later came before it."""
    arrived = np.flatnonzero(~np.isnan(delay_us))
    order = arrived[np.argsort((send_us + delay_us)[arrived], kind="stable")]
    return order < np.maximum.accumulate(order)


def holm(p_values: Sequence[float]) -> np.ndarray:
    """The p-values corrected for their number (Holm 1979, Scand. J. Statist. 6, 65)."""
    p = np.asarray(p_values)
    order = np.argsort(p)
    corrected = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    out = np.empty(p.size)
    out[order] = np.minimum(corrected, 1.0)
    return out
