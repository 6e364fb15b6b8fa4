"""Keyed random draws: a function of (seed, replication, stream, step), in any order, in any process.

The generator is Philox4x64-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011,
doi:10.1145/2063384.2063405), the one behind ``numpy.random.Philox``; distributions are our own inverse transforms,
since numpy may change its own between versions.
"""

import hashlib
import math

import numpy as np
import numpy.typing as npt

from hetsim.kernels.jit import jit_without_allocation

FloatArray = npt.NDArray[np.float64]

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_M0 = np.uint64(0xD2E7470EE14C6C93)
_M1 = np.uint64(0xCA5A826395121157)
_W0 = np.uint64(0x9E3779B97F4A7C15)
_W1 = np.uint64(0xBB67AE8584CAA73B)
_ZERO = np.uint64(0)
_SHIFT = np.uint64(12)
_N_ROUNDS = 10


@jit_without_allocation
def _multiply(a: np.uint64, b: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return the high and the low word of a 64-bit product, by halves."""
    a_low, a_high, b_low, b_high = a & _LOW, a >> _HALF, b & _LOW, b >> _HALF
    low = a_low * b_low
    middle = a_high * b_low + (low >> _HALF)
    other = a_low * b_high + (middle & _LOW)
    high = a_high * b_high + (middle >> _HALF) + (other >> _HALF)
    return high, (other << _HALF) | (low & _LOW)


@jit_without_allocation
def philox(key0: np.uint64, key1: np.uint64, counter: np.uint64) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Return the four words of one Philox4x64-10 block.

    Parameters
    ----------
    key0, key1 : uint64
        Key.
    counter : uint64
        Lowest word of the counter; the other three are zero.

    Returns
    -------
    tuple of uint64, shape (4,)
        Words.
    """
    x0, x1, x2, x3 = counter, _ZERO, _ZERO, _ZERO
    for _ in range(_N_ROUNDS):
        high0, low0 = _multiply(_M0, x0)
        high1, low1 = _multiply(_M1, x2)
        x0, x1, x2, x3 = high1 ^ x1 ^ key0, low1, high0 ^ x3 ^ key1, low0
        key0 = key0 + _W0
        key1 = key1 + _W1
    return x0, x1, x2, x3


@jit_without_allocation
def unit(word: np.uint64) -> float:
    """Return the 52 high bits of a word as a number strictly between 0 and 1.

    Parameters
    ----------
    word : uint64
        Random bits.

    Returns
    -------
    float
        Centre of one of 2**52 equal cells, so that it can be neither 0 nor 1.
    """
    return (np.float64(word >> _SHIFT) + 0.5) * 2.0**-52


@jit_without_allocation
def normal_quantile(p: float) -> float:
    """Return the standard normal quantile, to about 1 part in 10**16.

    Parameters
    ----------
    p : float
        Probability, strictly between 0 and 1.

    Returns
    -------
    float
        The quantile.

    References
    ----------
    M. J. Wichura, "Algorithm AS 241: the percentage points of the normal distribution", Applied Statistics 37 (1988)
    477-484, doi:10.2307/2347330, routine PPND16.
    """
    q = p - 0.5
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        return (
            q
            * (
                (
                    (
                        (
                            (
                                ((2.5090809287301226727e3 * r + 3.3430575583588128105e4) * r + 6.7265770927008700853e4)
                                * r
                                + 4.5921953931549871457e4
                            )
                            * r
                            + 1.3731693765509461125e4
                        )
                        * r
                        + 1.9715909503065514427e3
                    )
                    * r
                    + 1.3314166789178437745e2
                )
                * r
                + 3.3871328727963666080e0
            )
            / (
                (
                    (
                        (
                            (
                                ((5.2264952788528545610e3 * r + 2.8729085735721942674e4) * r + 3.9307895800092710610e4)
                                * r
                                + 2.1213794301586595867e4
                            )
                            * r
                            + 5.3941960214247511077e3
                        )
                        * r
                        + 6.8718700749205790830e2
                    )
                    * r
                    + 4.2313330701600911252e1
                )
                * r
                + 1.0
            )
        )
    tail = p if q < 0.0 else 1.0 - p
    r = math.sqrt(-math.log(tail))
    if r <= 5.0:
        r -= 1.6
        value = (
            (
                (
                    (
                        (
                            (
                                (7.74545014278341407640e-4 * r + 2.27238449892691845833e-2) * r
                                + 2.41780725177450611770e-1
                            )
                            * r
                            + 1.27045825245236838258e0
                        )
                        * r
                        + 3.64784832476320460504e0
                    )
                    * r
                    + 5.76949722146069140550e0
                )
                * r
                + 4.63033784615654529590e0
            )
            * r
            + 1.42343711074968357734e0
        ) / (
            (
                (
                    (
                        (
                            (
                                (1.05075007164441684324e-9 * r + 5.47593808499534494600e-4) * r
                                + 1.51986665636164571966e-2
                            )
                            * r
                            + 1.48103976427480074590e-1
                        )
                        * r
                        + 6.89767334985100004550e-1
                    )
                    * r
                    + 1.67638483018380384940e0
                )
                * r
                + 2.05319162663775882187e0
            )
            * r
            + 1.0
        )
    else:
        r -= 5.0
        value = (
            (
                (
                    (
                        (
                            (
                                (2.01033439929228813265e-7 * r + 2.71155556874348757815e-5) * r
                                + 1.24266094738807843860e-3
                            )
                            * r
                            + 2.65321895265761230930e-2
                        )
                        * r
                        + 2.96560571828504891230e-1
                    )
                    * r
                    + 1.78482653991729133580e0
                )
                * r
                + 5.46378491116411436990e0
            )
            * r
            + 6.65790464350110377720e0
        ) / (
            (
                (
                    (
                        (
                            (
                                (2.04426310338993978564e-15 * r + 1.42151175831644588870e-7) * r
                                + 1.84631831751005468180e-5
                            )
                            * r
                            + 7.86869131145613259100e-4
                        )
                        * r
                        + 1.48753612908506148525e-2
                    )
                    * r
                    + 1.36929880922735805310e-1
                )
                * r
                + 5.99832206555887937690e-1
            )
            * r
            + 1.0
        )
    return -value if q < 0.0 else value


@jit_without_allocation
def fill_uniforms(key0: np.uint64, key1: np.uint64, out: FloatArray) -> None:
    """Fill `out` with the uniform numbers of counters 0, 1, ...

    Parameters
    ----------
    key0, key1 : uint64
        Key.
    out : FloatArray, shape (n,)
        Filled.
    """
    for i in range(out.size):
        out[i] = unit(philox(key0, key1, np.uint64(i))[0])


@jit_without_allocation
def lognormal(key0: np.uint64, key1: np.uint64, counter: int, cv: float) -> float:
    """Return one lognormal factor of mean one.

    With ``sigma**2 = log(1 + cv**2)`` and a standard normal z, ``exp(sigma z - sigma**2 / 2)`` has mean 1 and
    coefficient of variation `cv`.

    Parameters
    ----------
    key0, key1 : uint64
        Key.
    counter : int
        Which draw of the stream.
    cv : float
        Coefficient of variation.

    Returns
    -------
    float
        Positive.
    """
    variance = math.log(1.0 + cv * cv)
    z = normal_quantile(unit(philox(key0, key1, np.uint64(counter))[0]))
    return math.exp(math.sqrt(variance) * z - 0.5 * variance)


@jit_without_allocation
def fill_lognormal(key0: np.uint64, key1: np.uint64, cv: float, out: FloatArray) -> None:
    """Fill `out` with the lognormal factors of counters 0, 1, ...

    Parameters
    ----------
    key0, key1 : uint64
        Key.
    cv : float
        Coefficient of variation.
    out : FloatArray, shape (n,)
        Filled.
    """
    for i in range(out.size):
        out[i] = lognormal(key0, key1, i, cv)


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
