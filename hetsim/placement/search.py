"""Candidate placements for a job: a modest number that holds a good one, without trying every combination."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, count

from hetsim.contracts import HostView, PlacementView, SlotView
from hetsim.placement.predict import duration_s, worker_step_s

Candidate = tuple[tuple[SlotView, ...], tuple[HostView, ...]]
"""Device of each rank, host of each server."""

N_LEVELS = 5
"""Compute times tried as the bound of the slowest worker."""

MAX_SERVER_SETS = 12
"""All server sets, hosts repeated or not, are tried where there are no more."""

N_SERVER_SETS = 4
"""Server sets tried from each ranking of the hosts otherwise."""


def candidates(view: PlacementView, slots: Sequence[SlotView], *, is_separate: bool) -> Iterator[Candidate]:
    """Yield placements worth predicting.

    For each of a few bounds on compute time and each of a few server sets, the devices within the bound whose
    transfers are shortest. The least bound that leaves enough devices is always among them, so that where only compute
    differs the best placement is too.

    Parameters
    ----------
    view : PlacementView
        What may be seen.
    slots : sequence of SlotView
        Devices that may be used, at least as many as the job has workers; in the order of the cluster spec.
    is_separate : bool
        Whether servers must not share a host with workers.

    Yields
    ------
    Candidate
        Workers in the order of the cluster spec.
    """
    n_workers = view.job.n_workers
    n_taken = Counter(slot.card for slot in view.slots if slot.taken)
    pools: dict[frozenset[str], list[list[SlotView]]] = {}
    for servers in _server_sets(view, slots, is_separate=is_separate):
        held = frozenset(host.name for host in servers) if is_separate else frozenset()
        if held not in pools:
            pools[held] = _pools([slot for slot in slots if slot.host not in held], n_taken, n_workers)
        for pool in pools[held]:
            for key in _transfer_orders(view, pool, servers):
                chosen = sorted(sorted(range(len(pool)), key=key.__getitem__)[:n_workers])
                yield tuple(pool[index] for index in chosen), servers


def _pools(slots: Sequence[SlotView], n_taken: Counter[str], n_workers: int) -> list[list[SlotView]]:
    return [_within(slots, n_taken, bound_s) for bound_s in _bounds(slots, n_taken, n_workers)]


def _cards(slots: Sequence[SlotView]) -> list[list[SlotView]]:
    cards: defaultdict[str, list[SlotView]] = defaultdict(list)
    for slot in slots:
        cards[slot.card].append(slot)
    return list(cards.values())


def _bounds(slots: Sequence[SlotView], n_taken: Counter[str], n_workers: int) -> list[float]:
    """Return a few compute times, from the least one that leaves enough devices up to the greatest."""
    times = sorted(
        {
            worker_step_s(slot, n_busy + n_taken[slot.card])
            for card in _cards(slots)
            for slot in card
            for n_busy in range(1, len(card) + 1)
        }
    )
    low, high = 0, len(times)
    while low < high:
        middle = (low + high) // 2
        if len(_within(slots, n_taken, times[middle])) >= n_workers:
            high = middle
        else:
            low = middle + 1
    times = [bound for bound in times[low:] if math.isfinite(bound)]
    step = max(1, math.ceil((len(times) - 1) / (N_LEVELS - 1)))
    return times[::step] if len(times) < 2 or times[::step][-1] == times[-1] else [*times[::step], times[-1]]


def _within(slots: Sequence[SlotView], n_taken: Counter[str], bound_s: float) -> list[SlotView]:
    """Return the devices that keep a bound when all of them work: of each card as many as it sustains."""
    kept: set[str] = set()
    for card in _cards(slots):
        for n_busy in range(len(card), 0, -1):
            able = [slot for slot in card if worker_step_s(slot, n_busy + n_taken[slot.card]) <= bound_s]
            if len(able) >= n_busy:
                kept.update(slot.device for slot in able[:n_busy])
                break
    return [slot for slot in slots if slot.device in kept]


def _server_sets(view: PlacementView, slots: Sequence[SlotView], *, is_separate: bool) -> list[tuple[HostView, ...]]:
    """Return all host sets if they are few, else those that answer fast by each ranking of the hosts."""
    job = view.job
    if job.n_servers == 0:
        return [()]
    order = {host.name: index for index, host in enumerate(view.hosts)}
    able = [host for host in view.hosts if host.free_bytes >= job.server_bytes / job.n_servers]
    if math.comb(len(able) + job.n_servers - 1, job.n_servers) <= MAX_SERVER_SETS:
        return list(combinations_with_replacement(able, job.n_servers))
    sets: dict[tuple[HostView, ...], None] = {}
    for ranks in _host_ranks(view, slots, is_separate=is_separate):
        ranked = sorted(able, key=lambda host: ranks[host.name])
        for first in range(min(N_SERVER_SETS, len(ranked) - job.n_servers + 1)):
            chosen = ranked[first : first + job.n_servers]
            sets[tuple(sorted(chosen, key=lambda host: order[host.name]))] = None
        # One host may hold several servers: the fastest one all of them, or all but one.
        for host, other in zip(ranked[:N_SERVER_SETS], [*ranked[1:N_SERVER_SETS], ranked[0]], strict=False):
            for n_alone in (0, 1):
                chosen = [host] * (job.n_servers - n_alone) + [other] * n_alone
                sets[tuple(sorted(chosen, key=lambda host: order[host.name]))] = None
    return list(sets)


def _host_ranks(
    view: PlacementView, slots: Sequence[SlotView], *, is_separate: bool
) -> Iterator[dict[str, tuple[float, float]]]:
    """Yield keys that put hosts first which serve workers elsewhere fast; then own workers, or with slow devices."""
    n_workers, n_slots = view.job.n_workers, Counter(slot.host for slot in slots)
    remote = {host.name: _server_s(view, host, n_workers) for host in view.hosts}
    yield {name: (step_s, 0.0) for name, step_s in remote.items()}
    if is_separate:
        fastest: defaultdict[str, float] = defaultdict(lambda: math.inf)
        for slot in slots:
            fastest[slot.host] = min(fastest[slot.host], worker_step_s(slot, 1))
        yield {name: (-fastest[name], step_s) for name, step_s in remote.items()}
    else:
        yield {
            host.name: (_server_s(view, host, n_workers - min(n_workers, n_slots[host.name])), 0.0)
            for host in view.hosts
        }


def _server_s(view: PlacementView, host: HostView, n_remote: float) -> float:
    share_frac = 1.0 / view.job.n_servers
    transfer_s = duration_s(n_remote * view.job.gradient_bytes * share_frac, host.network_bytes_per_s)
    return 2.0 * transfer_s + duration_s(host.update_s * share_frac, host.cpu_available_frac)


def _transfer_orders(
    view: PlacementView, slots: Sequence[SlotView], servers: Sequence[HostView]
) -> Iterator[list[tuple[float, float]]]:
    """Yield keys that put devices with short transfers first; where several share a host, each next one is later."""
    network = {host.name: host.network_bytes_per_s for host in view.hosts}
    if not servers:
        yield [(-min(network[slot.host], slot.bus_bytes_per_s), 0.0) for slot in slots]
        yield _packed(slots)
        return
    n_servers = Counter(host.name for host in servers)
    share_bytes = view.job.gradient_bytes / len(servers)
    turns = _turns(slots)
    times = [
        max(
            duration_s(turn * (len(servers) - n_servers[slot.host]) * share_bytes, network[slot.host]),
            duration_s(view.job.gradient_bytes, slot.bus_bytes_per_s),
        )
        for slot, turn in zip(slots, turns, strict=True)
    ]
    is_remote = [float(slot.host not in n_servers) for slot in slots]
    yield [(time, slot.compute_s) for time, slot in zip(times, slots, strict=True)]
    yield list(zip(is_remote, times, strict=True))
    # servers that each have a worker of their own receive from one worker less
    yield [(max(remote, float(turn > 1)), time) for remote, turn, time in zip(is_remote, turns, times, strict=True)]


def _turns(slots: Sequence[SlotView]) -> list[int]:
    """Return how many devices of its host each device makes, counted in order."""
    seen: defaultdict[str, Iterator[int]] = defaultdict(lambda: count(1))
    return [next(seen[slot.host]) for slot in slots]


def _packed(slots: Sequence[SlotView]) -> list[tuple[float, float]]:
    """Return keys that fill few hosts: those with most devices first, then in the order of the spec."""
    n_slots = Counter(slot.host for slot in slots)
    order = {host: float(index) for index, host in enumerate(n_slots)}
    return [(-float(n_slots[slot.host]), order[slot.host]) for slot in slots]
