"""Words and digits for people: names of axes and metrics, numbers with as many digits as their interval bears."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from hetsim.contracts import Metric
from hetsim.experiment.points import ComparisonRow, is_decision, label_text

_DIGITS = 4
_MOST_DIGITS = 6


def metric_label(name: str, metric: Metric) -> str:
    """Return a metric's name with its unit.

    Parameters
    ----------
    name : str
        Such as ``train_time_s``.
    metric : Metric
        Its entry in the table.

    Returns
    -------
    str
        Such as ``train time (s)`` or ``samples/s``.
    """
    if name.endswith("_per_s"):
        return metric.unit
    return f"{name.removesuffix(f'_{metric.unit}').replace('_', ' ')} ({metric.unit})"


def axis_names(paths: Sequence[str]) -> dict[str, str]:
    """Return a short name for each axis, unambiguous among them.

    Parameters
    ----------
    paths : sequence of str
        Field paths.

    Returns
    -------
    dict of str to str
        By path.

    Examples
    --------
    >>> axis_names(["jobs[train].placement.policy", "cluster.hosts[k80].nic"])
    {'jobs[train].placement.policy': 'placement', 'cluster.hosts[k80].nic': 'hosts[k80].nic'}
    """
    short = {path: _short(path) for path in paths}
    taken = Counter(short.values())
    return {path: name if taken[name] == 1 else path for path, name in short.items()}


def _short(path: str) -> str:
    if path.startswith("jobs[") and "]." in path:
        return path.partition("].")[2].removesuffix(".policy")
    return path.removeprefix("cluster.")


def split_labels(row: ComparisonRow, names: Mapping[str, str]) -> tuple[str, str]:
    """Return a row's conditions and its decision, each as one text.

    Parameters
    ----------
    row : ComparisonRow
        The row.
    names : mapping of str to str
        From `axis_names`.

    Returns
    -------
    condition, decision : str
        The condition is empty where no axis, or every axis, is a decision.
    """
    decisions = {path: value for path, value in row.labels.items() if is_decision(path)} or dict(row.labels)
    conditions = {path: value for path, value in row.labels.items() if path not in decisions}
    whole = ", ".join(f"{names[path]} {label_text(value)}" for path, value in conditions.items())
    if len(decisions) == 1 and all(is_decision(path) for path in decisions):
        return whole, label_text(next(iter(decisions.values())))
    return whole, ", ".join(f"{names[path]} {label_text(value)}" for path, value in decisions.items())


def replications(counts: Sequence[int]) -> str:
    """Return how many replications there are.

    Parameters
    ----------
    counts : sequence of int
        Of each point, one at least.

    Returns
    -------
    str
        Such as ``20 replications``, or ``5 to 20 replications`` where the points differ.
    """
    least, most = min(counts), max(counts)
    return f"{least} to {most} replications" if least < most else f"{most} replication{'' if most == 1 else 's'}"


def number(value: float, half_width: float | None = None) -> str:
    """Return a number with two digits of its uncertainty, or four digits without one.

    Parameters
    ----------
    value : float
        In its unit.
    half_width : float, optional
        Of its interval.

    Returns
    -------
    str
        Without an exponent where it can be read without.

    Examples
    --------
    >>> number(123.456, 1.3), number(123.456), number(0.0012345)
    ('123.5', '123.5', '0.001234')
    """
    if value == 0.0 or not 1e-6 <= abs(value) < 1e9:
        return f"{value:.{_DIGITS}g}"
    magnitude = math.floor(math.log10(abs(value)))
    decimals = _DIGITS - 1 - magnitude
    if half_width:
        decimals = min(1 - math.floor(math.log10(half_width)), _MOST_DIGITS - 1 - magnitude)
    return f"{value:.{max(decimals, 0)}f}"


def with_interval(value: float, low: float | None, high: float | None, unit: str = "") -> str:
    """Return a value with its interval.

    Parameters
    ----------
    value : float
        The estimate.
    low, high : float or None
        Ends of the interval.
    unit : str
        Written behind the value.

    Returns
    -------
    str
        Such as ``2.20x [2.18, 2.22]``; the value alone without an interval.
    """
    if low is None or high is None:
        return f"{number(value)}{unit}"
    half_width = (high - low) / 2.0
    if half_width <= 1e-9 * abs(value):
        return f"{number(value)}{unit} [no spread]"
    ends = ", ".join(number(end, half_width) for end in (low, high))
    return f"{number(value, half_width)}{unit} [{ends}]"
