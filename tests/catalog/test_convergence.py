"""What is known of convergence, and how it was fitted to published runs."""

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hetsim.catalog import datasets
from hetsim.catalog.convergence import (
    CONVERGENCE_COLUMNS,
    convergences,
    descriptions,
    efficiency_of,
    parse_convergence,
    targets,
)
from hetsim.catalog.fit_convergence import ERROR_COLUMNS, RUN_COLUMNS, Series, errors, fit, main, read_series
from hetsim.catalog.rows import read_rows
from hetsim.errors import CatalogError
from hetsim.metrics.efficiency import updates_to_target
from hetsim.workload.table import MODELS

RUNS = Path(__file__).parent.parent / "data" / "convergence.csv"
SHIPPED = Path(__file__).parent.parent.parent / "hetsim" / "catalog" / "convergence.csv"
GOOD = "resnet50,imagenet,top-1 75 %,5000,16000,200,12800,measured,a fit,a paper"
RUN = "resnet50,imagenet,top-1 75 %,{},{},1,pollux_validation,a file"


def parse(line):
    (row,) = read_rows([",".join(CONVERGENCE_COLUMNS), line], "convergence.csv", CONVERGENCE_COLUMNS)
    return parse_convergence(row)


def write_runs(folder, *lines):
    path = folder / "runs.csv"
    path.write_text("\n".join([",".join(RUN_COLUMNS), *lines]) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def series():
    return {each.target: each for each in read_series(RUNS)}


def test_a_row_says_what_it_says():
    found = parse(GOOD)
    assert (found.model, found.data_set, found.min_batch, found.max_batch) == ("resnet50", "imagenet", 200.0, 12800.0)
    known = found.efficiency
    assert (known.min_steps, known.noise_batch, known.delay_factor, known.delay_exponent) == (5000.0, 16000.0, 1.0, 1.0)
    assert (known.target, known.basis, known.method, known.source) == ("top-1 75 %", "measured", "a fit", "a paper")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("imagenet", "imagenot", "no data_set 'imagenot'"),
        (",5000,", ",0,", "min_steps '0' must be more than zero"),
        (",16000,", ",many,", "noise_batch_samples 'many' is not a number"),
        ("200,12800", "12800,200", "min_batch_samples 12800 is above max_batch_samples 200"),
        ("measured", "guessed", "no basis 'guessed'"),
        ("a paper", "", "source is empty"),
    ],
)
def test_a_malformed_row_is_an_error_with_its_place(old, new, message):
    with pytest.raises(CatalogError, match=f"convergence.csv:2: {message}"):
        parse(GOOD.replace(old, new))


def test_what_is_listed_can_be_named_in_a_scenario():
    assert {row.model for row in convergences()} <= set(MODELS)
    assert {row.data_set for row in convergences()} <= set(datasets())
    assert {(row.model, row.data_set) for row in convergences()} == {("resnet18", "cifar10"), ("resnet50", "imagenet")}
    assert len(descriptions()) == len(convergences()) == 3
    assert all("least squares" in text for text in descriptions().values())


def test_lookup_takes_the_first_target_or_the_one_that_is_named():
    assert targets("resnet50", "imagenet") == ("top-1 75 %", "top-1 75.9 %")
    assert efficiency_of("resnet50", "imagenet", batch=3200).target == "top-1 75 %"
    assert efficiency_of("resnet50", "imagenet", batch=3200, target="top-1 75.9 %").noise_batch > 40_000
    assert efficiency_of("resnet50", "imagenet", batch=3200, target="top-1 99 %") is None


@pytest.mark.parametrize(("model", "data_set"), [("mobilenet_v1", "imagenet"), ("resnet50", "cifar10"), ("x", "y")])
def test_nothing_is_guessed_where_nothing_is_known(model, data_set):
    assert targets(model, data_set) == ()
    assert efficiency_of(model, data_set, batch=256) is None


@pytest.mark.parametrize(
    ("batch", "basis"), [(199, "derived"), (200, "measured"), (12800, "measured"), (12801, "derived")]
)
def test_outside_of_the_range_of_the_runs_it_is_derived(batch, basis):
    known = efficiency_of("resnet50", "imagenet", batch=batch)
    assert (known.basis, known.min_steps) == (basis, efficiency_of("resnet50", "imagenet", batch=3200).min_steps)


@settings(max_examples=15, deadline=None)
@given(st.floats(1.0, 1e6), st.floats(1.0, 1e6))
def test_exact_runs_give_back_their_figures(min_steps, noise_batch):
    batches = noise_batch * np.array([0.05, 0.3, 1.0, 4.0, 30.0])
    found = fit(batches, min_steps * (1.0 + noise_batch / batches))
    assert found == (pytest.approx(min_steps, rel=1e-6), pytest.approx(noise_batch, rel=1e-6))


def test_runs_without_a_bend_have_no_least_updates_to_speak_of():
    batches = np.array([100.0, 200.0, 400.0])
    least, noise = fit(batches, 1e6 / batches)
    assert least * noise == pytest.approx(1e6, rel=1e-3)
    assert least < 0.01 * 1e6 / 400.0


def test_a_batch_left_out_has_no_part_in_its_own_prediction():
    batches = np.array([100.0, 200.0, 400.0, 800.0])
    updates = 50.0 * (1.0 + 300.0 / batches)
    updates[2] *= 10.0
    off = errors(
        Series(
            model="m", data_set="d", target="t", table="pollux_validation", batches=batches, updates=updates, n_runs=4
        )
    )
    assert off.held_out[2] == pytest.approx(-0.9, abs=1e-6)
    assert abs(off.fit[2]) < 0.9
    others = np.delete(updates * batches, 2)
    assert off.constant_samples[2] == pytest.approx(np.exp(np.log(others).mean()) / 400.0 / updates[2] - 1.0)
    assert off.constant_updates[2] == pytest.approx(np.exp(np.log(np.delete(updates, 2)).mean()) / updates[2] - 1.0)


def test_the_catalog_is_what_the_fit_makes_of_the_runs(tmp_path):
    """Digits beyond the third may differ with the processor's library of functions."""
    out = tmp_path / "convergence.csv"
    main([str(RUNS), "--out", str(out)])
    made, shipped = (list(csv.DictReader(path.read_text(encoding="utf-8").splitlines())) for path in (out, SHIPPED))
    assert tuple(made[0]) == CONVERGENCE_COLUMNS
    for new, old in zip(made, shipped, strict=True):
        for column in ("min_steps", "noise_batch_samples"):
            assert float(new.pop(column)) == pytest.approx(float(old.pop(column)), rel=1e-3)
        assert new == old


@pytest.mark.parametrize(
    ("target", "worst_fit", "median_held_out", "worst_held_out"),
    [("top-1 94 %", 0.06, 0.035, 0.085), ("top-1 75 %", 0.015, 0.015, 0.02), ("top-1 75.9 %", 0.16, 0.04, 0.17)],
)
def test_a_batch_left_out_is_predicted_better_than_by_simpler_rules(
    series, target, worst_fit, median_held_out, worst_held_out
):
    off = errors(series[target])
    assert np.abs(off.fit).max() < worst_fit
    assert np.median(np.abs(off.held_out)) < median_held_out
    assert np.abs(off.held_out).max() < worst_held_out
    for simpler in (off.constant_samples, off.constant_updates):
        assert np.abs(simpler).max() > 2.5 * np.abs(off.held_out).max()
        assert np.median(np.abs(simpler)) > 6.0 * np.median(np.abs(off.held_out))


@pytest.mark.parametrize(
    ("target", "split", "above", "below"),
    [("top-1 94 %", 600.0, 0.1, 0.06), ("top-1 75 %", 2000.0, 0.04, 0.04), ("top-1 75.9 %", 10_000.0, 0.15, 0.18)],
)
def test_large_batches_are_predicted_from_small_ones_and_small_from_large(series, target, split, above, below):
    each = series[target]
    small = each.batches < split
    for kept, limit in ((small, above), (~small, below)):
        least, noise = fit(each.batches[kept], each.updates[kept])
        off = least * (1.0 + noise / each.batches[~kept]) / each.updates[~kept] - 1.0
        samples = np.exp(np.log((each.batches * each.updates)[kept]).mean()) / each.batches[~kept]
        assert np.abs(off).max() < limit
        assert np.abs(off).max() < np.abs(samples / each.updates[~kept] - 1.0).max()


def test_the_catalog_gives_back_the_runs_it_was_fitted_to():
    """Pollux artifact, simulator/traces: iterations at the end of the first epoch at 94 % and at 75 %."""
    for model, data_set, batch, updates in (
        ("resnet18", "cifar10", 512, 7265),
        ("resnet18", "cifar10", 4096, 1810),
        ("resnet50", "imagenet", 200, 429190),
        ("resnet50", "imagenet", 12800, 11480),
    ):
        known = efficiency_of(model, data_set, batch=batch)
        assert updates_to_target(known, batch, 0.0) == pytest.approx(updates, rel=0.04)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([RUN.format(8, 100), RUN.format(16, 60)], "runs.csv:3: 2 batches to one target, at least 3 are needed"),
        ([RUN.format(8, 100), RUN.format(8, 60)], "runs.csv:3: batch 8 comes twice"),
        ([RUN.format(8, 100).replace("pollux_validation", "hearsay")], "runs.csv:2: no table 'hearsay'"),
        (
            [RUN.format(8, 100), RUN.format(16, 60).replace("pollux_validation", "mlperf_resnet50")],
            "runs.csv:3: runs of pollux_validation and of mlperf_resnet50 to one target",
        ),
        ([RUN.format(8, 100).replace("imagenet", "imagenot")], "runs.csv:2: no data_set 'imagenot'"),
        ([RUN.format(8, -1)], "runs.csv:2: updates '-1' must be more than zero"),
    ],
)
def test_runs_that_cannot_be_fitted_are_an_error_with_their_place(tmp_path, lines, message):
    with pytest.raises(CatalogError, match=message):
        read_series(write_runs(tmp_path, *lines))


def test_the_script_says_which_file_is_missing(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main([str(tmp_path / "none.csv")])
    assert "none.csv: no such file" in capsys.readouterr().err


def test_the_script_writes_the_error_of_every_row(tmp_path, capsys):
    main([str(write_runs(tmp_path, *(RUN.format(b, 50 * (1 + 300 / b)) for b in (100, 200, 400)))), "--errors"])
    header, *rows = csv.reader(capsys.readouterr().out.splitlines())
    assert tuple(header) == ERROR_COLUMNS
    assert [row[3] for row in rows] == ["100", "200", "400"]
    assert {abs(float(cell)) for row in rows for cell in row[5:7]} == {0.0}
    assert all(float(row[8]) for row in rows)
