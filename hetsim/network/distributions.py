"""Distribution tables of netem: inverse cumulative functions in units of 1/8192 of the jitter.

netem draws an entry of a table and scales it by the jitter. iproute2 makes the tables `normal`, `pareto` and
`paretonormal` from formulas (its folder netem, after NIST Net); they are made here from the same formulas, at first
use, and are equal to the installed files entry by entry. Its `experimental` is a table of measurements that no formula
gives, so it has to come as a file, in the format that tc reads: integers, and lines of comment that begin with #.
"""

import math
from functools import lru_cache
from pathlib import Path
from typing import Final

from hetsim.errors import TraceError, clipped
from hetsim.lookup import did_you_mean

SCALE: Final = 8192
"""Table units in one jitter (NETEM_DIST_SCALE)."""

LONGEST: Final = 16_384
"""Entries that the kernel takes (NETEM_DIST_MAX)."""

_N_ENTRIES: Final = 4096
_LOWEST, _HIGHEST = -(2**15), 2**15 - 1

_NORMAL_FROM, _NORMAL_TO, _NORMAL_STEP = -10.0, 10.05, 0.00005
_N_NORMAL_CELLS: Final = 4 * _N_ENTRIES

_PARETO_EXPONENT: Final = 3.0
_PARETO_MEAN: Final = 1.5
_PARETO_FACTOR: Final = 4.0 / 3.0


@lru_cache
def _normal_quantiles() -> tuple[float, ...]:
    """Return for each entry the largest x of a grid whose cumulative probability rounds to the entry's."""
    import numpy as np

    # The grid is a running sum, as in iproute2, whose rounding decides where a cell ends.
    n_steps = math.ceil((_NORMAL_TO - _NORMAL_FROM) / _NORMAL_STEP) + 1
    grid = np.cumsum(np.concatenate(([_NORMAL_FROM], np.full(n_steps, _NORMAL_STEP)))).tolist()
    last: list[float] = [0.0] * (_N_NORMAL_CELLS + 1)
    for x in grid:
        if x < _NORMAL_TO:
            last[round(_N_NORMAL_CELLS * (0.5 + 0.5 * math.erf(x / math.sqrt(2.0))))] = x
    return tuple(last[: _N_NORMAL_CELLS : _N_NORMAL_CELLS // _N_ENTRIES])


@lru_cache
def normal() -> tuple[int, ...]:
    """Return the table `normal`: mean -0.0008 and standard deviation 1.00005 jitters, cut at 4 below.

    Returns
    -------
    tuple of int, length 4096
        In units of 1/8192 of the jitter.
    """
    return tuple(max(round(x * SCALE), _LOWEST) for x in _normal_quantiles())


@lru_cache
def pareto() -> tuple[int, ...]:
    """Return the table `pareto`: exponent 3, cut at 4 jitters.

    The cut takes its mean to -0.033 and its standard deviation to 0.82 jitters.

    Returns
    -------
    tuple of int, length 4096
        In units of 1/8192 of the jitter.
    """
    return tuple(_pareto_entry(1.0 - i / _N_ENTRIES) for i in range(_N_ENTRIES))


def _pareto_entry(above: float) -> int:
    value: float = (1.0 / above ** (1.0 / _PARETO_EXPONENT) - _PARETO_MEAN) * (_PARETO_FACTOR * SCALE)
    return round(float(min(value, _HIGHEST)))


@lru_cache
def paretonormal() -> tuple[int, ...]:
    """Return the table `paretonormal`: a quarter normal and three quarters `pareto`, rounded towards zero.

    Mean -0.025 and standard deviation 0.83 jitters.

    Returns
    -------
    tuple of int, length 4096
        In units of 1/8192 of the jitter.
    """
    return tuple(int((round(x * SCALE) + 3 * b) / 4) for x, b in zip(_normal_quantiles(), pareto(), strict=True))


TABLES: Final = {"normal": normal, "pareto": pareto, "paretonormal": paretonormal}
"""Tables by name; `uniform` needs none."""

NAMES: Final = ("uniform", *TABLES)


def table_of(name: str) -> tuple[int, ...]:
    """Return the table of a distribution.

    Parameters
    ----------
    name : str
        One of `NAMES`.

    Returns
    -------
    tuple of int
        In units of 1/8192 of the jitter; empty for ``"uniform"``.

    Examples
    --------
    >>> table_of("uniform"), len(table_of("pareto")), table_of("pareto")[0]
    ((), 4096, -5461)
    """
    return () if name == "uniform" else TABLES[name]()


def is_file(name: str) -> bool:
    """Return whether a distribution is meant as a file: its name has a folder or ends in ``.dist``.

    Parameters
    ----------
    name : str
        As written.

    Returns
    -------
    bool
        Whether it is.
    """
    return "/" in name or name.endswith(".dist")


def problem(name: str) -> str:
    """Return what is wrong with a name that is no distribution.

    Parameters
    ----------
    name : str
        As written.

    Returns
    -------
    str
        A message with the valid choices.
    """
    if name == "experimental":
        return "'experimental' is a table of measurements: name iproute2's file, such as ./experimental.dist"
    hint = did_you_mean(name, NAMES) or "."
    return f"no distribution {clipped(repr(name))}{hint} Known: {', '.join(NAMES)}, or the path of a .dist file"


def read_table(path: Path) -> tuple[int, ...]:
    """Read a table file of tc.

    Parameters
    ----------
    path : Path
        Integers separated by blanks; lines that begin with # are skipped.

    Returns
    -------
    tuple of int, length 1 to 16384
        In units of 1/8192 of the jitter.

    Raises
    ------
    TraceError
        If the file cannot be read, or has anything else in it.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError as error:
        raise TraceError(str(path), 0, 0, error.strerror or str(error)) from None
    except UnicodeDecodeError:
        raise TraceError(str(path), 0, 0, "not a text file") from None
    entries: list[int] = []
    for number, line in enumerate(lines, start=1):
        if not line.startswith("#"):
            entries += (_entry(str(path), number, line, word) for word in line.split())
    if not 1 <= len(entries) <= LONGEST:
        raise TraceError(str(path), 0, 0, f"{len(entries)} entries, where the kernel takes 1 to {LONGEST}")
    return tuple(entries)


def _entry(path: str, line: int, text: str, word: str) -> int:
    try:
        value = int(word)
    except ValueError:
        value = _HIGHEST + 1
    if not _LOWEST <= value <= _HIGHEST:
        column = text.index(word) + 1
        raise TraceError(path, line, column, f"{clipped(repr(word))} is no integer from {_LOWEST} to {_HIGHEST}")
    return value
