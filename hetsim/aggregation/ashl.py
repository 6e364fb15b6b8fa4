"""Numbers of local steps that let workers of unequal speed end together."""

import math
from typing import Literal

from hetsim.contracts import AggregationView
from hetsim.model.aggregation import Group, Rank


def ashl(view: AggregationView, *, k: float = 2.0, sharding: Literal["round-robin", "even"] = "round-robin") -> Group:
    """Let fast workers do more local steps, so that all exchange parameters at the same time, as ASHL does.

    Adaptive synchronous hybrid local SGD, by the abstract and the public code of ASHL (IEEE Transactions on Computers,
    2023).

    Parameters
    ----------
    view : AggregationView
        What may be seen.
    k : float
        Steps of the worker whose `k` steps and exchange take longest, at least one.
    sharding : {"round-robin", "even"}
        Whole variables over servers in creation order, or equal shares of the bytes.

    Returns
    -------
    Group
        Parameter servers, and a number of steps for each rank.

    Raises
    ------
    ValueError
        If `k` is less than one step, or a rank takes no time for a step, or gets none.
    """
    return Group(
        members=tuple(Rank(index) for index in range(len(view.ranks))),
        architecture="parameter-server",
        sync="local",
        period=local_steps(view, k),
        servers=view.servers,
        sharding=sharding,
    )


def local_steps(view: AggregationView, k: float) -> tuple[int, ...]:
    """Return how many steps each rank makes between two exchanges.

    Parameters
    ----------
    view : AggregationView
        What may be seen.
    k : float
        Steps of the slowest rank.

    Returns
    -------
    tuple of int, shape (n_ranks,)
        ``H_i = round((x - m_i) / c_i)``, one at least, with ``x = max_i(k c_i + m_i)``: a step of rank i takes ``c_i``
        and its exchange with the servers ``m_i``, as far as both are known beforehand.

    Raises
    ------
    ValueError
        If `k` is less than one step, or a rank takes no time for a step, or gets none.
    """
    if not (math.isfinite(k) and k >= 1.0):
        raise ValueError(f"k is {k}, but the slowest worker makes one step at least")
    compute_s = []
    for index, rank in enumerate(view.ranks):
        if not (rank.compute_s > 0.0 and rank.available_frac > 0.0):
            what = f"takes {rank.compute_s:g} s for a step on {rank.available_frac:g} of its device"
            raise ValueError(f"rank {index} {what}, so no number of steps balances it")
        compute_s.append(rank.compute_s / rank.available_frac)
    exchange_s = [_exchange_s(view, rank.host) for rank in view.ranks]
    longest_s = max(k * step_s + sent_s for step_s, sent_s in zip(compute_s, exchange_s, strict=True))
    if not math.isfinite(longest_s):
        raise ValueError("no bytes get from some worker to some server, so no number of steps balances it")
    return tuple(
        max(1, round((longest_s - sent_s) / step_s)) for step_s, sent_s in zip(compute_s, exchange_s, strict=True)
    )


def _exchange_s(view: AggregationView, host: str) -> float:
    """Return the time of a push and a pull of all bytes, one server after the other, in equal shares."""
    share_bytes = view.gradient_bytes / max(1, len(view.servers))
    ways = [(host, server) for server in view.servers] + [(server, host) for server in view.servers]
    rates = [view.path_bytes_per_s(*way) for way in ways]
    return sum(share_bytes / rate if rate > 0.0 else math.inf for rate in rates)
