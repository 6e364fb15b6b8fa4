"""The plot of a comparison: one bar for each point, with its interval and its speed-up."""

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from hetsim.experiment.comparison import Comparison
from hetsim.experiment.points import ComparisonRow
from hetsim.metrics.table import METRICS
from hetsim.report.figure import COLOURS, blank_figure
from hetsim.report.labels import axis_names, metric_label, number, replications, split_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation

_BASELINE_COLOUR: Final = "#8c8c8c"
_ROW_INCHES: Final = 0.42
_LABEL_LENGTH: Final = 36
_GROUP_GAP: Final = 1.0
_TEXT_GAP_POINTS: Final = 6


def comparison_figure(comparison: Comparison) -> "Figure":
    """Draw a comparison as horizontal bars, grouped by the conditions under which decisions are compared.

    Parameters
    ----------
    comparison : Comparison
        The comparison.

    Returns
    -------
    matplotlib.figure.Figure
        As high as the rows need, on an Agg canvas; no global state of matplotlib is touched.
    """
    groups = _groups(comparison)
    n_lines = sum(len(rows) + (_GROUP_GAP if condition else 0) for condition, rows in groups)
    with blank_figure(1.7 + _ROW_INCHES * n_lines) as (figure, axes):
        texts = _draw_groups(axes, groups, METRICS[comparison.metric].unit)
        _dress(axes, comparison, n_lines)
        _make_room(figure, axes, texts)
    return figure


def _groups(comparison: Comparison) -> list[tuple[str, list[tuple[str, ComparisonRow]]]]:
    names = axis_names(tuple(comparison.rows[0].labels))
    groups: dict[str, list[tuple[str, ComparisonRow]]] = {}
    for row in comparison.rows:
        condition, decision = split_labels(row, names)
        groups.setdefault(condition, []).append((decision, row))
    return list(groups.items())


def _draw_groups(
    axes: "Axes", groups: Sequence[tuple[str, list[tuple[str, ComparisonRow]]]], unit: str
) -> list["Annotation"]:
    others = list(dict.fromkeys(decision for _, rows in groups for decision, row in rows if not row.is_baseline))
    # More decisions than colours: one colour for all, since a colour that comes back would lie.
    colours = {decision: COLOURS[i if len(others) <= len(COLOURS) else 0] for i, decision in enumerate(others)}
    ticks, labels, texts = [], [], []
    y = 0.0
    for condition, rows in groups:
        if condition:
            title = _shorten(condition, 2 * _LABEL_LENGTH)
            place: dict[str, Any] = {
                "xycoords": ("axes fraction", "data"),
                "textcoords": "offset points",
                "va": "center",
            }
            axes.annotate(title, (0.0, y), (4, -3), weight="bold", **place)
            y += _GROUP_GAP
        for decision, row in rows:
            texts.append(_draw_row(axes, y, row, _BASELINE_COLOUR if row.is_baseline else colours[decision], unit))
            ticks.append(y)
            labels.append(textwrap.fill(decision, _LABEL_LENGTH, max_lines=3, placeholder=" ..."))
            y += 1.0
    axes.set_yticks(ticks, labels)
    return texts


def _draw_row(axes: "Axes", y: float, row: ComparisonRow, colour: str, unit: str) -> "Annotation":
    axes.barh(y, row.mean, height=0.7, color=colour, zorder=2)
    end = max(row.mean, 0.0)
    if row.ci_low is not None and row.ci_high is not None:
        ends = [[row.mean - row.ci_low], [row.ci_high - row.mean]]
        end = max(row.ci_high, end)
        axes.errorbar(row.mean, y, xerr=ends, fmt="none", ecolor="black", elinewidth=1.2, capsize=3, zorder=3)
    text = f"{number(row.mean)} {unit}{_speedup_text(row)}"
    ground = {"facecolor": "white", "edgecolor": "none", "pad": 0.5, "alpha": 0.8}
    offset = (_TEXT_GAP_POINTS, 0)
    return axes.annotate(text, (end, y), offset, textcoords="offset points", va="center", fontsize=9.5, bbox=ground)


def _speedup_text(row: ComparisonRow) -> str:
    if row.is_baseline or row.speedup is None:
        return ""
    mark = " (not significant)" if row.significant is False else ""
    return f"   {row.speedup:.3g}x{mark}"


def _dress(axes: "Axes", comparison: Comparison, n_lines: float) -> None:
    metric = METRICS[comparison.metric]
    counts = [row.n for row in comparison.rows]
    spread = f"mean of {replications(counts)}, 95 % intervals" if max(counts) > 1 else "one replication"
    axes.set_ylim(n_lines - 0.4, -0.6)
    axes.set_xlabel(f"{metric_label(comparison.metric, metric)}, {metric.better} is better; {spread}", loc="left")
    axes.set_title(comparison.scenario.name, loc="left", fontsize=13, weight="bold", pad=8)
    description = textwrap.fill(comparison.scenario.description, 100, max_lines=2, placeholder=" ...")
    if description:
        room = "\n" * (1 + description.count("\n"))
        axes.set_title(f"{comparison.scenario.name}{room}", loc="left", fontsize=13, weight="bold", pad=12)
        place: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "bottom"}
        axes.annotate(description, (0.0, 1.0), (0, 8), fontsize=9.5, color="#404040", **place)


def _make_room(figure: "Figure", axes: "Axes", texts: Sequence["Annotation"]) -> None:
    """Widen the axis until the numbers behind every bar fit into it."""
    ends = [max(float(text.xy[0]), 0.0) for text in texts]
    axes.set_xlim(0.0, max(ends) or 1.0)
    figure.draw_without_rendering()
    width = axes.bbox.width
    taken = [text.get_window_extent().width + 2.0 * _TEXT_GAP_POINTS * figure.dpi / 72.0 for text in texts]
    needed = [end * width / max(width - pixels, 0.25 * width) for end, pixels in zip(ends, taken, strict=True)]
    axes.set_xlim(0.0, max(needed) or 1.0)


def _shorten(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 3]}..."
