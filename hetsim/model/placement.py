"""Where a job runs."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Placement:
    """Devices of the workers and hosts of the parameter servers.

    Parameters
    ----------
    workers : tuple of str, shape (n_workers,)
        Device of each rank.
    servers : tuple of str, shape (n_servers,)
        Host of each parameter server.
    """

    workers: tuple[str, ...]
    servers: tuple[str, ...] = ()
