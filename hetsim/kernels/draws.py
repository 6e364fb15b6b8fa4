"""Keyed random draws: a function of (seed, replication, stream, step), in any order, in any process.

The generator is Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011,
doi:10.1145/2063384.2063405): its key is that of seed and replication, its counter the stream and half of the step, and
of the four words of a block the first two make the draw of an even step, the others that of the odd one after it.
Draws one by one and many at a time have the same bits; see `hetsim.kernels.normal`.
"""

import hashlib
import math
from typing import Final

import numpy as np
import numpy.typing as npt

from hetsim.kernels.jit import inlined, jit, jit_without_allocation
from hetsim.kernels.normal import exp, fill_normal_quantiles, log, log_of_one_and, normal_quantile

FloatArray = npt.NDArray[np.float64]
WordArray = npt.NDArray[np.uint64]

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_N_ROUNDS = 10

_N_LEFT_OUT = np.uint64(12)
_ONE_BITS = np.uint64(0x3FF0000000000000)
_TO_CENTRE = 1.0 - 2.0**-53

_TILE = 512
"""Blocks done at a time, so that what one pass leaves for the next stays near the processor."""


_MOST_ATTEMPTS: Final = 1_000_000_000


@inlined
def philox(key: np.uint64, low: np.uint64, high: np.uint64) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Return the four words of one Philox4x32-10 block.

    Parameters
    ----------
    key : uint64
        Both words of the key, the first one low.
    low, high : uint64
        The four words of the counter, each pair with its first one low.

    Returns
    -------
    tuple of uint64, shape (4,)
        Words of 32 bits.
    """
    # Words of 32 bits in 64: a product of two has its high and its low half side by side. What is left above the 32
    # bits is cut off where it would count, which costs nothing before a product.
    key0, key1 = key & _LOW, key >> _HALF
    x0, x1, x2, x3 = low, low >> _HALF, high, high >> _HALF
    for _ in range(_N_ROUNDS):
        product0 = _M0 * (x0 & _LOW)
        product1 = _M1 * (x2 & _LOW)
        x0, x1 = (product1 >> _HALF) ^ x1 ^ key0, product1
        x2, x3 = (product0 >> _HALF) ^ x3 ^ key1, product0
        key0 = (key0 + _W0) & _LOW
        key1 = (key1 + _W1) & _LOW
    return x0 & _LOW, x1 & _LOW, x2 & _LOW, x3 & _LOW


@jit_without_allocation
def unit(high: np.uint64, low: np.uint64) -> float:
    """Return the 52 high bits of two words as a number strictly between 0 and 1.

    Parameters
    ----------
    high, low : uint64
        Words of 32 bits.

    Returns
    -------
    float
        Centre of one of 2**52 equal cells, so that it can be neither 0 nor 1.
    """
    # As the fraction of a number between 1 and 2, from which the difference is exact.
    return np.uint64((((high << _HALF) | low) >> _N_LEFT_OUT) | _ONE_BITS).view(np.float64) - _TO_CENTRE


@jit_without_allocation
def uniform(key: np.uint64, stream: np.uint64, step: int) -> float:
    """Return one uniform number.

    Parameters
    ----------
    key : uint64
        Of seed and replication.
    stream : uint64
        From `stream_key`.
    step : int
        Which draw of the stream.

    Returns
    -------
    float
        Strictly between 0 and 1.
    """
    x0, x1, x2, x3 = philox(key, np.uint64(step >> 1), stream)
    return unit(x2, x3) if step & 1 else unit(x0, x1)


@jit_without_allocation
def attempts(p: float, success: float) -> int:
    """Return how many attempts are made up to the first that succeeds.

    By inversion of ``P(more than k) = (1 - success)**k``, in products only.

    Parameters
    ----------
    p : float
        Uniform number, strictly between 0 and 1.
    success : float
        Probability of each attempt, positive.

    Returns
    -------
    int
        One at least, and one billion at most.
    """
    n, left = 1, 1.0 - success
    while p < left and n < _MOST_ATTEMPTS:
        n += 1
        left *= 1.0 - success
    return n


@jit_without_allocation
def spread(cv: float) -> tuple[float, float]:
    """Return what turns normal numbers z into lognormal factors of mean one: ``exp(sigma z + drift)``.

    With ``sigma**2 = log(1 + cv**2)`` and ``drift = -sigma**2 / 2``, their coefficient of variation is `cv`.

    Parameters
    ----------
    cv : float
        Coefficient of variation, finite and not negative.

    Returns
    -------
    sigma, drift : float
        As above.
    """
    square = cv * cv
    if square < 0.4:
        variance = log_of_one_and(square)
    elif cv < 1e8:
        variance = log(1.0 + square)
    else:
        # The one is lost in the sum, and the square may be beyond the range of numbers.
        variance = 2.0 * log(cv)
    return math.sqrt(variance), -0.5 * variance


@jit_without_allocation
def lognormal_of(p: float, sigma: float, drift: float) -> float:
    """Return the lognormal factor of a uniform number.

    Parameters
    ----------
    p : float
        From `unit`.
    sigma, drift : float
        From `spread`.

    Returns
    -------
    float
        Positive, to about 1 part in 10**14; the most where `sigma` is large.
    """
    return exp(sigma * normal_quantile(p) + drift)


@jit_without_allocation
def lognormal(key0: np.uint64, key1: np.uint64, counter: int, cv: float) -> float:
    """Return one lognormal factor of mean one.

    Parameters
    ----------
    key0 : uint64
        Of seed and replication.
    key1 : uint64
        Of the stream.
    counter : int
        Which draw of the stream.
    cv : float
        Coefficient of variation.

    Returns
    -------
    float
        Positive.
    """
    sigma, drift = spread(cv)
    return lognormal_of(uniform(key0, key1, counter), sigma, drift)


@jit_without_allocation
def fill_pairs(key: np.uint64, blocks: WordArray, streams: WordArray, out: FloatArray) -> None:
    """Fill the rows of `out` with the uniform numbers of steps ``2 block`` and ``2 block + 1``.

    Parameters
    ----------
    key : uint64
        Of seed and replication.
    blocks, streams : WordArray, shape (n,)
        Of each pair.
    out : FloatArray, shape (2, n)
        Filled.
    """
    for i in range(blocks.size):
        x0, x1, x2, x3 = philox(key, blocks[i], streams[i])
        out[0, i] = unit(x0, x1)
        out[1, i] = unit(x2, x3)


@jit
def fill_uniforms(key0: np.uint64, key1: np.uint64, out: FloatArray) -> None:
    """Fill `out` with the uniform numbers of counters 0, 1, ...

    Parameters
    ----------
    key0 : uint64
        Of seed and replication.
    key1 : uint64
        Of the stream.
    out : FloatArray, shape (n,)
        Filled.
    """
    blocks, streams, pairs = np.empty(_TILE, dtype=np.uint64), np.full(_TILE, key1), np.empty((2, _TILE))
    for first in range(0, out.size, 2 * _TILE):
        for i in range(_TILE):
            blocks[i] = np.uint64(first // 2 + i)
        fill_pairs(key0, blocks, streams, pairs)
        for i in range(min(2 * _TILE, out.size - first)):
            out[first + i] = pairs[i % 2, i // 2]


@jit
def fill_lognormal(key0: np.uint64, key1: np.uint64, cv: float, out: FloatArray) -> None:
    """Fill `out` with the lognormal factors of counters 0, 1, ...

    Parameters
    ----------
    key0 : uint64
        Of seed and replication.
    key1 : uint64
        Of the stream.
    cv : float
        Coefficient of variation.
    out : FloatArray, shape (n,)
        Filled.
    """
    fill_uniforms(key0, key1, out)
    sigma, drift = spread(cv)
    normal = np.empty(2 * _TILE)
    for first in range(0, out.size, 2 * _TILE):
        tile = out[first : first + 2 * _TILE]
        fill_normal_quantiles(tile, normal)
        for i in range(tile.size):
            tile[i] = exp(sigma * normal[i] + drift)


def stream_key(*path: str | int) -> int:
    """Return the key of a stream of draws: a hash of its name path.

    Parameters
    ----------
    *path : str or int
        What is drawn for whom, such as ``("compute", "train", 3)``.

    Returns
    -------
    int
        64 bits, the same in every process.
    """
    text = "\x1f".join(str(part) for part in path)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def uniforms(seed: int, replication: int, stream: int, n: int) -> FloatArray:
    """Return uniform numbers strictly between 0 and 1.

    Parameters
    ----------
    seed, replication : int
        Of the scenario and of the run.
    stream : int
        From `stream_key`.
    n : int
        How many.

    Returns
    -------
    FloatArray, shape (n,)
        Entry i depends on (seed, replication, stream, i) alone.
    """
    out = np.empty(n)
    fill_uniforms(np.uint64(stream_key(seed, replication)), np.uint64(stream), out)
    return out


def lognormal_factors(seed: int, replication: int, stream: int, n: int, cv: float) -> FloatArray:
    """Return lognormal factors of mean one.

    Parameters
    ----------
    seed, replication : int
        Of the scenario and of the run.
    stream : int
        From `stream_key`.
    n : int
        How many.
    cv : float
        Coefficient of variation, not negative.

    Returns
    -------
    FloatArray, shape (n,)
        Entry i depends on (seed, replication, stream, i) and `cv` alone.

    Raises
    ------
    ValueError
        If `cv` is negative or not finite.
    """
    if not (math.isfinite(cv) and cv >= 0.0):
        raise ValueError(f"the coefficient of variation is {cv}")
    out = np.empty(n)
    fill_lognormal(np.uint64(stream_key(seed, replication)), np.uint64(stream), cv, out)
    return out
