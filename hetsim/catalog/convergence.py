"""How many updates known models take to a target on known data sets, fitted to published runs."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal, cast

from hetsim.catalog.rows import Row
from hetsim.catalog.tables import datasets, rows_of, unique
from hetsim.model.efficiency import Efficiency

CONVERGENCE_COLUMNS = (
    "model",
    "data_set",
    "target",
    "min_steps",
    "noise_batch_samples",
    "min_batch_samples",
    "max_batch_samples",
    "basis",
    "method",
    "source",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Convergence:
    """What is known of one model on one data set.

    Parameters
    ----------
    model, data_set : str
        Catalog names.
    min_batch, max_batch : float
        Samples in an update: the range of the runs that it was fitted to.
    efficiency : Efficiency
        Of updates inside that range.
    """

    model: str
    data_set: str
    min_batch: float
    max_batch: float
    efficiency: Efficiency


def parse_convergence(row: Row) -> Convergence:
    """Return what a row of convergence.csv says.

    Parameters
    ----------
    row : Row
        With `CONVERGENCE_COLUMNS`.

    Returns
    -------
    Convergence
        The same.

    Raises
    ------
    CatalogError
        If a cell is malformed, the data set is unknown, or the range of batches is empty.
    """
    min_batch, max_batch = row.number("min_batch_samples"), row.number("max_batch_samples")
    if min_batch > max_batch:
        raise row.error(f"min_batch_samples {min_batch:g} is above max_batch_samples {max_batch:g}")
    basis = row.choice("basis", ("measured", "derived", "assumed"))
    return Convergence(
        model=row.text("model"),
        data_set=row.choice("data_set", datasets()),
        min_batch=min_batch,
        max_batch=max_batch,
        efficiency=Efficiency(
            min_steps=row.number("min_steps"),
            noise_batch=row.number("noise_batch_samples"),
            target=row.text("target"),
            source=row.text("source"),
            basis=cast("Literal['measured', 'derived', 'assumed']", basis),
            method=row.text("method"),
        ),
    )


@functools.cache
def convergences() -> tuple[Convergence, ...]:
    """Return every row of convergence.csv.

    Returns
    -------
    tuple of Convergence
        In the order of the file; at most one for each model, data set and target.

    Raises
    ------
    CatalogError
        If the file is malformed.
    """
    return tuple(unique(rows_of("convergence.csv", CONVERGENCE_COLUMNS), parse_convergence, _name).values())


def _name(row: Convergence) -> str:
    return f"{row.model} on {row.data_set} to {row.efficiency.target}"


def targets(model: str, data_set: str) -> tuple[str, ...]:
    """Return the targets that are known of a model on a data set.

    Parameters
    ----------
    model, data_set : str
        Catalog names.

    Returns
    -------
    tuple of str
        In the order of the file; empty where nothing is known.

    Examples
    --------
    >>> targets("resnet50", "imagenet")
    ('top-1 75 %', 'top-1 75.9 %')
    """
    return tuple(row.efficiency.target for row in convergences() if (row.model, row.data_set) == (model, data_set))


def efficiency_of(model: str, data_set: str, *, batch: float, target: str | None = None) -> Efficiency | None:
    """Return how many updates a model takes on a data set.

    Parameters
    ----------
    model, data_set : str
        Catalog names.
    batch : float
        Samples of a step of all workers together. Outside of the range of the runs the basis is ``derived``.
    target : str, optional
        Which one; the first of the file if left out.

    Returns
    -------
    Efficiency or None
        None where nothing is known.

    Examples
    --------
    >>> efficiency_of("resnet50", "imagenet", batch=256).basis, efficiency_of("resnet50", "imagenet", batch=64).basis
    ('measured', 'derived')
    >>> efficiency_of("mobilenet_v1", "imagenet", batch=256) is None
    True
    """
    for row in convergences():
        if (row.model, row.data_set) == (model, data_set) and target in (None, row.efficiency.target):
            is_inside = row.min_batch <= batch <= row.max_batch
            return row.efficiency if is_inside else replace(row.efficiency, basis="derived")
    return None


def descriptions() -> Mapping[str, str]:
    """Return a one-line description of every row of convergence.csv.

    Returns
    -------
    mapping of str to str
        By model, data set and target, in the order of the file.
    """
    return MappingProxyType(
        {
            f"{row.model}/{row.data_set}/{row.efficiency.target}": f"{figures(row.efficiency)}; {row.efficiency.method}"
            for row in convergences()
        }
    )


def figures(efficiency: Efficiency) -> str:
    """Return the updates that a target takes.

    Parameters
    ----------
    efficiency : Efficiency
        Any.

    Returns
    -------
    str
        For people.
    """
    least, noise_batch = _digits(efficiency.min_steps), _digits(efficiency.noise_batch)
    return f"{least} updates at least, twice as many at batch {noise_batch}"


def _digits(value: float) -> str:
    return f"{value:.0f}" if value >= 1000 else f"{value:.4g}"
