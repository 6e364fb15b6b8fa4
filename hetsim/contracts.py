"""The whole plug-in surface: what a policy sees, what it returns, and the signature of each plug-in.

A policy is a pure function of its view: no engine, no truth, no hidden state. Its keyword-only parameters are the keys
that a scenario may write beside ``policy:``; their annotations are checked when the scenario is loaded.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from hetsim.model.aggregation import Group
from hetsim.model.placement import Placement
from hetsim.model.result import FloatArray, JobRun


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotView:
    """One device that could hold a worker, as last reported.

    Parameters
    ----------
    device, host, kind : str
        Names; kind is that of the device, such as ``V100``.
    compute_s : float
        Estimated time of one step of the job on the idle device.
    available_frac : float
        Share of the device that others leave free.
    free_bytes : float
        Memory left for the job.
    card : str
        Slots of one card share its power and its bus.
    card_capacity : float
        Devices' worth of work that the card sustains.
    bus_bytes_per_s : float
        Rate between the device and its host.
    taken : bool
        Whether another job of this scenario already holds it.
    uses_host_memory : bool
        Whether the worker's memory is its host's, as on a CPU.
    """

    device: str
    host: str
    kind: str
    compute_s: float
    available_frac: float
    free_bytes: float
    card: str
    card_capacity: float
    bus_bytes_per_s: float
    taken: bool
    uses_host_memory: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HostView:
    """One host that could hold a parameter server, as last reported.

    Parameters
    ----------
    name : str
        Name.
    cpu_available_frac : float
        Share of the CPU that others leave free.
    update_s : float
        Estimated time of one update of all parameters on the idle CPU.
    free_bytes : float
        Host memory left.
    network_bytes_per_s : float
        Rate of the host's way into the network that others leave free; zero for a host without network.
    """

    name: str
    cpu_available_frac: float
    update_s: float
    free_bytes: float
    network_bytes_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirements:
    """What a job needs, as estimated before it runs.

    Parameters
    ----------
    job : str
        Name.
    n_workers, n_servers : int
        Ranks and parameter servers.
    worker_bytes : float
        Memory of one worker.
    server_bytes : float
        Memory of all parameter servers together.
    gradient_bytes : float
        Exchanged by each worker and step, each way.
    """

    job: str
    n_workers: int
    n_servers: int
    worker_bytes: float
    server_bytes: float
    gradient_bytes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementView:
    """What a placement policy may see.

    Parameters
    ----------
    job : Requirements
        What is to be placed.
    slots : tuple of SlotView
        In the order of the cluster spec.
    hosts : tuple of HostView
        In the order of the cluster spec.
    draws : FloatArray, shape (n_slots + n_hosts,)
        Uniform numbers for policies that choose by chance: one for each slot, then one for each host. They depend on
        seed, replication and job alone.
    path_bytes_per_s : callable
        ``(host, host) -> float``: free rate of the slowest link between two hosts, infinite within one host.
    """

    job: Requirements
    slots: tuple[SlotView, ...]
    hosts: tuple[HostView, ...]
    draws: FloatArray
    path_bytes_per_s: Callable[[str, str], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankView:
    """One placed worker.

    Parameters
    ----------
    device, host, kind : str
        Where it runs.
    compute_s : float
        Estimated time of one step on the idle device.
    available_frac : float
        Share of the device that others leave free.
    """

    device: str
    host: str
    kind: str
    compute_s: float
    available_frac: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregationView:
    """What an aggregation policy may see.

    Parameters
    ----------
    ranks : tuple of RankView
        By rank.
    servers : tuple of str
        Hosts of the parameter servers, empty if the job has none.
    gradient_bytes : float
        Exchanged by each worker and step, each way.
    path_bytes_per_s : callable
        ``(host, host) -> float``: free rate of the slowest link between two hosts, infinite within one host.
    """

    ranks: tuple[RankView, ...]
    servers: tuple[str, ...]
    gradient_bytes: float
    path_bytes_per_s: Callable[[str, str], float]


PlacementFunction = Callable[..., Placement]
"""``place(view: PlacementView, **parameters) -> Placement``; the first line of its docstring describes it."""

AggregationFunction = Callable[..., Group]
"""``aggregate(view: AggregationView, **parameters) -> Group``; the first line of its docstring describes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregator:
    """An aggregation policy and whether it needs parameter servers.

    Parameters
    ----------
    function : AggregationFunction
        The policy.
    needs_servers : bool
        Whether placement must find hosts for ``servers`` parameter servers.
    """

    function: AggregationFunction
    needs_servers: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A number computed from one replication of one job.

    Parameters
    ----------
    function : callable
        ``(run: JobRun) -> float``; the first line of its docstring describes it.
    unit : str
        For axes and tables.
    better : {"lower", "higher"}
        Which way is an improvement.
    """

    function: Callable[[JobRun], float]
    unit: str
    better: Literal["lower", "higher"]
