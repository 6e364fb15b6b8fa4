"""Simulated values beside measured ones, with the error of plain linear scaling as the naive baseline."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hetsim.errors import Issue, ScenarioError


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What was measured, and at which points.

    Parameters
    ----------
    metric, source : str
        A name of `hetsim.metrics.table.METRICS`, and where the values come from.
    scale : str
        Field path that plain linear scaling is proportional to.
    points : tuple of dict
        Value by field path.
    values : tuple of float
        Measured, in the unit of the metric.
    """

    metric: str
    source: str
    scale: str
    points: tuple[dict[str, object], ...]
    values: tuple[float, ...]


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

    Linear scaling starts from the row with the least scale among those that differ in nothing else, the last one above
    where there are several, and multiplies by the ratio of scales.

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
    """
    scales = [_scale(measured, point) for point in measured.points]
    kinds = [_others(point, measured.scale) for point in measured.points]
    least = {kind: min(s for s, k in zip(scales, kinds, strict=True) if k == kind) for kind in kinds}
    references: dict[tuple[str, ...], tuple[float, float]] = {}
    for kind, scale, value in zip(reversed(kinds), reversed(scales), reversed(measured.values), strict=True):
        if scale == least[kind]:
            references[kind] = (scale, value)
    rows = []
    for i, (kind, scale, value) in enumerate(zip(kinds, scales, measured.values, strict=True)):
        is_reference = scale == least[kind]
        if is_reference:
            references[kind] = (scale, value)
        start, rate = references[kind]
        rows.append(
            MeasuredRow(
                labels=measured.points[i],
                measured=value,
                simulated=simulated[i],
                linear=rate * scale / start,
                is_reference=is_reference,
            )
        )
    return tuple(rows)


def _scale(measured: Measured, point: Mapping[str, object]) -> float:
    value = point[measured.scale]
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
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
