"""Placement by the user's own list."""

from collections.abc import Sequence

from hetsim.contracts import PlacementView
from hetsim.errors import PolicyError
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

    Raises
    ------
    PolicyError
        If the job has parameter servers and none is named.
    """
    if view.job.n_servers and not servers:
        n = view.job.n_servers
        hosts = "the host of the parameter server" if n == 1 else f"the hosts of {n} parameter servers"
        raise PolicyError("explicit", view.job.job, f"write servers beside workers: {hosts}")
    return Placement(tuple(workers), tuple(servers))
