"""Logarithm, exponential and normal quantile from nothing but sums, products, quotients and square roots.

These are rounded alike on every machine, so a draw has the same bits everywhere, which libm does not promise; and a
compiler does several of them at a time where it finds no branch. Polynomials are summed in pairs, pairs of pairs and so
on (Estrin's scheme): term by term, where each step waits for the one before, a row of quotients of two polynomials of
degree 7 took 1.5 times, one of exponentials twice as long.
"""

import math

import numpy as np
import numpy.typing as npt

from hetsim.kernels.jit import jit_without_allocation

FloatArray = npt.NDArray[np.float64]

_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""Their sum is ln 2; the first has 33 bits, so that its product with a small integer is exact."""

_PER_LN2 = 1.4426950408889634074
_ONE_BITS, _SQRT_HALF_BITS = np.uint64(0x3FF0000000000000), np.uint64(0x3FE6A09E667F3BCD)
_N_FRACTION_BITS, _FRACTION_BITS = np.uint64(52), np.uint64(2**52 - 1)
_BIAS = np.uint64(1023)
_WHOLE, _WHOLE_BITS = 2.0**52 + 1023.0, np.uint64(0x4330000000000000)

_ROUNDER, _ROUNDER_BITS = 1.5 * 2.0**52, np.int64(0x4338000000000000)
"""Added to a number below 2**51, it leaves the nearest integer in the low bits."""

_LEAST = -700.0
"""Where the exponential stops to fall: its value, 1e-304, is as good as nothing and still a normal number."""


@jit_without_allocation
def bits_of(x: float) -> np.uint64:
    """Return the bits of a number.

    Parameters
    ----------
    x : float
        Any.

    Returns
    -------
    uint64
        Sign, exponent and fraction.
    """
    return np.float64(x).view(np.uint64)


@jit_without_allocation
def float_of(bits: np.uint64) -> np.float64:
    """Return the number that has some bits.

    Parameters
    ----------
    bits : uint64
        Sign, exponent and fraction.

    Returns
    -------
    float64
        The number.
    """
    return np.uint64(bits).view(np.float64)


@jit_without_allocation
def whole(x: float) -> np.int64:
    """Return a whole number as an integer, by its bits: not every processor converts several at a time.

    Parameters
    ----------
    x : float
        A whole number between ``-2**51`` and ``2**51``.

    Returns
    -------
    int64
        The same number.
    """
    return np.float64(x + _ROUNDER).view(np.int64) - _ROUNDER_BITS


@jit_without_allocation
def log(x: float) -> float:
    """Return the natural logarithm, to about 1 part in 10**15.

    With ``x = 2**k m`` and m between ``sqrt(1/2)`` and ``sqrt(2)``, it is ``k ln 2 + log(m)``.

    Parameters
    ----------
    x : float
        Positive, finite and normal.

    Returns
    -------
    float
        The logarithm.
    """
    bits = bits_of(x) + (_ONE_BITS - _SQRT_HALF_BITS)
    m = float_of((bits & _FRACTION_BITS) + _SQRT_HALF_BITS)
    # The exponent as the last bits of a float's fraction: not every processor converts several integers at a time.
    k = float_of((bits >> _N_FRACTION_BITS) | _WHOLE_BITS) - _WHOLE
    return k * _LN2_HIGH + (log_of_one_and(m - 1.0) + k * _LN2_LOW)


@jit_without_allocation
def log_of_one_and(x: float) -> float:
    """Return ``log(1 + x)``, to about 1 part in 10**15.

    With ``s = x / (2 + x)`` it is ``2 atanh(s)``, which is ``s`` times a function of ``s**2``: 2 and a polynomial
    through the rest of it at 6 Chebyshev points, off by 7 parts in 10**16 at most.

    Parameters
    ----------
    x : float
        Between ``sqrt(1/2) - 1`` and ``sqrt(2) - 1``.

    Returns
    -------
    float
        The logarithm.
    """
    s = x / (2.0 + x)
    t = s * s
    t2 = t * t
    low = (0.400000000112065063 * t + 0.666666666666620832) + (0.222228622801087156 * t + 0.285714241383241606) * t2
    series = low + (0.166218171528589282 * t + 0.181401938028659911) * (t2 * t2)
    return 2.0 * s + s * t * series


@jit_without_allocation
def exp(x: float) -> float:
    """Return the exponential function, to about 2 parts in 10**15.

    With ``x = k ln 2 + r`` and r between ``-ln 2 / 2`` and ``ln 2 / 2`` it is ``2**k exp(r)``, and ``exp(r)`` is
    ``1 + r`` and r**2 times a polynomial, here one through 9 Chebyshev points, off by 12 parts in 10**16 at most.

    Parameters
    ----------
    x : float
        At most 700; what is below -700 counts as that.

    Returns
    -------
    float
        Positive.
    """
    x = x if x > _LEAST else _LEAST
    shifted = x * _PER_LN2 + _ROUNDER
    k = shifted - _ROUNDER
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    r2 = r * r
    r4 = r2 * r2
    low = (0.166666666666483029 * r + 0.5) + (0.00833333335371715697 * r + 0.0416666666666513673) * r2
    middle = 0.00019841208756992321 * r + 0.00138888889058713456
    high = middle + (2.76251020053881069e-6 * r + 0.0000248015364090640865) * r2
    value = 1.0 + (r + r2 * (low + (high + 2.76137955545198587e-7 * r4) * r4))
    return value * float_of((bits_of(shifted) + _BIAS) << _N_FRACTION_BITS)


@jit_without_allocation
def normal_quantile(p: float) -> float:
    """Return the standard normal quantile, to about 2 parts in 10**15, or 2 * 10**-15 where it is less than 1.

    Parameters
    ----------
    p : float
        Probability, between ``2**-54`` and ``1 - 2**-53``.

    Returns
    -------
    float
        The quantile.
    """
    return _quantile_at(p, _depth(p))


@jit_without_allocation
def fill_normal_quantiles(p: FloatArray, out: FloatArray) -> None:
    """Fill `out` with standard normal quantiles.

    Two passes, as two short chains of operations overlap better with their neighbours than a long one: it takes a third
    less time.

    Parameters
    ----------
    p : FloatArray, shape (n,)
        As for `normal_quantile`.
    out : FloatArray, shape (n,)
        Filled; another array.
    """
    for i in range(p.size):
        out[i] = _depth(p[i])
    for i in range(p.size):
        out[i] = _quantile_at(p[i], out[i])


@jit_without_allocation
def _depth(p: float) -> float:
    """Return how far out a quantile is: the root of minus the logarithm of the probability beyond it."""
    return math.sqrt(-log(p if p < 0.5 else 1.0 - p))


@jit_without_allocation
def _quantile_at(p: float, t: float) -> float:
    """Return the normal quantile.

    Its distance from the median is a function of t, its depth, that is smooth from the median to any tail. Ours is
    rational, of degrees 9 and 8, through 18 values between those of ``p = 1/2`` and ``p = 2**-54``, the Chebyshev
    points of ``t / (t + 2)``, solved for with 50 digits; it is off by 5e-16 at most.
    """
    t2 = t * t
    t4 = t2 * t2
    t8 = t4 * t4
    above = (
        ((-78.1780109208864017 * t - 3.83692463554478566) + (-210.829296137533191 * t - 293.256104323518474) * t2)
        + ((429.756195682236167 * t + 266.188206732623849) + (56.4811640672343629 * t + 231.615503195463191) * t2) * t4
        + (0.139989646620996152 * t + 5.39147733021095778) * t8
    )
    below = (
        ((30.461610899000179 * t + 1.0) + (394.617118954624573 * t + 186.633374884878845) * t2)
        + ((171.743529850625079 * t + 366.967707215403859) + (3.81298102597034114 * t + 40.2265681539736091) * t2) * t4
        + 0.0989845886618746513 * t8
    )
    distance = above / below
    return -distance if p < 0.5 else distance
