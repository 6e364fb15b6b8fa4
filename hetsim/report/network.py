"""The network of a cluster in words and numbers: hosts, links, and what the routes between hosts can carry."""

import csv
import dataclasses
import io
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from hetsim.model.cluster import Cluster, Host, Link, share_at
from hetsim.model.impairment import Impairment
from hetsim.network.hops import at
from hetsim.network.matrix import Range, all_routes, grouped_routes
from hetsim.report.tables import grid
from hetsim.units import format_si

MATRIX_COLUMNS: Final = ("source", "target", "bottleneck_bytes_per_s", "latency_s", "n_links")
_MOST_HOSTS: Final = 8
"""More hosts are shown by group."""

_MOST_LINES: Final = 24


def groups_of(cluster: Cluster, templates: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """Return the hosts as tables and matrices show them: each by itself where they are few, else by template.

    Parameters
    ----------
    cluster : Cluster
        The cluster.
    templates : mapping of str to sequence of str
        Hosts by the name of what the scenario wrote.

    Returns
    -------
    dict of str to sequence of str
        Hosts by label.
    """
    if len(cluster.hosts) <= _MOST_HOSTS:
        return {host.name: (host.name,) for host in cluster.hosts}
    return {f"{name} ({len(hosts)})" if len(hosts) > 1 else hosts[0]: hosts for name, hosts in templates.items()}


def network_table(name: str, cluster: Cluster, templates: Mapping[str, Sequence[str]]) -> str:
    """Return the network as text.

    Parameters
    ----------
    name : str
        Of the scenario.
    cluster : Cluster
        The cluster.
    templates : mapping of str to sequence of str
        Hosts by the name of what the scenario wrote.

    Returns
    -------
    str
        Hosts, links, bottleneck rates and latencies between hosts.
    """
    groups = groups_of(cluster, templates)
    shown = dict(list(groups.items())[:_MOST_HOSTS])
    parts = [_title(name, cluster), _hosts(cluster, groups), _links(cluster)]
    found = grouped_routes(cluster, shown)
    if found:
        parts.append(f"Bottleneck rate, from row to column:\n{_matrix(shown, found, _rate_cell)}")
        parts.append(f"Latency, one way:\n{_matrix(shown, found, _latency_cell)}")
        parts.append(_legend(groups, shown))
    return "\n\n".join(parts)


def _title(name: str, cluster: Cluster) -> str:
    n_switches = sum("/" not in switch for switch in cluster.switches)
    counts = ((len(cluster.hosts), "host"), (n_switches, "switch"), (len(cluster.network_links), "network link"))
    plural = {"switch": "switches"}
    return f"{name}: " + ", ".join(f"{n:,} {noun if n == 1 else plural.get(noun, noun + 's')}" for n, noun in counts)


def _legend(groups: Mapping[str, Sequence[str]], shown: Mapping[str, Sequence[str]]) -> str:
    lines = ["What impairments and background traffic leave of the slowest link at the start, for one transfer alone."]
    if any(len(hosts) > 1 for hosts in shown.values()):
        lines.append("a to b: from the least to the greatest between hosts of the groups.")
    if len(shown) < len(groups):
        lines.append(f"{len(groups) - len(shown)} more: the whole matrix is in --json and --matrix FILE.csv.")
    return "\n".join(lines)


def load_of(host: Host) -> float:
    """Return how busy others keep a host at the start: the greatest share of its devices, CPU and network card.

    Parameters
    ----------
    host : Host
        The host.

    Returns
    -------
    float
        Between 0 and 1.
    """
    return max(share_at(schedule, 0.0) for schedule in (host.background.gpu, host.background.cpu, host.background.nic))


def _hosts(cluster: Cluster, groups: Mapping[str, Sequence[str]]) -> str:
    by_name = {host.name: host for host in cluster.hosts}
    rows = [[label, *_host_cells([by_name[name] for name in names])] for label, names in groups.items()]
    more = [f"and {len(rows) - _MOST_LINES} more"] if len(rows) > _MOST_LINES else []
    table = grid(["host", "devices", "GPU load", "CPU load", "nic load", "memory in use"], rows[:_MOST_LINES])
    return "\n".join([table, *more])


def _host_cells(hosts: Sequence[Host]) -> list[str]:
    kinds = [device.spec.name for device in hosts[0].devices]
    devices = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds)) or "-"
    load = hosts[0].background
    shares = [share_at(schedule, 0.0) for schedule in (load.gpu, load.cpu, load.nic)]
    return [devices, *(_percent(share) for share in (*shares, load.memory_frac))]


def _percent(share: float) -> str:
    return f"{100.0 * share:.3g} %" if share else "-"


def _links(cluster: Cluster) -> str:
    alike: dict[tuple[object, ...], list[Link]] = {}
    switches = frozenset(cluster.switches)
    for link in cluster.network_links:
        load = share_at(link.background, 0.0)
        tier = (link.a in switches, link.b in switches)
        figures = (link.bytes_per_s, link.latency_s, load, link.duplex, link.queue_bytes, link.metric)
        key = (*figures, tier, link.from_a, link.from_b)
        alike.setdefault(key, []).append(link)
    if not alike:
        return "No network links."
    rows = [_link_cells(links) for links in alike.values()]
    more = [f"and {len(rows) - _MOST_LINES} more kinds of links"] if len(rows) > _MOST_LINES else []
    columns = ["link", "rate", "latency", "load", "duplex", "queue", "metric", "impaired"]
    is_usual = {"metric": {"1"}, "impaired": {"-"}}
    kept = [i for i, name in enumerate(columns) if {row[i] for row in rows} != is_usual.get(name)]
    shown = [[row[i] for i in kept] for row in rows[:_MOST_LINES]]
    return "\n".join([grid([columns[i] for i in kept], shown), *more])


def _link_cells(links: Sequence[Link]) -> list[str]:
    first = links[0]
    more = f" and {len(links) - 1:,} more" if len(links) > 1 else ""
    return [
        f"{first.a} - {first.b}{more}",
        rate_text(first.bytes_per_s),
        format_si(first.latency_s, "s"),
        _percent(share_at(first.background, 0.0)),
        first.duplex,
        format_si(first.queue_bytes, "B") if first.queue_bytes else "-",
        str(first.metric),
        _impairments(first),
    ]


def _impairments(link: Link) -> str:
    """Return what happens to what leaves either end, at the start, and when that changes."""
    parts = [
        f"from {end}: {', '.join(_words(at(side, 0.0)))}"
        for end, side in ((link.a, link.from_a), (link.b, link.from_b))
        if any(_words(at(side, 0.0)))
    ]
    times = sorted({state.at_s for side in (link.from_a, link.from_b) for state in side} - {0.0})
    parts += [f"{len(times)} changes from {format_si(times[0], 's')} on"] if times else []
    return "; ".join(parts) or "-"


def _words(state: Impairment) -> list[str]:
    words = [f"delay {format_si(state.delay_s, 's')}"] if state.delay_s else []
    words += [f"jitter {format_si(state.jitter_s, 's')}"] if state.jitter_s else []
    words += [f"loss {100 * state.loss_frac:.3g} %"] if state.loss_frac else []
    words += [f"disorder {100 * state.disorder_frac:.3g} %"] if state.disorder_frac else []
    return words + ([f"at most {rate_text(state.bytes_per_s)}"] if math.isfinite(state.bytes_per_s) else [])


def rate_text(bytes_per_s: float) -> str:
    """Return a rate as networks are spoken of.

    Parameters
    ----------
    bytes_per_s : float
        Bytes per second.

    Returns
    -------
    str
        In bits per second.

    Examples
    --------
    >>> rate_text(1.25e9)
    '10 Gbit/s'
    """
    return format_si(8.0 * bytes_per_s, "bit/s")


def _matrix(
    groups: Mapping[str, Sequence[str]], found: Mapping[tuple[str, str], Range], cell: Callable[[Range], str]
) -> str:
    rows = [
        [source, *(cell(found[source, target]) if (source, target) in found else "-" for target in groups)]
        for source in groups
    ]
    return grid(["", *groups], rows)


def _rate_cell(figures: Range) -> str:
    return _between(rate_text(figures.low_bytes_per_s), rate_text(figures.high_bytes_per_s))


def _latency_cell(figures: Range) -> str:
    return _between(_latency_text(figures.low_latency_s), _latency_text(figures.high_latency_s))


def _latency_text(latency_s: float) -> str:
    return format_si(latency_s, "s") if math.isfinite(latency_s) else "no route"


def _between(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"


def network_dict(name: str, cluster: Cluster) -> dict[str, Any]:
    """Return the network as JSON values.

    Parameters
    ----------
    name : str
        Of the scenario.
    cluster : Cluster
        The cluster.

    Returns
    -------
    dict
        Hosts, switches, links, and both whole matrices, whose rows and columns are the hosts in order; None from a host
        to itself, and for the latency of no route.
    """
    n = len(cluster.hosts)
    index = {host.name: i for i, host in enumerate(cluster.hosts)}
    rates: list[list[float | None]] = [[None] * n for _ in range(n)]
    latencies: list[list[float | None]] = [[None] * n for _ in range(n)]
    for route in all_routes(cluster):
        i, j = index[route.source], index[route.target]
        rates[i][j] = route.bytes_per_s
        latencies[i][j] = route.latency_s if math.isfinite(route.latency_s) else None
    return {
        "scenario": name,
        "hosts": [_host_dict(host) for host in cluster.hosts],
        "switches": [switch for switch in cluster.switches if "/" not in switch],
        "links": [_link_dict(link) for link in cluster.network_links],
        "bottleneck_bytes_per_s": rates,
        "latency_s": latencies,
    }


def _host_dict(host: Host) -> dict[str, Any]:
    load = host.background
    return {
        "name": host.name,
        "devices": [device.spec.name for device in host.devices],
        "gpu_load_frac": share_at(load.gpu, 0.0),
        "cpu_load_frac": share_at(load.cpu, 0.0),
        "nic_load_frac": share_at(load.nic, 0.0),
        "memory_load_frac": load.memory_frac,
    }


def _link_dict(link: Link) -> dict[str, Any]:
    return {
        "a": link.a,
        "b": link.b,
        "rate_bytes_per_s": link.bytes_per_s,
        "latency_s": link.latency_s,
        "load_frac": share_at(link.background, 0.0),
        "duplex": link.duplex,
        "queue_bytes": link.queue_bytes,
        "metric": link.metric,
        "from_a": [_state_dict(state) for state in link.from_a],
        "from_b": [_state_dict(state) for state in link.from_b],
    }


def _state_dict(state: Impairment) -> dict[str, float | None]:
    """Return an impairment; None stands for no limit, which JSON has no number for."""
    fields = dataclasses.asdict(state)
    return fields | {"bytes_per_s": state.bytes_per_s if math.isfinite(state.bytes_per_s) else None}


def matrix_csv(cluster: Cluster) -> str:
    """Return the figures of all routes between hosts as a CSV file.

    Parameters
    ----------
    cluster : Cluster
        The cluster.

    Returns
    -------
    str
        With `MATRIX_COLUMNS`.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(MATRIX_COLUMNS)
    for route in all_routes(cluster):
        writer.writerow([route.source, route.target, repr(route.bytes_per_s), repr(route.latency_s), route.n_links])
    return text.getvalue()
