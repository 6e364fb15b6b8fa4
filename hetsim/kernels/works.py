"""Durations of works with jitter, drawn for many steps at once.

They come in tiles: for some blocks of two steps each (`hetsim.kernels.draws`), all works of a block side by side. Every
pass over a tile is a loop without branches over arrays that stay near the processor.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hetsim.kernels.draws import fill_pairs
from hetsim.kernels.jit import jit, jit_without_allocation
from hetsim.kernels.normal import exp, fill_normal_quantiles, whole

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
WordArray = npt.NDArray[np.uint64]

TICKS, RATE, SIGMA, DRIFT = 0, 1, 2, 3
"""Rows of a table of works: duration before jitter, rate of progress, and jitter (`hetsim.kernels.draws.spread`)."""

MOST_SPAN = 2**51
"""A longer duration is not right, as `whole` counts so far, but still longer than this: for the caller to notice."""

_N_PAIRS = 1024
"""Draws of a tile, twice that: its arrays of 8 kB stay in a near cache, and a call for each pass costs little."""


class Tile(NamedTuple):
    """Durations of some steps; made by `new_tile`, filled by `draw`.

    Parameters
    ----------
    blocks : WordArray, shape (n,)
        Of each entry: half of its step.
    streams : WordArray, shape (n,)
        Of its work.
    works : FloatArray, shape (4, n)
        Rows named above.
    uniform, normal : FloatArray, shape (2, n)
        Scratch.
    amount : IntArray, shape (2, n)
        Device ticks of work of even and of odd steps.
    span : IntArray, shape (2, n)
        Ticks that these take; the same array if `is_idle`.
    is_idle : bool
        Whether every rate is one: no device is busy with anything else.
    """

    blocks: WordArray
    streams: WordArray
    works: FloatArray
    uniform: FloatArray
    normal: FloatArray
    amount: IntArray
    span: IntArray
    is_idle: bool


@jit
def new_tile(works: FloatArray, streams: WordArray, n_steps: int) -> Tile:
    """Return a tile for some works.

    Parameters
    ----------
    works : FloatArray, shape (4, n_works)
        Rows named above.
    streams : WordArray, shape (n_works,)
        Keys of their draws.
    n_steps : int
        There are no more.

    Returns
    -------
    Tile
        Not filled.
    """
    n_works = streams.size
    n_blocks = max(1, min(_N_PAIRS // n_works, (n_steps + 1) // 2))
    n = n_blocks * n_works
    is_idle = bool(np.all(works[RATE] == 1.0))
    amount = np.empty((2, n), dtype=np.int64)
    tile = Tile(
        np.empty(n, dtype=np.uint64),
        np.empty(n, dtype=np.uint64),
        np.empty((4, n)),
        np.empty((2, n)),
        np.empty((2, n)),
        amount,
        amount if is_idle else np.empty((2, n), dtype=np.int64),
        is_idle,
    )
    for i in range(n):
        tile.streams[i] = streams[i % n_works]
        for row in range(4):
            tile.works[row, i] = works[row, i % n_works]
    return tile


@jit_without_allocation
def draw(tile: Tile, key: np.uint64, first_block: int, n_works: int) -> None:
    """Fill a tile.

    Parameters
    ----------
    tile : Tile
        Filled.
    key : uint64
        Of seed and replication.
    first_block : int
        Half of its first step.
    n_works : int
        Works of one step.
    """
    for block in range(tile.blocks.size // n_works):
        blocks = tile.blocks[block * n_works : (block + 1) * n_works]
        for i in range(n_works):
            blocks[i] = np.uint64(first_block + block)
    fill_pairs(key, tile.blocks, tile.streams, tile.uniform)
    for half in range(2):
        fill_normal_quantiles(tile.uniform[half], tile.normal[half])
        _fill_amounts(tile.works, tile.normal[half], tile.amount[half])
        if not tile.is_idle:
            _fill_spans(tile.normal[half], tile.works[RATE], tile.amount[half], tile.span[half])


@jit_without_allocation
def _fill_amounts(works: FloatArray, normal: FloatArray, amount: IntArray) -> None:
    """Turn normal numbers into whole ticks of work, as floats in their place and as integers; see `MOST_SPAN`.

    Without jitter the factor is one.
    """
    for i in range(amount.size):
        ticks = np.ceil(works[TICKS, i] * exp(works[SIGMA, i] * normal[i] + works[DRIFT, i]))
        normal[i] = ticks
        amount[i] = whole(ticks)


@jit_without_allocation
def _fill_spans(ticks: FloatArray, rate: FloatArray, amount: IntArray, span: IntArray) -> None:
    """Fill in how long amounts take; one that is too large counts as taking too long."""
    for i in range(span.size):
        taken = whole(np.ceil(ticks[i] / rate[i]))
        span[i] = taken if amount[i] <= MOST_SPAN else amount[i]
