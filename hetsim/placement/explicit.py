"""Placement by the user's own list."""

from collections.abc import Sequence

from hetsim.contracts import PlacementView
from hetsim.model.placement import Placement


def explicit(view: PlacementView, *, workers: Sequence[str], servers: Sequence[str] = ()) -> Placement:
    """Use the devices and hosts that the scenario names.

    Parameters
    ----------
    view : PlacementView
        Not used: the names are checked like every policy's answer.
    workers : sequence of str, shape (n_workers,)
        Device of each rank, such as ``v100-0/gpu0``.
    servers : sequence of str, shape (n_servers,)
        Host of each parameter server.

    Returns
    -------
    Placement
        As named.
    """
    return Placement(tuple(workers), tuple(servers))
