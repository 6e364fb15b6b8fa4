"""Candidate placements for a job: a modest number that holds a good one, without trying every combination."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, combinations_with_replacement, count, product

from hetsim.contracts import HostView, PlacementView, SlotView
from hetsim.placement.predict import duration_s, worker_step_s

Candidate = tuple[tuple[SlotView, ...], tuple[HostView, ...]]
"""Device of each rank, host of each server."""

HostCost = Callable[[HostView, float], tuple[float, float]]
"""Of a host that holds a share of the parameters; the less the better."""

N_LEVELS = 5
"""Compute times tried as the bound of the slowest worker."""

MAX_SERVER_SETS = 16
"""All ways to put servers on hosts, repeated or not, are tried where there are no more."""

N_SERVER_SETS = 4
"""Hosts that each kind of choice begins with otherwise, for each ranking of the hosts."""


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


def in_order(view: PlacementView, servers: Sequence[HostView]) -> tuple[HostView, ...]:
    """Return hosts of servers such that servers of equal shares are on hosts in the order of the cluster spec.

    Parameters
    ----------
    view : PlacementView
        What may be seen.
    servers : sequence of HostView, shape (n_servers,)
        Host of each server.

    Returns
    -------
    tuple of HostView, shape (n_servers,)
        As good, and the same for all that differ only by servers that are alike.
    """
    index_of = {host.name: index for index, host in enumerate(view.hosts)}
    ordered = list(servers)
    for alike in _alike(view):
        hosts = sorted((servers[server] for server in alike), key=lambda host: index_of[host.name])
        for server, host in zip(alike, hosts, strict=True):
            ordered[server] = host
    return tuple(ordered)


def _alike(view: PlacementView) -> list[list[int]]:
    """Return the numbers of servers that have equal shares, largest share first."""
    servers: defaultdict[float, list[int]] = defaultdict(list)
    for server, share_frac in enumerate(view.job.shard_frac):
        servers[share_frac].append(server)
    return [servers[share_frac] for share_frac in sorted(servers, reverse=True)]


def _server_sets(view: PlacementView, slots: Sequence[SlotView], *, is_separate: bool) -> list[tuple[HostView, ...]]:
    """Return all choices of hosts if they are few, else those that answer fast by each ranking of the hosts."""
    job = view.job
    if job.n_servers == 0:
        return [()]
    alike = _alike(view)
    by_share = [server for servers in alike for server in servers]
    able = [host for host in view.hosts if host.free_bytes >= job.server_bytes * min(job.shard_frac)]
    n_choices = math.prod(math.comb(len(able) + len(servers) - 1, len(servers)) for servers in alike)
    if n_choices <= MAX_SERVER_SETS:
        each = product(*(combinations_with_replacement(able, len(servers)) for servers in alike))
        chosen = [tuple(chain.from_iterable(hosts)) for hosts in each]
    else:
        costs = _host_costs(view, slots, is_separate=is_separate)
        chosen = [hosts for cost in costs for hosts in _few(view, able, cost)]
    return list(dict.fromkeys(in_order(view, _at(by_share, hosts)) for hosts in chosen))


def _at(by_share: Sequence[int], hosts: Sequence[HostView]) -> list[HostView]:
    """Return the host of each server, given those of the servers in another order."""
    host_of = dict(zip(by_share, hosts, strict=True))
    return [host_of[server] for server in range(len(hosts))]


def _few(view: PlacementView, able: Sequence[HostView], cost: HostCost) -> Iterator[tuple[HostView, ...]]:
    """Yield some choices of hosts for the servers, largest share first."""
    n_servers = view.job.n_servers
    ranked = sorted(able, key=lambda host: cost(host, 1.0))
    for first in range(min(N_SERVER_SETS, len(ranked) - n_servers + 1)):
        yield tuple(ranked[first : first + n_servers])
    # One host may hold several servers: the fastest one all of them, or all but the smallest.
    for host, other in zip(ranked[:N_SERVER_SETS], [*ranked[1:N_SERVER_SETS], *ranked[:1]], strict=False):
        yield (host,) * n_servers
        yield (*(host,) * (n_servers - 1), other)
    spread = _spread(view, able, cost)
    if spread:
        yield spread


def _spread(view: PlacementView, able: Sequence[HostView], cost: HostCost) -> tuple[HostView, ...]:
    """Return hosts for the servers, largest share first, each where it would be done first; empty if memory ends."""
    # Graham 1969, Bounds on multiprocessing timing anomalies, doi:10.1137/0117039: longest processing time first
    held: defaultdict[str, float] = defaultdict(float)
    hosts: list[HostView] = []
    for share_frac in sorted(view.job.shard_frac, reverse=True):
        fits = [host for host in able if view.job.server_bytes * (held[host.name] + share_frac) <= host.free_bytes]
        if not fits:
            return ()
        first = min(fits, key=lambda host: cost(host, held[host.name] + share_frac))
        held[first.name] += share_frac
        hosts.append(first)
    return tuple(hosts)


def _host_costs(view: PlacementView, slots: Sequence[SlotView], *, is_separate: bool) -> Iterator[HostCost]:
    """Yield costs that put hosts first which serve workers elsewhere fast; then own workers, or with slow devices."""
    n_workers, n_slots = view.job.n_workers, Counter(slot.host for slot in slots)
    yield lambda host, share_frac: (_server_s(view, host, n_workers, share_frac), 0.0)
    if is_separate:
        fastest: defaultdict[str, float] = defaultdict(lambda: math.inf)
        for slot in slots:
            fastest[slot.host] = min(fastest[slot.host], worker_step_s(slot, 1))
        yield lambda host, share_frac: (-fastest[host.name], _server_s(view, host, n_workers, share_frac))
    else:
        yield lambda host, share_frac: (
            _server_s(view, host, n_workers - min(n_workers, n_slots[host.name]), share_frac),
            0.0,
        )


def _server_s(view: PlacementView, host: HostView, n_remote: int, share_frac: float) -> float:
    """Return how long a host with such a share takes to be pushed to, to update and to answer."""
    transfer_s = duration_s(n_remote * view.job.gradient_bytes * share_frac, host.network_bytes_per_s)
    update_s = view.job.server_update_s + host.update_s * share_frac
    return 2.0 * transfer_s + duration_s(update_s, host.cpu_available_frac)


def _transfer_orders(
    view: PlacementView, slots: Sequence[SlotView], servers: Sequence[HostView]
) -> Iterator[list[tuple[float, float]]]:
    """Yield keys that put devices with short transfers first; where several share a host, each next one is later."""
    network = {host.name: host.network_bytes_per_s for host in view.hosts}
    if not servers:
        yield [(-min(network[slot.host], slot.bus_bytes_per_s), 0.0) for slot in slots]
        yield _packed(slots)
        return
    held: defaultdict[str, float] = defaultdict(float)
    for host, share_frac in zip(servers, view.job.shard_frac, strict=True):
        held[host.name] += share_frac * view.job.gradient_bytes
    n_bytes = sum(held.values())
    turns = _turns(slots)
    times = [
        max(
            duration_s(turn * (n_bytes - held.get(slot.host, 0.0)), network[slot.host]),
            duration_s(n_bytes, slot.bus_bytes_per_s),
        )
        for slot, turn in zip(slots, turns, strict=True)
    ]
    near = [-held.get(slot.host, 0.0) for slot in slots]
    yield [(time, slot.compute_s) for time, slot in zip(times, slots, strict=True)]
    yield list(zip(near, times, strict=True))
    # servers that each have a worker of their own receive from one worker less
    yield [(here if turn == 1 else 0.0, time) for here, turn, time in zip(near, turns, times, strict=True)]


def _turns(slots: Sequence[SlotView]) -> list[int]:
    """Return how many devices of its host each device makes, counted in order."""
    seen: defaultdict[str, Iterator[int]] = defaultdict(lambda: count(1))
    return [next(seen[slot.host]) for slot in slots]


def _packed(slots: Sequence[SlotView]) -> list[tuple[float, float]]:
    """Return keys that fill few hosts: those with most devices first, then in the order of the spec."""
    n_slots = Counter(slot.host for slot in slots)
    order = {host: float(index) for index, host in enumerate(n_slots)}
    return [(-float(n_slots[slot.host]), order[slot.host]) for slot in slots]
