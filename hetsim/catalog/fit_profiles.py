"""Fit the step-time profiles of profiles.csv: ``python -m hetsim.catalog.fit_profiles FOLDER [--out FILE]``.

The step of batch B is ``a + b * B``, with a and b not negative, fitted in log space with a soft-L1 loss, so that small
and large batches weigh the same and an outlier little. Where one batch only was measured, or batches too near each
other to tell a from b, a is zero and the range of the profile says so.
"""

import argparse
import csv
import math
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import numpy as np
import numpy.typing as npt

from hetsim.catalog.measurements import MODELS, SOURCES, Cells, Source
from hetsim.catalog.tables import PROFILE_COLUMNS, devices
from hetsim.errors import CatalogError
from hetsim.model.workload import StepTimeProfile

Key = tuple[str, str, int]
"""Model, device, input pixels."""

FORWARD_FRAC = 1.0 / 3.0
"""Share of the forward pass where it was not timed apart: the backward pass computes two products of the same size,
for the inputs and for the weights, so it costs twice the forward (Amodei and Hernandez, AI and Compute, 2018)."""

SOFT_L1_SCALE = 0.02
"""Relative error above which a point counts as an outlier: repeated runs differ by 1 to 3 % (TensorFlow page, ResNet-50
on EC2)."""

MIN_SPREAD = 1.5
"""Largest over smallest batch below which a and b cannot be told apart: at 8/7 an error of 1 % of one step moves a by
7 % of that step."""

INCEPTION_PIXELS = 299
"""Input of Inception-v3, Szegedy et al., arXiv:1512.00567, section 8."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One measurement of one step.

    Parameters
    ----------
    batch : int
        Samples.
    step_s : float
        Seconds, of the part.
    part : str
        ``step``, ``forward`` or ``backward``.
    place : str
        Row's own source in its table.
    """

    batch: int
    step_s: float
    part: str
    place: str


def fit_line(batches: Sequence[int], steps_s: Sequence[float]) -> tuple[float, float]:
    """Fit ``step = a + b * batch`` with a and b not negative, in log space with a soft-L1 loss.

    Parameters
    ----------
    batches : sequence of int, shape (n_points,)
        Samples.
    steps_s : sequence of float, shape (n_points,)
        Seconds.

    Returns
    -------
    tuple of float
        a in seconds, b in seconds per sample; a is zero where the batches spread by less than `MIN_SPREAD`.

    Examples
    --------
    >>> a_s, b_s = fit_line([8, 16, 32], [0.018, 0.026, 0.042])
    >>> round(a_s, 6), round(b_s, 6)
    (0.01, 0.001)
    """
    from scipy.optimize import least_squares, nnls

    batch = np.asarray(batches, dtype=np.float64)
    step_s = np.asarray(steps_s, dtype=np.float64)
    columns = np.stack([np.ones_like(batch), batch], axis=1)
    if batch.max() < MIN_SPREAD * batch.min():
        columns[:, 0] = 0.0
    start, _ = nnls(columns / step_s[:, None], np.ones_like(step_s))
    scale = np.array([step_s.min(), (step_s / batch).max()])

    def residuals(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        fitted_s: npt.NDArray[np.float64] = columns @ (x * scale)
        return np.log(fitted_s / step_s)

    free = columns.any(axis=0)
    guess = np.maximum(start / scale, 1e-9)
    best = least_squares(
        residuals,
        guess,
        bounds=([0.0, 1e-12], np.inf),
        loss="soft_l1",
        f_scale=SOFT_L1_SCALE,
        xtol=1e-14,
        ftol=1e-14,
        gtol=1e-14,
    )
    a_s, b_s = best.x * scale * free
    return float(a_s), float(b_s)


def read_points(folder: Path, source: Source) -> Iterator[tuple[Key, Point]]:
    """Yield the clean single-device measurements of one source.

    Parameters
    ----------
    folder : Path
        Where the tables are.
    source : Source
        Which rows, and how to read them.

    Yields
    ------
    tuple of (Key, Point)
        In the order of the file.

    Raises
    ------
    CatalogError
        If the table is missing.
    """
    path = folder / f"{source.table}.csv"
    if not path.is_file():
        raise CatalogError(f"{path}: no such table")
    with path.open(encoding="utf-8", newline="") as lines:
        for cells in csv.DictReader(lines):
            if _is_wanted(cells, source):
                yield _key(cells, source), _point(cells, source)


def _is_wanted(cells: Cells, source: Source) -> bool:
    known = cells["hardware"] in source.devices and cells["model"] in MODELS
    return known and cells["n_workers"] == "1" and source.keep(cells)


def _key(cells: Cells, source: Source) -> Key:
    model = MODELS[cells["model"]]
    pixels = INCEPTION_PIXELS if model == "inception_v3" else source.input_pixels
    return model, source.devices[cells["hardware"]], pixels


def _point(cells: Cells, source: Source) -> Point:
    return Point(
        batch=int(cells["batch_per_worker"]),
        step_s=source.step_s(cells),
        part=source.part(cells),
        place=cells["source"],
    )


def fit_profile(key: Key, points: Sequence[Point], citation: str) -> StepTimeProfile:
    """Return the profile of one model on one device.

    Parameters
    ----------
    key : Key
        Model, device, input pixels.
    points : sequence of Point
        All of one source.
    citation : str
        The source.

    Returns
    -------
    StepTimeProfile
        Its source says how many points there were, how far off the worst is, and how forward and backward were split.
    """
    parts = {part: [point for point in points if point.part == part] for part in ("step", "forward", "backward")}
    if parts["step"]:
        a_s, b_s = _fit(parts["step"])
        forward, backward = ((share * a_s, share * b_s) for share in (FORWARD_FRAC, 1.0 - FORWARD_FRAC))
        worst = _worst(parts["step"], a_s, b_s)
        split = "backward taken as 2 x forward"
    else:
        forward, backward = _fit(parts["forward"]), _fit(parts["backward"])
        worst = max(_worst(parts["forward"], *forward), _worst(parts["backward"], *backward))
        split = "forward and backward timed apart"
    batches = sorted(point.batch for point in points)
    return StepTimeProfile(
        model=key[0],
        device=key[1],
        forward_base_s=forward[0],
        forward_per_sample_s=forward[1],
        backward_base_s=backward[0],
        backward_per_sample_s=backward[1],
        min_batch=batches[0],
        max_batch=batches[-1],
        input_pixels=key[2],
        source=f"{citation}; {_places(points)}; {len(points)} points, worst {worst:.1%} off the fit; {split}",
    )


def _fit(points: Sequence[Point]) -> tuple[float, float]:
    return fit_line([point.batch for point in points], [point.step_s for point in points])


def _worst(points: Iterable[Point], a_s: float, b_s: float) -> float:
    return max(abs((a_s + b_s * point.batch) / point.step_s - 1.0) for point in points)


def _places(points: Iterable[Point]) -> str:
    places = list(dict.fromkeys(point.place for point in points))
    others = f" and {len(places) - 4} more" if len(places) > 4 else ""
    return ", ".join(places[:4]) + others


def fit_all(folder: Path, sources: Sequence[Source] = SOURCES) -> list[StepTimeProfile]:
    """Fit every profile that the tables allow; the first source that measured a model on a device is taken.

    Parameters
    ----------
    folder : Path
        Where the tables are.
    sources : sequence of Source
        In order of preference.

    Returns
    -------
    list of StepTimeProfile
        In the order of devices.csv, then by model and input size.

    Raises
    ------
    CatalogError
        If a table is missing.
    """
    chosen: dict[Key, StepTimeProfile] = {}
    for source in sources:
        groups: defaultdict[Key, list[Point]] = defaultdict(list)
        for key, point in read_points(folder, source):
            groups[key].append(point)
        for key in groups.keys() - chosen.keys():
            chosen[key] = fit_profile(key, groups[key], source.citation)
    order = list(devices())
    return sorted(chosen.values(), key=lambda fit: (order.index(fit.device), fit.model, fit.input_pixels))


def _cells(profile: StepTimeProfile) -> list[str | int]:
    coefficients = (
        profile.forward_base_s,
        profile.forward_per_sample_s,
        profile.backward_base_s,
        profile.backward_per_sample_s,
    )
    texts = [f"{0.0 if math.isclose(value, 0.0, abs_tol=1e-9) else value:.6g}" for value in coefficients]
    place: list[str | int] = [profile.model, profile.device, profile.input_pixels]
    return [*place, *texts, profile.min_batch, profile.max_batch, profile.source]


def main(arguments: Sequence[str] | None = None) -> None:
    """Write profiles.csv from a folder of tidy tables.

    Parameters
    ----------
    arguments : sequence of str or None
        The command line without the program; None takes it from the system.
    """
    parser = argparse.ArgumentParser(prog="python -m hetsim.catalog.fit_profiles", description=__doc__)
    parser.add_argument("folder", type=Path, help="folder with the tidy tables of published measurements")
    parser.add_argument("--out", type=Path, help="file to write; standard output if it is left out")
    options = parser.parse_args(arguments)
    try:
        rows = [_cells(profile) for profile in fit_all(options.folder)]
    except CatalogError as error:
        parser.error(str(error))
    if options.out is None:
        _write(sys.stdout, rows)
        return
    with options.out.open("w", encoding="utf-8", newline="") as file:
        _write(file, rows)


def _write(file: TextIO, rows: Iterable[Sequence[str | int]]) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(PROFILE_COLUMNS)
    writer.writerows(rows)


if __name__ == "__main__":
    main()
