"""Simulated values beside measured ones, with the error of plain linear scaling as the naive baseline."""

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hetsim.errors import Issue, ScenarioError
from hetsim.metrics.table import METRICS


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What was measured, and at which points.

    Parameters
    ----------
    metric, source : str
        A name of `hetsim.metrics.table.METRICS`, and where the values come from.
    scale : str
        Field path that plain linear scaling goes by.
    points : tuple of dict
        Value by field path.
    values : tuple of float
        Measured, in the unit of the metric.
    job : int
        Index of the job that was measured.
    """

    metric: str
    source: str
    scale: str
    points: tuple[dict[str, object], ...]
    values: tuple[float, ...]
    job: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRow:
    """One measured value and its predictions.

    Parameters
    ----------
    labels : mapping
        Value by field path.
    measured, simulated, linear : float
        In the unit of the metric.
    is_reference : bool
        Whether plain linear scaling starts from this row, so that it predicts nothing here.
    """

    labels: Mapping[str, object]
    measured: float
    simulated: float
    linear: float
    is_reference: bool

    @property
    def error_frac(self) -> float:
        """Of the simulation, relative to the measured value."""
        return self.simulated / self.measured - 1.0

    @property
    def linear_error_frac(self) -> float:
        """Of plain linear scaling, relative to the measured value."""
        return self.linear / self.measured - 1.0

    def numbers(self) -> dict[str, object]:
        """Return all but the labels.

        Returns
        -------
        dict
            By name.
        """
        return {
            "measured": self.measured,
            "simulated": self.simulated,
            "error_frac": self.error_frac,
            "linear": self.linear,
            "linear_error_frac": self.linear_error_frac,
            "is_reference": self.is_reference,
        }


def measured_rows(measured: Measured, simulated: Sequence[float]) -> tuple[MeasuredRow, ...]:
    """Return measured values with what the simulation and plain linear scaling say.

    Parameters
    ----------
    measured : Measured
        The measurements.
    simulated : sequence of float
        Mean of the metric at each point.

    Returns
    -------
    tuple of MeasuredRow
        In the order of the measurements.

    Raises
    ------
    ScenarioError
        If linear scaling says nothing, as for `linear_scaling`.
    """
    together = zip(measured.points, measured.values, simulated, linear_scaling(measured), strict=True)
    return tuple(
        MeasuredRow(labels=point, measured=value, simulated=ours, linear=linear, is_reference=is_reference)
        for point, value, ours, (linear, is_reference) in together
    )


def linear_scaling(measured: Measured) -> tuple[tuple[float, bool], ...]:
    """Return what plain linear scaling predicts for each measured row.

    It starts from the row with the least scale among those that differ in nothing else, the last one above where there
    are several. A rate is multiplied by the ratio of scales; a time stays as it is, since a step in which each worker
    has the same work would take the same time on any number of workers.

    Parameters
    ----------
    measured : Measured
        The measurements.

    Returns
    -------
    tuple of (float, bool)
        Prediction, and whether the row is one that scaling starts from.

    Raises
    ------
    ScenarioError
        If the scale of a row is no positive number, or a prediction is no number.
    """
    scales = [_scale(measured, point) for point in measured.points]
    kinds = [_others(point, measured.scale) for point in measured.points]
    least = {kind: min(s for s, k in zip(scales, kinds, strict=True) if k == kind) for kind in kinds}
    references: dict[tuple[str, ...], tuple[float, float]] = {}
    for kind, scale, value in zip(reversed(kinds), reversed(scales), reversed(measured.values), strict=True):
        if scale == least[kind]:
            references[kind] = (scale, value)
    is_rate = METRICS[measured.metric].better == "higher"
    rows = []
    for kind, scale, value in zip(kinds, scales, measured.values, strict=True):
        is_reference = scale == least[kind]
        if is_reference:
            references[kind] = (scale, value)
        start, base = references[kind]
        linear = base * (scale / start) if is_rate else base
        if not math.isfinite(linear / value):
            message = f"{measured.scale} goes from {start:g} to {scale:g}: too far for linear scaling"
            raise ScenarioError([Issue(path="measured.scale", message=message)])
        rows.append((linear, is_reference))
    return tuple(rows)


def _scale(measured: Measured, point: Mapping[str, object]) -> float:
    value = point[measured.scale]
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= sys.float_info.max:
        raise ScenarioError(
            [Issue(path="measured.scale", message=f"{measured.scale} is {value!r}, no positive number")]
        )
    return float(value)


def _others(point: Mapping[str, object], scale: str) -> tuple[str, ...]:
    return tuple(f"{path}={value!r}" for path, value in point.items() if path != scale)


def mean_absolute(errors: Sequence[float]) -> float:
    """Return the mean of absolute values.

    Parameters
    ----------
    errors : sequence of float
        One at least.

    Returns
    -------
    float
        The mean.
    """
    return sum(abs(error) for error in errors) / len(errors)
