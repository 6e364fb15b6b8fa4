"""The drawing of a network: hosts coloured by their load, links as wide as they are fast."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from hetsim.model.cluster import Cluster, Link, share_at
from hetsim.network.layout import Layout, layout
from hetsim.report.figure import COLOURS, blank_figure
from hetsim.report.network import load_of, rate_text
from hetsim.units import format_si

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_NAMES: Final = 40
"""More hosts, or more switches, are drawn without their names."""

_MOST_KINDS: Final = len(COLOURS)
_MOST_LOADS: Final = 12
_THIN, _THICK = 0.8, 3.5
_COLOURS_OF_LOAD: Final = "YlOrRd"
_GREY: Final = "#8c8c8c"


def network_figure(name: str, cluster: Cluster) -> "Figure":
    """Draw the network of a cluster, without what is inside its hosts.

    Parameters
    ----------
    name : str
        Of the scenario.
    cluster : Cluster
        The cluster.

    Returns
    -------
    matplotlib.figure.Figure
        On an Agg canvas; no global state of matplotlib is touched.
    """
    places = layout(cluster)
    n_layers = 1 + max((y for _, y in places.positions.values()), default=0.0)
    with blank_figure(1.5 + 1.6 * n_layers if places.is_layered else 8.5) as (figure, axes):
        axes.set_axis_off()
        axes.set_title(name, loc="left", fontsize=13, weight="bold")
        _draw_links(axes, cluster, places.positions)
        _draw_switches(axes, cluster, places)
        _draw_hosts(figure, axes, cluster, places)
        axes.margins(0.08)
        if not places.is_layered:
            axes.set_aspect("equal")
    return figure


def _draw_links(axes: "Axes", cluster: Cluster, positions: Mapping[str, tuple[float, float]]) -> None:
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

    alike: dict[tuple[float, float, str], list[Link]] = {}
    for link in cluster.network_links:
        alike.setdefault((link.bytes_per_s, link.latency_s, link.duplex), []).append(link)
    width = _widths([link.bytes_per_s for link in cluster.network_links])
    handles = []
    kinds = sorted(alike, key=lambda kind: (-kind[0], kind[1:]))
    for index, (bytes_per_s, latency_s, duplex) in enumerate(kinds):
        links = alike[bytes_per_s, latency_s, duplex]
        # More kinds than colours: the rest in grey, since a colour that comes back would lie.
        colour = COLOURS[index] if index < _MOST_KINDS else _GREY
        style: dict[str, Any] = {
            "color": colour,
            "linewidth": width(bytes_per_s),
            "linestyle": "--" if duplex == "half" else "-",
        }
        alpha = 0.8 if len(cluster.network_links) <= 200 else 0.35
        ends = [(positions[link.a], positions[link.b]) for link in links]
        axes.add_collection(LineCollection(ends, alpha=alpha, zorder=1, **style))
        if index < _MOST_KINDS:
            half = ", half duplex" if duplex == "half" else ""
            text = f"{rate_text(bytes_per_s)}, {format_si(latency_s, 's')}{half} ({len(links):,})"
            handles.append(Line2D([], [], label=text, **style))
    if len(kinds) > _MOST_KINDS:
        handles.append(Line2D([], [], color=_GREY, label=f"{len(kinds) - _MOST_KINDS} more kinds of links"))
    _draw_loads(axes, cluster, positions)
    if handles:
        axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(0.0, 0.0), ncols=2, frameon=False, fontsize=9)


def _widths(rates: Sequence[float]) -> Any:
    """Return the function from a rate to the width of its line: linear in the rate's logarithm."""
    low, high = min(rates, default=1.0), max(rates, default=1.0)
    span = math.log(high / low) or 1.0
    return lambda rate: _THIN + (_THICK - _THIN) * (math.log(rate / low) / span if high > low else 0.3)


def _draw_loads(axes: "Axes", cluster: Cluster, positions: Mapping[str, tuple[float, float]]) -> None:
    busy = [(link, share) for link in cluster.network_links if (share := share_at(link.background, 0.0)) > 0.0]
    for link, share in busy if len(busy) <= _MOST_LOADS else []:
        (x0, y0), (x1, y1) = positions[link.a], positions[link.b]
        ground = {"facecolor": "white", "edgecolor": "none", "pad": 0.4, "alpha": 0.8}
        place: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 7.5, "color": "#a00000"}
        axes.text(0.7 * x0 + 0.3 * x1, 0.7 * y0 + 0.3 * y1, f"{100 * share:.3g} % busy", zorder=2, bbox=ground, **place)


def _draw_switches(axes: "Axes", cluster: Cluster, places: Layout) -> None:
    names = [switch for switch in cluster.switches if switch in places.positions]
    points = [places.positions[name] for name in names]
    size = 150 if len(names) <= _MOST_NAMES else 25
    axes.scatter(*_columns(points), s=size, marker="s", color="#404040", zorder=3)
    if len(names) <= _MOST_NAMES:
        for name, (x, y) in zip(names, points, strict=True):
            offset = (0, 9) if places.is_layered or y >= 0 else (0, -9)
            place: dict[str, Any] = {"ha": "center", "va": "bottom" if offset[1] > 0 else "top", "fontsize": 8.5}
            place["bbox"] = {"facecolor": "white", "edgecolor": "none", "pad": 0.3, "alpha": 0.75}
            axes.annotate(name, (x, y), offset, textcoords="offset points", zorder=4, **place)


def _draw_hosts(figure: "Figure", axes: "Axes", cluster: Cluster, places: Layout) -> None:
    points = [places.positions[host.name] for host in cluster.hosts]
    loads = [load_of(host) for host in cluster.hosts]
    has_names = len(points) <= _MOST_NAMES
    style: dict[str, Any] = {"vmin": 0.0, "vmax": 1.0, "cmap": _COLOURS_OF_LOAD, "edgecolors": "black", "zorder": 3}
    dots = axes.scatter(*_columns(points), c=loads, s=110 if has_names else 16, linewidths=0.6, **style)
    bar = figure.colorbar(dots, ax=axes, shrink=0.6, pad=0.01)
    bar.set_label("load of hosts: greatest share of GPU, CPU and nic")
    is_crowded = len(points) > _MOST_NAMES // 4
    for host, (x, y) in zip(cluster.hosts, points, strict=True) if has_names else []:
        place: dict[str, Any] = {"ha": "center", "va": "top", "fontsize": 8.5}
        if places.is_layered:
            place["rotation"] = 90 if is_crowded else 0
        elif y > 0:
            place["va"] = "bottom"
        offset = (0, -9) if place["va"] == "top" else (0, 9)
        axes.annotate(host.name, (x, y), offset, textcoords="offset points", zorder=4, **place)


def _columns(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]
