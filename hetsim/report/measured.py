"""Measured values beside simulated ones, as a table and as a plot."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from hetsim.experiment.comparison import Comparison
from hetsim.experiment.measured import MeasuredRow, mean_absolute
from hetsim.experiment.points import label_text
from hetsim.metrics.table import METRICS
from hetsim.report.labels import axis_names, metric_label, number
from hetsim.report.tables import footer, grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito (2008), "Color universal design": told apart with every kind of colour blindness.
_OURS: Final = "#0072b2"
_LINEAR: Final = "#d55e00"
_ROW_INCHES: Final = 0.4
_DPI: Final = 150


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
    title = f"{comparison.scenario.name}: {label}, simulated beside measured ({comparison.source})"
    parts = [title, grid(header, rows), "\n".join(_measured_summary(comparison.measured, next(iter(names))))]
    return "\n\n".join(parts) + footer(comparison.inputs, comparison.unread)


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
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    cases = _cases(comparison)
    figure = Figure(figsize=(9.5, 2.2 + _ROW_INCHES * len(cases)), dpi=_DPI, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for y, rows in enumerate(cases.values()):
        _draw_case(axes, y, rows)
    axes.set_yticks(range(len(cases)), list(cases))
    axes.set_ylim(len(cases) - 0.4, -0.6)
    axes.axvline(0.0, color="black", linewidth=0.8)
    axes.xaxis.grid(visible=True, color="#e0e0e0", zorder=0)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_xlabel(f"error of the predicted {_label(comparison)}, % of the measured value", loc="left")
    axes.set_title(f"{comparison.scenario.name}: {comparison.scenario.description}", loc="left", fontsize=11, wrap=True)
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
