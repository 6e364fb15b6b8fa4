"""Transfers of others, which share the network with the jobs."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Transfers one after the other from one host to another.

    Parameters
    ----------
    source, target : str
        Hosts.
    n_bytes : float
        Payload of each transfer.
    every_s : float
        From the start of one to that of the next; one that takes longer is followed at once.
    cv : float
        Coefficient of variation of these times, lognormal; zero for a schedule.
    start_s : float
        Of the first one.
    n_transfers : int
        How many; zero for as long as the jobs take.
    n_streams : int
        Connections that each has: its weight where it competes.
    """

    source: str
    target: str
    n_bytes: float
    every_s: float
    cv: float = 0.0
    start_s: float = 0.0
    n_transfers: int = 0
    n_streams: int = 1
