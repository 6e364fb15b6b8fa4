"""One worker per host in turn."""

from collections import Counter

from hetsim.contracts import PlacementView
from hetsim.model.placement import Placement
from hetsim.placement.choose import Servers, first_workers, fitting_slots, reserve_hosts, server_hosts


def round_robin(view: PlacementView, *, servers: Servers = "colocated") -> Placement:
    """Spread workers over hosts: one per host in turn, on free devices with enough memory.

    Parameters
    ----------
    view : PlacementView
        What may be seen; load and capability are not used.
    servers : {"colocated", "separate"}
        Parameter servers on the first hosts of the spec, or on hosts that hold no worker of the job: those without a
        usable device first.

    Returns
    -------
    Placement
        Workers in order of turns, hosts in the order of the spec within each turn.
    """
    slots, hosts = fitting_slots(view), view.hosts
    if servers == "separate":
        with_slots = {slot.host for slot in slots}
        hosts = tuple(sorted(hosts, key=lambda host: host.name in with_slots))
        reserved = reserve_hosts(view, slots, hosts)
        slots = tuple(slot for slot in slots if slot.host not in reserved)
    turns: Counter[str] = Counter()
    turn_of: dict[str, int] = {}
    for slot in slots:
        turn_of[slot.device] = turns[slot.host]
        turns[slot.host] += 1
    workers = first_workers("round-robin", view, sorted(slots, key=lambda slot: turn_of[slot.device]))
    return Placement(tuple(slot.device for slot in workers), server_hosts("round-robin", view, workers, servers, hosts))
