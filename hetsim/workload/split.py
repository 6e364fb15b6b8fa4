"""How a global batch is split among workers of unequal speed."""

from collections.abc import Callable, Sequence
from typing import Final

_HALVINGS: Final = 60
"""Of an interval of times: more than a float has digits."""


def split_by_speed(total: int, samples_per_s: Sequence[float]) -> tuple[int, ...]:
    """Return a batch for each worker in proportion to its speed, by largest remainders.

    Parameters
    ----------
    total : int
        Samples of all workers together, at least one for each.
    samples_per_s : sequence of float, shape (n_workers,)
        Speed of each worker, positive.

    Returns
    -------
    tuple of int, shape (n_workers,)
        Sum to `total`; every worker has one sample at least, ties go to the lower rank.

    Examples
    --------
    >>> split_by_speed(64, [300.0, 100.0]), split_by_speed(7, [1.0, 1.0]), split_by_speed(4, [1e6, 1.0, 1.0])
    ((48, 16), (4, 3), (2, 1, 1))
    """
    n = len(samples_per_s)
    # Nobody is left without a sample; what is over or short after rounding goes where the share is missed by most.
    exact = [total * speed / sum(samples_per_s) for speed in samples_per_s]
    batches = [max(1, int(share)) for share in exact]
    while sum(batches) != total:
        step = 1 if sum(batches) < total else -1
        able = [rank for rank in range(n) if batches[rank] + step >= 1]
        batches[max(able, key=lambda rank: (step * (exact[rank] - batches[rank]), -rank))] += step
    return tuple(batches)


def split_balanced(total: int, step_s: Sequence[Callable[[int], float]]) -> tuple[int, ...]:
    """Return a batch for each worker so that the slowest one ends its step as early as it can.

    What does not grow with the batch counts too, unlike in a split by speed: the batches solve
    ``a_r + b_r * batch_r = T`` where step times are linear (Cannikin, arXiv 2402.05302, without its overlap of
    communication).

    Parameters
    ----------
    total : int
        Samples of all workers together, at least one for each.
    step_s : sequence of callable, shape (n_workers,)
        ``(batch: int) -> float``: seconds of a step; one that falls as the batch grows is taken as it is up to there.

    Returns
    -------
    tuple of int, shape (n_workers,)
        Sum to `total`; every worker has one sample at least.

    Examples
    --------
    >>> split_balanced(64, [lambda n: 1.0 + 0.1 * n, lambda n: 2.0 + 0.1 * n])
    (37, 27)
    """
    n = len(step_s)
    most = total - n + 1

    def fitting(worker: int, limit_s: float) -> int:
        """Return the largest batch of a worker that keeps within a time, by bisection."""
        low, high = 1, most
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if step_s[worker](middle) <= limit_s else (low, middle - 1)
        return low

    low_s, high_s = 0.0, max(time(most) for time in step_s)
    for _ in range(_HALVINGS):
        middle_s = (low_s + high_s) / 2
        enough = sum(fitting(worker, middle_s) for worker in range(n)) >= total
        low_s, high_s = (low_s, middle_s) if enough else (middle_s, high_s)
    batches = [fitting(worker, high_s) for worker in range(n)]
    # What is over goes from where the step then gets shortest last.
    while sum(batches) > total:
        able = [worker for worker in range(n) if batches[worker] > 1]
        batches[max(able, key=lambda worker: (step_s[worker](batches[worker]), -worker))] -= 1
    return tuple(batches)
