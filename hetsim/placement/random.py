"""Placement by chance."""

from hetsim.contracts import PlacementView
from hetsim.model.placement import Placement
from hetsim.placement.choose import Servers, first_workers, fitting_slots, reserve_hosts, server_hosts


def random(view: PlacementView, *, servers: Servers = "colocated") -> Placement:
    """Choose free devices with enough memory, and hosts, by chance.

    Parameters
    ----------
    view : PlacementView
        What may be seen; its draws give each device and host a place in a random order, so that the choice depends on
        seed, replication and job alone.
    servers : {"colocated", "separate"}
        Parameter servers on any hosts, or only on hosts that hold no worker of the job.

    Returns
    -------
    Placement
        Devices and hosts with the smallest draws.
    """
    slot_draw = {slot.device: draw for slot, draw in zip(view.slots, view.draws, strict=False)}
    host_draw = {host.name: draw for host, draw in zip(view.hosts, view.draws[len(view.slots) :], strict=True)}
    slots = sorted(fitting_slots(view), key=lambda slot: slot_draw[slot.device])
    hosts = sorted(view.hosts, key=lambda host: host_draw[host.name])
    if servers == "separate":
        reserved = reserve_hosts(view, slots, hosts)
        slots = [slot for slot in slots if slot.host not in reserved]
    workers = first_workers("random", view, slots)
    return Placement(tuple(slot.device for slot in workers), server_hosts("random", view, workers, servers, hosts))
