"""Measured values beside simulated ones, as a table and as a plot."""

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from hetsim.experiment.comparison import Comparison
from hetsim.experiment.measured import MeasuredRow, mean_absolute
from hetsim.experiment.points import label_text
from hetsim.metrics.table import METRICS
from hetsim.report.figure import COLOURS, blank_figure
from hetsim.report.labels import axis_names, metric_label, number
from hetsim.report.tables import footer, grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_OURS: Final = COLOURS[0]
_LINEAR: Final = COLOURS[1]
_ROW_INCHES: Final = 0.4
_LABEL_LENGTH: Final = 60


def measured_table(comparison: Comparison) -> str:
    """Return measured values beside simulated ones, each with its error, and the mean errors.

    Parameters
    ----------
    comparison : Comparison
        With measured values.

    Returns
    -------
    str
        One line for each measured value, a summary, and what the simulation rests on.
    """
    label = _label(comparison)
    names = axis_names(tuple(comparison.measured[0].labels))
    header = [*names.values(), "measured", "simulated", "error", "plain linear", "its error", ""]
    rows = [
        [
            *(label_text(value) for value in row.labels.values()),
            number(row.measured),
            number(row.simulated),
            f"{row.error_frac:+.1%}",
            "" if row.is_reference else number(row.linear),
            "" if row.is_reference else f"{row.linear_error_frac:+.1%}",
            "reference" if row.is_reference else "",
        ]
        for row in comparison.measured
    ]
    of_job = f" of {comparison.measured_job}" if len(comparison.scenario.document.jobs) > 1 else ""
    title = f"{comparison.scenario.name}: {label}{of_job}, simulated beside measured ({comparison.source})"
    summary = [*_measured_summary(comparison.measured, next(iter(names))), _baseline(comparison)]
    parts = [title, grid(header, rows), "\n".join(summary)]
    return "\n\n".join(parts) + footer(comparison.inputs, comparison.unread, comparison.warnings)


def _measured_summary(rows: Sequence[MeasuredRow], first: str) -> list[str]:
    predicted = [row for row in rows if not row.is_reference]
    if not predicted:
        return ["Every row is a reference for plain linear scaling: nothing is predicted."]
    kinds = {
        label_text(row.labels[first]): [other for other in predicted if other.labels[first] == row.labels[first]]
        for row in predicted
    }
    lines = []
    groups = {"all": predicted} | (kinds if max(map(len, kinds.values())) > 1 else {})
    for kind, some in groups.items():
        ours, linear = ([getattr(row, name) for row in some] for name in ("error_frac", "linear_error_frac"))
        lines.append(
            f"{kind}: mean absolute error {mean_absolute(ours):.1%}, worst {max(map(abs, ours)):.1%}; "
            f"plain linear scaling {mean_absolute(linear):.1%}, worst {max(map(abs, linear)):.1%} ({len(some)} rows)"
        )
    lines.append("Plain linear scaling starts from the reference rows above; they are left out of the means.")
    return lines


def _baseline(comparison: Comparison) -> str:
    scale = axis_names([comparison.scale])[comparison.scale]
    if METRICS[comparison.metric].better == "higher":
        return f"It says: in proportion to {scale}."
    return f"It says: the same time for any {scale}, since each worker has the same work in a step."


def measured_figure(comparison: Comparison) -> "Figure":
    """Draw the error of each prediction: one line for each case, filled dots for hetsim, rings for linear scaling.

    Parameters
    ----------
    comparison : Comparison
        With measured values.

    Returns
    -------
    matplotlib.figure.Figure
        On an Agg canvas; no global state of matplotlib is touched.
    """
    cases = _cases(comparison)
    with blank_figure(2.2 + _ROW_INCHES * len(cases)) as (figure, axes):
        for y, rows in enumerate(cases.values()):
            _draw_case(axes, y, rows)
        labels = [textwrap.fill(case, _LABEL_LENGTH, max_lines=2, placeholder=" ...") for case in cases]
        axes.set_yticks(range(len(cases)), labels)
        axes.set_ylim(len(cases) - 0.4, -0.6)
        axes.axvline(0.0, color="black", linewidth=0.8)
        axes.set_xlabel(f"error of the predicted {_label(comparison)}, % of the measured value", loc="left")
        title = f"{comparison.scenario.name}: {comparison.scenario.description}"
        axes.set_title(textwrap.fill(title, 100, max_lines=3, placeholder=" ..."), loc="left", fontsize=11)
        axes.plot([], [], "o", color=_OURS, label="hetsim")
        axes.plot([], [], "o", markerfacecolor="none", color=_LINEAR, label="plain linear scaling")
        axes.legend(loc="lower right", frameon=False)
    return figure


def _label(comparison: Comparison) -> str:
    return metric_label(comparison.metric, METRICS[comparison.metric])


def _cases(comparison: Comparison) -> dict[str, list[MeasuredRow]]:
    """Return predicted rows by what they have in common, the scale left out."""
    names = axis_names(tuple(comparison.measured[0].labels))
    cases: dict[str, list[MeasuredRow]] = {}
    for row in comparison.measured:
        values = {names[path]: value for path, value in row.labels.items() if path != comparison.scale}
        name = ", ".join(value if isinstance(value, str) else f"{path} {value}" for path, value in values.items())
        if not row.is_reference:
            cases.setdefault(name, []).append(row)
    return cases


def _draw_case(axes: "Axes", y: int, rows: Sequence[MeasuredRow]) -> None:
    ours, linear = ([100.0 * getattr(row, name) for row in rows] for name in ("error_frac", "linear_error_frac"))
    axes.plot(linear, [y] * len(rows), "o", markerfacecolor="none", color=_LINEAR, markersize=7, zorder=2)
    axes.plot(ours, [y] * len(rows), "o", color=_OURS, markersize=7, alpha=0.75, zorder=3)
