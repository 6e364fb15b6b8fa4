"""How a global batch is split among workers of unequal speed."""

from collections.abc import Sequence


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
