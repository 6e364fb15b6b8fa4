"""Read the catalog: one CSV file for each kind of thing, a unit in each header, a source in every row.

A new device, link or data set is one more line in its file; nothing else changes.
"""

import functools
import importlib.resources
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Literal, TypeVar, cast

from hetsim.catalog.rows import Row, read_rows
from hetsim.model.cluster import DeviceSpec, LinkSpec
from hetsim.model.workload import Dataset, StepTimeProfile

T = TypeVar("T")

DEVICE_COLUMNS = (
    "name",
    "kind",
    "peak_fp32_flop_per_s",
    "memory_bytes",
    "memory_bytes_per_s",
    "dies_per_card",
    "card_capacity_devices",
    "n_cores",
    "description",
    "source",
)
LINK_COLUMNS = (
    "name",
    "kind",
    "line_rate_bytes_per_s",
    "efficiency_frac",
    "latency_s",
    "description",
    "source",
)
LINK_KINDS = ("bus", "peer", "socket", "network")
DATASET_COLUMNS = (
    "name",
    "n_samples",
    "input_channels",
    "input_height_pixels",
    "input_width_pixels",
    "n_classes",
    "description",
    "source",
)
PROFILE_COLUMNS = (
    "model",
    "device",
    "input_pixels",
    "forward_base_s",
    "forward_per_sample_s",
    "backward_base_s",
    "backward_per_sample_s",
    "min_batch_samples",
    "max_batch_samples",
    "source",
)


def parse_device(row: Row) -> DeviceSpec:
    """Return the device of a row of devices.csv.

    Parameters
    ----------
    row : Row
        With `DEVICE_COLUMNS`.

    Returns
    -------
    DeviceSpec
        The device.

    Raises
    ------
    CatalogError
        If a cell is malformed, or the capacity of a card lies outside one to all of its dies.
    """
    kind = cast("Literal['gpu', 'cpu']", row.choice("kind", ("gpu", "cpu")))
    spec = DeviceSpec(
        name=row.text("name"),
        kind=kind,
        flop_per_s=row.number("peak_fp32_flop_per_s"),
        memory_bytes=row.number("memory_bytes", allow_zero=kind == "cpu"),
        memory_bytes_per_s=row.number("memory_bytes_per_s"),
        dies_per_card=row.count("dies_per_card"),
        card_capacity=row.number("card_capacity_devices"),
        n_cores=row.count("n_cores", allow_zero=kind == "gpu"),
        source=row.text("source"),
    )
    if not 1.0 <= spec.card_capacity <= spec.dies_per_card:
        raise row.error(f"card_capacity_devices {spec.card_capacity!r} must lie between 1 and dies_per_card")
    return spec


def parse_link(row: Row) -> LinkSpec:
    """Return the link of a row of links.csv; its payload rate is line rate times efficiency.

    Parameters
    ----------
    row : Row
        With `LINK_COLUMNS`.

    Returns
    -------
    LinkSpec
        The link.

    Raises
    ------
    CatalogError
        If a cell is malformed, or the efficiency is above one.
    """
    efficiency_frac = row.number("efficiency_frac")
    if efficiency_frac > 1.0:
        raise row.error(f"efficiency_frac {efficiency_frac!r} is above one")
    return LinkSpec(
        name=row.text("name"),
        kind=cast("Literal['bus', 'peer', 'socket', 'network']", row.choice("kind", LINK_KINDS)),
        bytes_per_s=row.number("line_rate_bytes_per_s") * efficiency_frac,
        latency_s=row.number("latency_s", allow_zero=True),
        source=row.text("source"),
    )


def parse_dataset(row: Row) -> Dataset:
    """Return the data set of a row of datasets.csv.

    Parameters
    ----------
    row : Row
        With `DATASET_COLUMNS`.

    Returns
    -------
    Dataset
        The data set.

    Raises
    ------
    CatalogError
        If a cell is malformed.
    """
    return Dataset(
        name=row.text("name"),
        n_samples=row.count("n_samples"),
        input_shape=(
            row.count("input_channels"),
            row.count("input_height_pixels"),
            row.count("input_width_pixels"),
        ),
        n_classes=row.count("n_classes"),
        source=row.text("source"),
    )


def parse_profile(row: Row, known_devices: Collection[str]) -> StepTimeProfile:
    """Return the step-time profile of a row of profiles.csv.

    Parameters
    ----------
    row : Row
        With `PROFILE_COLUMNS`.
    known_devices : collection of str
        Names in devices.csv.

    Returns
    -------
    StepTimeProfile
        The profile.

    Raises
    ------
    CatalogError
        If a cell is malformed, the range of batches is empty, or the device is unknown.
    """
    profile = StepTimeProfile(
        model=row.text("model"),
        device=row.choice("device", known_devices),
        forward_base_s=row.number("forward_base_s", allow_zero=True),
        forward_per_sample_s=row.number("forward_per_sample_s"),
        backward_base_s=row.number("backward_base_s", allow_zero=True),
        backward_per_sample_s=row.number("backward_per_sample_s"),
        min_batch=row.count("min_batch_samples"),
        max_batch=row.count("max_batch_samples"),
        input_pixels=row.count("input_pixels"),
        source=row.text("source"),
    )
    if profile.min_batch > profile.max_batch:
        raise row.error(f"min_batch_samples {profile.min_batch} is above max_batch_samples {profile.max_batch}")
    return profile


def unique(rows: Iterable[Row], parse: Callable[[Row], T], key: Callable[[T], str]) -> dict[str, T]:
    """Return the things of a file by name, in the order of the file.

    Parameters
    ----------
    rows : iterable of Row
        The file.
    parse : callable
        ``(row) -> thing``.
    key : callable
        ``(thing) -> name``.

    Returns
    -------
    dict of str to T
        The things.

    Raises
    ------
    CatalogError
        If a row is malformed, or a name comes twice.
    """
    things: dict[str, T] = {}
    for row in rows:
        thing = parse(row)
        name = key(thing)
        if name in things:
            raise row.error(f"{name!r} is listed twice")
        things[name] = thing
    return things


def rows_of(file: str, columns: Collection[str]) -> Iterator[Row]:
    """Return the rows of a file of the catalog.

    Parameters
    ----------
    file : str
        Its name.
    columns : collection of str
        Its headers, in order.

    Returns
    -------
    iterator of Row
        One for each line.

    Raises
    ------
    CatalogError
        If the headers differ, or a row has more or fewer cells.
    """
    text = importlib.resources.files("hetsim.catalog").joinpath(file).read_text(encoding="utf-8")
    return read_rows(text.splitlines(), file, columns)


@functools.cache
def devices() -> Mapping[str, DeviceSpec]:
    """Return every device of devices.csv.

    Returns
    -------
    mapping of str to DeviceSpec
        By name, in the order of the file.

    Raises
    ------
    CatalogError
        If the file is malformed.

    Examples
    --------
    >>> devices()["V100"].flop_per_s
    15700000000000.0
    """
    return MappingProxyType(unique(rows_of("devices.csv", DEVICE_COLUMNS), parse_device, lambda spec: spec.name))


@functools.cache
def links() -> Mapping[str, LinkSpec]:
    """Return every link of links.csv.

    Returns
    -------
    mapping of str to LinkSpec
        By name, in the order of the file.

    Raises
    ------
    CatalogError
        If the file is malformed.

    Examples
    --------
    >>> links()["PCIe3-x16"].kind
    'bus'
    """
    return MappingProxyType(unique(rows_of("links.csv", LINK_COLUMNS), parse_link, lambda spec: spec.name))


@functools.cache
def datasets() -> Mapping[str, Dataset]:
    """Return every data set of datasets.csv.

    Returns
    -------
    mapping of str to Dataset
        By name, in the order of the file.

    Raises
    ------
    CatalogError
        If the file is malformed.

    Examples
    --------
    >>> datasets()["imagenet"].n_samples
    1281167
    """
    return MappingProxyType(unique(rows_of("datasets.csv", DATASET_COLUMNS), parse_dataset, lambda spec: spec.name))


@functools.cache
def profiles() -> tuple[StepTimeProfile, ...]:
    """Return every measured step-time profile of profiles.csv.

    Returns
    -------
    tuple of StepTimeProfile
        In the order of the file; at most one for each model, device and input size.

    Raises
    ------
    CatalogError
        If the file is malformed.
    """
    by_key = unique(
        rows_of("profiles.csv", PROFILE_COLUMNS),
        lambda row: parse_profile(row, devices()),
        lambda profile: f"{profile.model} on {profile.device} at {profile.input_pixels} pixels",
    )
    return tuple(by_key.values())


def descriptions(kind: Literal["device", "link", "dataset"]) -> Mapping[str, str]:
    """Return a one-line description of everything of one kind.

    Parameters
    ----------
    kind : {"device", "link", "dataset"}
        Which file.

    Returns
    -------
    mapping of str to str
        By name, in the order of the file.

    Raises
    ------
    CatalogError
        If the file is malformed.

    Examples
    --------
    >>> descriptions("device")["T4"]
    'NVIDIA T4, 16 GB GDDR6, 70 W'
    """
    columns = {"device": DEVICE_COLUMNS, "link": LINK_COLUMNS, "dataset": DATASET_COLUMNS}[kind]
    return MappingProxyType({row.text("name"): row.text("description") for row in rows_of(f"{kind}s.csv", columns)})
