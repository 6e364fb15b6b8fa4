"""Who updates the parameters of an asynchronous job, and how old what they know is."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hetsim.model.aggregation import Group, Rank, ranks_of
from hetsim.model.result import IntArray, JobRun, Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """Clients that update the same parameters, each by itself.

    Parameters
    ----------
    ranks : tuple of int, shape (n_clients,)
        One rank of each client; those of a group end their rounds together.
    period : int
        Steps of a round of a client.
    staleness : int or None
        How many rounds they may be apart; None without a bound.
    """

    ranks: tuple[int, ...]
    period: int
    staleness: int | None


def domains_of(tree: Group | Rank) -> Iterator[Domain]:
    """Yield the domains of a tree.

    Parameters
    ----------
    tree : Group or Rank
        Simplified.

    Yields
    ------
    Domain
        None where all updates are made together; for gossip among ranks each one updates its own model, all of which
        together count as one.
    """
    if isinstance(tree, Rank) or tree.sync not in ("async", "ssp"):
        return
    if tree.architecture == "gossip" and any(isinstance(member, Group) for member in tree.members):
        for member in tree.members:
            yield from domains_of(member)
        return
    yield Domain(
        ranks=tuple(next(ranks_of(member)) for member in tree.members),
        period=round_period(tree),
        staleness=tree.staleness if tree.sync == "ssp" else None,
    )


def round_period(group: Group) -> int:
    """Return how many steps come between two exchanges of a group.

    Parameters
    ----------
    group : Group
        Whose members make equally many steps.

    Returns
    -------
    int
        Product of the periods of the local groups in it and of its own.
    """
    inner = max((round_period(member) for member in group.members if isinstance(member, Group)), default=1)
    return inner * group.period if group.sync == "local" and isinstance(group.period, int) else inner


def started_ticks(round_end: IntArray, staleness: int | None) -> IntArray:
    """Return when each client began each round: after the one before, and after others have come near enough.

    Parameters
    ----------
    round_end : IntArray, shape (n_rounds, n_clients)
        Ticks; -1 where a client has fewer rounds.
    staleness : int or None
        Bound s: round c begins when every client has ended ``c - s`` rounds.

    Returns
    -------
    IntArray, shape (n_rounds, n_clients)
        Ticks; of no meaning where there is no round.
    """
    started = np.zeros_like(round_end)
    started[1:] = round_end[:-1]
    if staleness is not None and len(round_end) > staleness + 1:
        slowest = round_end[: len(round_end) - staleness - 1].max(axis=1, keepdims=True)
        started[staleness + 1 :] = np.maximum(started[staleness + 1 :], slowest)
    return started


def delays_of(run: JobRun) -> IntArray:
    """Return how stale each gradient was: updates by others between the pull and the update.

    Parameters
    ----------
    run : JobRun
        One replication.

    Returns
    -------
    IntArray, shape (n_gradients,)
        By domain, client and round; of local steps how many steps of its own a rank made since the last average; of a
        quorum that counts late gradients the updates while it was made; empty where no gradient is stale.
    """
    tree, trace = run.tree, run.trace
    if isinstance(tree, Rank):
        return np.zeros(0, dtype=np.int64)
    if run.has_quorum:
        return _late_delays(run) if tree.late == "apply" else np.zeros(round(run.n_gradients.sum()), dtype=np.int64)
    if trace.updates.size:
        return _delays_in_rounds(trace)
    if tree.sync == "local":
        return _local_delays(tree, trace.step_end)
    found = [_delays(trace.step_end, domain) for domain in domains_of(tree)]
    return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)


def _delays(step_end: IntArray, domain: Domain) -> IntArray:
    round_end = step_end[domain.period - 1 :: domain.period, list(domain.ranks)]
    started = started_ticks(round_end, domain.staleness)
    has_ended = round_end >= 0
    client = np.broadcast_to(np.arange(len(domain.ranks)), round_end.shape)[has_ended]
    # Updates of one tick come in the order of clients, and each is answered before the next one.
    order = np.lexsort((client, round_end[has_ended]))
    place = np.full(round_end.shape, -1, dtype=np.int64)
    found = np.empty(order.size, dtype=np.int64)
    found[order] = np.arange(order.size)
    place[has_ended] = found
    known = np.zeros_like(place)
    known[1:] = place[:-1] + 1
    # Who had to wait for others knows all that came until then.
    before = np.zeros_like(round_end)
    before[1:] = round_end[:-1]
    waited = has_ended & (started > before)
    known[waited] = np.searchsorted(round_end[has_ended][order], started[waited], side="right")
    return (place - known).T[has_ended.T]


def _local_delays(tree: Group, step_end: IntArray) -> IntArray:
    step, rank = np.nonzero(step_end >= 0)
    if isinstance(tree.period, tuple):
        periods = dict(zip(ranks_of(tree), tree.period, strict=True))
        period = np.array([periods[index] for index in range(len(periods))])[rank]
    else:
        period = np.full(step.size, round_period(tree))
    since = step - tree.local_after
    return np.where(since < 0, 0, since % period).astype(np.int64)


def _delays_in_rounds(trace: Trace) -> IntArray:
    """Return how many steps of its own a rank has made since the update before, where that shows in a run only."""
    # A step that ends a round lasts until parameters came back, after the update.
    number = np.searchsorted(trace.updates[:-1], trace.compute_end, side="left")
    step = np.arange(len(number))[:, np.newaxis]
    is_first = np.diff(number, axis=0, prepend=-1) != 0
    first = np.maximum.accumulate(np.where(is_first, step, 0), axis=0)
    return (step - first)[trace.step_end >= 0]


def _late_delays(run: JobRun) -> IntArray:
    trace = run.trace
    has_ended = trace.step_end >= 0
    begun = (trace.compute_end - trace.compute)[has_ended]
    ended = trace.step_end[has_ended]
    seen = np.searchsorted(trace.updates, begun, side="right")
    return (np.searchsorted(trace.updates, ended, side="left") - seen).clip(min=0)
