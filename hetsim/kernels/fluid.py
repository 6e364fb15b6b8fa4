"""Fluid activities on shared resources: max-min fair rates, and when each activity ends.

An activity (a transfer, or work on a device) uses each of its resources at ``coefficient * rate``. Rates are max-min
fair: they rise together until a resource is full, which freezes its activities (progressive filling; Bertsekas and
Gallager, "Data Networks", 2nd edition 1992, section 6.5.2).
"""

import math

import numpy as np
import numpy.typing as npt

from hetsim.kernels.jit import jit

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

NEVER = -1
"""End of an activity whose rate is zero."""


@jit
def _fair_level(left: FloatArray, load: FloatArray) -> float:
    """Return the rate at which the first resource fills."""
    level = math.inf
    for r in range(left.size):
        if load[r] > 0.0:
            level = min(level, left[r] / load[r])
    return level


@jit
def _freeze(
    first: IntArray, used: IntArray, left: FloatArray, load: FloatArray, level: float, rate: FloatArray
) -> None:
    """Give `level` to every free activity on a full resource, before anything is taken off: a tie freezes together."""
    for i in range(rate.size):
        if rate[i] >= 0.0:
            continue
        for j in range(first[i], first[i + 1]):
            if left[used[j]] / load[used[j]] <= level:
                rate[i] = level
                break


@jit
def _take_stock(
    first: IntArray, used: IntArray, coefficient: FloatArray, rate: FloatArray, left: FloatArray, load: FloatArray
) -> int:
    """Take frozen activities off `left`, add free ones to `load`, and return how many are free."""
    n_free = 0
    for i in range(rate.size):
        free = rate[i] < 0.0
        n_free += free
        for j in range(first[i], first[i + 1]):
            if free:
                load[used[j]] += coefficient[j]
            else:
                left[used[j]] = max(left[used[j]] - coefficient[j] * rate[i], 0.0)
    return n_free


@jit
def fill_rates(
    first: IntArray, used: IntArray, coefficient: FloatArray, capacity: FloatArray, rate: FloatArray
) -> None:
    """Fill `rate` with the max-min fair rates of one component.

    Parameters
    ----------
    first : IntArray, shape (n_activities + 1,)
        Activity i uses ``used[first[i]:first[i + 1]]``; each activity uses at least one resource.
    used : IntArray
        Indices of resources.
    coefficient : FloatArray
        Use of the resource for each unit of rate, positive.
    capacity : FloatArray, shape (n_resources,)
        Not negative.
    rate : FloatArray, shape (n_activities,)
        Filled.
    """
    left = np.empty(capacity.size)
    load = np.empty(capacity.size)
    rate[:] = -1.0
    while True:
        left[:] = capacity
        load[:] = 0.0
        if _take_stock(first, used, coefficient, rate, left, load) == 0:
            return
        _freeze(first, used, left, load, _fair_level(left, load), rate)


@jit
def resolve(
    now: int,
    first: IntArray,
    used: IntArray,
    coefficient: FloatArray,
    capacity: FloatArray,
    remaining: FloatArray,
    since: IntArray,
    rate: FloatArray,
    end: IntArray,
) -> None:
    """Re-solve one component at tick `now`: rates, and for each activity whose rate changed what remains and its end.

    Parameters
    ----------
    now : int
        Tick.
    first, used, coefficient, capacity
        As in `fill_rates`.
    remaining : FloatArray, shape (n_activities,)
        Amount left at tick ``since``; brought forward where the rate changes.
    since : IntArray, shape (n_activities,)
        Tick of `remaining`.
    rate : FloatArray, shape (n_activities,)
        Amount per tick; replaced.
    end : IntArray, shape (n_activities,)
        ``since + ceil(remaining / rate)``, or `NEVER`.
    """
    fresh = np.empty(rate.size)
    fill_rates(first, used, coefficient, capacity, fresh)
    for i in range(rate.size):
        if fresh[i] == rate[i]:
            continue
        remaining[i] = max(remaining[i] - rate[i] * np.float64(now - since[i]), 0.0)
        since[i] = now
        rate[i] = fresh[i]
        if fresh[i] > 0.0:
            end[i] = now + np.int64(math.ceil(remaining[i] / fresh[i]))
        else:
            end[i] = NEVER
