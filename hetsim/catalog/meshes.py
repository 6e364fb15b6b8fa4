"""Direct links between the accelerators of known machines."""

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from hetsim.catalog.rows import Row
from hetsim.catalog.tables import links, rows_of, unique

MESH_COLUMNS = ("name", "link", "pairs", "description", "source")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mesh:
    """Which accelerators of a machine are joined, and by how many links.

    Parameters
    ----------
    name : str
        Such as ``DGX-1-V100``.
    link : str
        Name in links.csv of one link.
    pairs : tuple of (int, int, int)
        Two devices, by their number in the host, and the links between them.
    source : str
        Where that comes from.
    """

    name: str
    link: str
    pairs: tuple[tuple[int, int, int], ...]
    source: str


def parse_mesh(row: Row) -> Mesh:
    """Return the mesh of a row of meshes.csv.

    Parameters
    ----------
    row : Row
        With `MESH_COLUMNS`; pairs are such as ``0-1`` or, with two links, ``0-1:2``.

    Returns
    -------
    Mesh
        The mesh.

    Raises
    ------
    CatalogError
        If a cell is malformed, or names an unknown link.
    """
    pairs = []
    for text in row.text("pairs").split():
        match = re.fullmatch(r"(\d+)-(\d+)(?::([1-9]\d*))?", text)
        if match is None or match[1] == match[2]:
            raise row.error(f"pairs {text!r} is not of the form 0-1 or 0-1:2")
        pairs.append((int(match[1]), int(match[2]), int(match[3] or 1)))
    known = [name for name, spec in links().items() if spec.kind == "peer"]
    return Mesh(name=row.text("name"), link=row.choice("link", known), pairs=tuple(pairs), source=row.text("source"))


@functools.cache
def meshes() -> Mapping[str, Mesh]:
    """Return every mesh of meshes.csv.

    Returns
    -------
    mapping of str to Mesh
        By name, in the order of the file.

    Raises
    ------
    CatalogError
        If the file is malformed.

    Examples
    --------
    >>> len(meshes()["DGX-1-V100"].pairs)
    16
    """
    return MappingProxyType(unique(rows_of("meshes.csv", MESH_COLUMNS), parse_mesh, lambda mesh: mesh.name))


def descriptions() -> Mapping[str, str]:
    """Return a one-line description of every mesh.

    Returns
    -------
    mapping of str to str
        By name.

    Raises
    ------
    CatalogError
        If the file is malformed.
    """
    return MappingProxyType({row.text("name"): row.text("description") for row in rows_of("meshes.csv", MESH_COLUMNS)})
