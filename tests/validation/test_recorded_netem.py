"""Packets recorded through a real kernel's netem and tbf, against the model for their send times; nothing is fitted."""

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ks_2samp, mannwhitneyu
from validation.netem_cases import (
    FOLDER,
    Case,
    block_interval,
    holm,
    predicted_arrivals,
    predicted_us,
    quantile_interval,
    read_cases,
    read_losses,
    reordered,
    runs,
    textbook,
)

from hetsim.network.distributions import SCALE
from hetsim.network.netem import Chance, Netem
from hetsim.network.qdisc import parse
from hetsim.network.tbf import Tbf

RESOLUTION_US = 100.0
"""A packet that waited for a timer is 20 to 40 us later than one that did not, whatever netem says."""

FRACS = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Without impairment, 1 % of the packets are late by 50 to 160 us: this says nothing of netem."""

STALLS = {
    ("delay1", "p1"): (0.95,),
    ("delay1", "b100"): (0.95,),
    ("rate10m_oh20", "p1"): (0.95,),
    ("rate10m_oh0_cell100_20", "p1"): (0.75, 0.95),
    ("rate10m_oh0_cell100_20", "b100"): (0.05,),
}
"""Quantiles where the guest's own lateness decides, always upwards.

5 % of the timers of 1 ms are late by 0.14 to 0.19 ms, up to 3 ms; those of 10 ms by less. At loads of 82 and 96 % a
queue keeps such a stall for tens of packets (lag-1 correlation 0.57 and 0.96)."""

ADDED_UP = ("delay5_j5_exper", "slot10_pk5")
"""The first is tested against itself; delays of the second are the sum of hundreds of slots, so these are compared."""

INDEPENDENT = (
    "delay50_j10",
    "delay50_j10_c25",
    "delay50_j10_c75",
    "delay50_j10_normal_c25",
    "delay20_j20_normal",
)
"""Settings where every packet has a delay of its own."""

N_SEEDS = 8


def arrived(delay_us: np.ndarray) -> np.ndarray:
    return delay_us[~np.isnan(delay_us)]


def ks(recorded_us: np.ndarray, predicted: np.ndarray) -> float:
    """Kolmogorov and Smirnov's test at the resolution of the recording."""
    return float(ks_2samp(arrived(recorded_us) // RESOLUTION_US, arrived(predicted) // RESOLUTION_US).pvalue)


def many(case: Case, qdisc: Netem | None = None) -> np.ndarray:
    return np.concatenate([predicted_us(case, seed=seed, qdisc=qdisc) for seed in range(N_SEEDS)])


def counts(events: np.ndarray, n_block: int) -> np.ndarray:
    """Events in blocks long enough to be independent."""
    return events[: events.size // n_block * n_block].reshape(-1, n_block).sum(axis=1)


def delay_tests(qdisc_of=lambda case: parse(case.qdisc)) -> Iterator[tuple[str, float]]:
    for case in read_cases(*INDEPENDENT):
        yield case.name, ks(case.recorded_us, many(case, qdisc_of(case)))


def queue_tests() -> Iterator[tuple[str, float]]:
    """A queue makes neighbours alike: one of 20 packets, and the mean of each burst."""
    for case in read_cases("delay25_j5_normal_loss1_rate20m", mode="p1"):
        yield case.name, ks(case.recorded_us[::20], many(case)[::20])
    for case in read_cases("delay25_j5_normal_loss1_rate20m", mode="b100"):
        recorded, predicted = (np.nanmean(x.reshape(-1, 100), axis=1) for x in (case.recorded_us, many(case)))
        yield case.name, float(ks_2samp(recorded, predicted).pvalue)


def reorder_tests(qdisc_of=lambda case: parse(case.qdisc)) -> Iterator[tuple[str, float]]:
    for case in read_cases("reorder25_50", "reorder25_50_gap5"):
        is_early, is_predicted = case.recorded_us < 5000.0, many(case, qdisc_of(case)) < 5000.0
        yield case.name, float(mannwhitneyu(counts(is_early, 100), counts(is_predicted, 100)).pvalue)


def loss_tests(qdisc_of=lambda losses: parse(losses.qdisc)) -> Iterator[tuple[str, float]]:
    for losses in read_losses():
        qdisc, n = qdisc_of(losses), losses.n_arrived.size
        predicted = np.concatenate([predicted_arrivals(qdisc, n, seed=seed) for seed in range(N_SEEDS)])
        name = f"{losses.setting} {losses.repetition}"
        for what, n_arrived in (("loss", 0), ("duplicate", 2)):
            recorded_counts, predicted_counts = (counts(x == n_arrived, 200) for x in (losses.n_arrived, predicted))
            if recorded_counts.any() or predicted_counts.any():
                yield f"{name} {what}", float(mannwhitneyu(recorded_counts, predicted_counts).pvalue)
        yield f"{name} runs", float(mannwhitneyu(runs(losses.n_arrived == 0), runs(predicted == 0)).pvalue)


def slot_tests() -> Iterator[tuple[str, float]]:
    for case in read_cases("slot10_pk5"):
        yield case.name, float(ks_2samp(slots_us(case, case.recorded_us), slots_us(case, predicted_us(case))).pvalue)


def slots_us(case: Case, delay_us: np.ndarray) -> np.ndarray:
    """Times between the slots of five packets."""
    return np.diff(np.sort(arrived(case.send_us + delay_us))[::5])


def measured_table_tests(folder: Path) -> Iterator[tuple[str, float]]:
    """`experimental` is a table of measurements: one made of the first recording is tested on the second."""
    first, second = read_cases("delay5_j5_exper")
    fracs = (np.arange(4096) + 0.5) / 4096
    entries = np.rint((np.quantile(first.recorded_us, fracs) / 5000.0 - 1.0) * SCALE).clip(-32768, 32767).astype(int)
    path = folder / "measured.dist"
    path.write_text("# in 1/8192 of the jitter\n" + "\n".join(map(str, entries)))
    qdisc = parse(second.qdisc.replace("experimental", "./measured.dist"), folder)
    yield second.name, ks(second.recorded_us, many(second, qdisc))


def test_recording_and_model_are_indistinguishable(tmp_path: Path) -> None:
    tests = [
        *delay_tests(),
        *queue_tests(),
        *reorder_tests(),
        *loss_tests(),
        *slot_tests(),
        *measured_table_tests(tmp_path),
    ]
    assert len(tests) == 12 + 2 + 2 + 17 + 1 + 1
    corrected = holm([p for _, p in tests])
    assert [(name, p) for (name, p), q in zip(tests, corrected, strict=True) if q < 0.01] == []


def literal(qdisc: Netem) -> Netem:
    """Chances as they are written, delays without a table."""
    loss = Chance(qdisc.loss.probability_frac) if isinstance(qdisc.loss, Chance) else Chance(qdisc.loss.frac)
    return replace(qdisc, loss=loss, reorder=Chance(qdisc.reorder.probability_frac), distribution="uniform")


def test_the_same_tests_reject_the_textbook() -> None:
    tests = dict(
        [
            *delay_tests(lambda case: literal(parse(case.qdisc))),
            *reorder_tests(lambda case: literal(parse(case.qdisc))),
            *loss_tests(lambda losses: literal(parse(losses.qdisc))),
        ]
    )
    corrected = dict(zip(tests, holm(list(tests.values())), strict=True))
    rejected = {name for name, p in corrected.items() if p < 0.01}
    assert rejected >= {
        *(f"{setting} p1 r{r}" for setting in ("delay50_j10_normal_c25", "delay20_j20_normal") for r in (1, 2)),
        *(f"{setting} p1 r1" for setting in ("reorder25_50", "reorder25_50_gap5")),
        *(f"{setting} r{r} loss" for setting in ("loss5_c25", "loss10_c50") for r in (1, 2)),
        *(f"gemodel_1_10_70_01 r{r} runs" for r in (1, 2)),
    }


def test_quantiles_of_delays() -> None:
    """Within 2 % or 100 us, or in the recording's own interval where that is wider; 99 % for all intervals together."""
    needed = set()
    level = 1.0 - 0.01 / (len(FRACS) * len(read_cases(*INDEPENDENT)))
    for case in read_cases():
        if case.setting in ADDED_UP:
            continue
        predicted, recorded = many(case), case.recorded_us
        for frac in FRACS:
            ours, theirs = np.nanquantile(predicted, frac), np.nanquantile(recorded, frac)
            if abs(ours - theirs) <= max(0.02 * ours, RESOLUTION_US):
                continue
            if (case.setting, case.mode) in STALLS:
                assert theirs > ours
                needed.add((case.setting, case.mode, frac))
            else:
                low, high = quantile_interval(recorded, frac, level=level)
                assert case.setting in INDEPENDENT
                assert low <= ours <= high, (case.name, frac, ours, theirs)
    assert needed == {(setting, mode, frac) for (setting, mode), fracs in STALLS.items() for frac in fracs}


def test_fractions_of_loss_and_duplication() -> None:
    for losses in read_losses():
        netem = parse(losses.qdisc)
        assert isinstance(netem, Netem)
        for n_arrived, frac in ((0, netem.loss_frac), (2, netem.duplicate_frac)):
            low, high = block_interval(losses.n_arrived == n_arrived, 200)
            assert low <= frac <= high or frac == 0.0 == np.mean(losses.n_arrived == n_arrived)


def test_times_between_slots() -> None:
    """A slot begins 0.11 ms late, as its timer does."""
    (case,) = read_cases("slot10_pk5")
    recorded, predicted = (slots_us(case, delay_us).mean() for delay_us in (case.recorded_us, predicted_us(case)))
    assert recorded == pytest.approx(predicted, rel=0.04)
    assert recorded == pytest.approx(10_000.0 + 110.0, rel=0.005)
    assert predicted == pytest.approx(10_000.0, abs=4 * 10_000.0 / math.sqrt(12 * 540))


@pytest.mark.parametrize("setting", ["limit100_delay50", "tbf10m_b10k_l50", "delay25_j5_normal_loss1_rate20m"])
def test_fractions_of_dropped_packets(setting: str) -> None:
    for case in read_cases(setting):
        low, high = block_interval(np.isnan(case.delay_us), 100)
        assert low <= np.isnan(many(case)).mean() <= high or not np.isnan(case.delay_us).any()


def test_fractions_of_reordered_packets() -> None:
    for case in read_cases(*INDEPENDENT, "reorder25_50", "reorder25_50_gap5"):
        low, high = block_interval(reordered(case.send_us, case.recorded_us), 100)
        predicted = [reordered(case.send_us, predicted_us(case, seed=seed)).mean() for seed in range(N_SEEDS)]
        assert low <= np.mean(predicted) <= high, case.name
    for case in read_cases("reorder25_50", "reorder25_50_gap5"):
        low, high = block_interval(case.recorded_us < 5000.0, 100)
        netem = parse(case.qdisc)
        assert isinstance(netem, Netem)
        assert low <= netem.reorder_frac <= high


def test_correlation_of_delays_does_not_show() -> None:
    for setting, written in (("delay50_j10_c25", 0.25), ("delay50_j10_c75", 0.75)):
        for case in read_cases(setting):
            predicted = predicted_us(case)
            for delay_us in (case.recorded_us, predicted):
                lag_1 = np.corrcoef(delay_us[1:], delay_us[:-1])[0, 1]
                assert abs(lag_1) < 0.05 < written


def test_rates_beat_the_textbook_by_far() -> None:
    """Which has no queue: bursts, overload and cells are off by tens of milliseconds there."""
    errors_us = {}
    for case in read_cases("rate10m", "rate10m_delay10", "rate1m_delay20", "rate10m_oh20"):
        qdisc = parse(case.qdisc)
        assert not isinstance(qdisc, Tbf)
        medians = [np.median(x) for x in (predicted_us(case), textbook(case, qdisc))]
        errors_us[case.name] = [abs(m - np.median(case.recorded_us)) for m in medians]
    crowded = [name for name in errors_us if name.split()[1] != "p1" and name.split()[1] != "p10"]
    assert len(crowded) == 5
    for name in crowded:
        ours, theirs = errors_us[name]
        assert ours < 200.0
        assert theirs > 20_000.0
    assert max(ours for ours, _ in errors_us.values()) < 600.0


def test_every_recording_is_used() -> None:
    assert len(read_cases()) == 45
    assert len(list(FOLDER.glob("*.csv.gz"))) == 45 + 1
