"""The whole plug-in surface: what a policy sees, what it returns, and the signature of each plug-in.

A policy is a pure function of its view: no engine, no truth, no hidden state. Its keyword-only parameters are the keys
that a scenario may write beside ``policy:``; their annotations are checked when the scenario is loaded.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from hetsim.model.aggregation import Group, Sharding
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
    bus_latency_s : float
        Latency between the device and its host, one way.
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
    bus_latency_s: float = 0.0
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
        Estimated time of one update of all parameters on the idle CPU, as far as it grows with their bytes.
    free_bytes : float
        Host memory left for the job, by other programs and by other jobs of this scenario.
    network_bytes_per_s : float
        Rate of the host's way into the network that others leave free; zero for a host without network.
    is_half_duplex : bool
        Whether what the host sends and what it receives share that rate.
    """

    name: str
    cpu_available_frac: float
    update_s: float
    free_bytes: float
    network_bytes_per_s: float
    is_half_duplex: bool = False


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
        Memory of parameter servers that hold all parameters together.
    gradient_bytes : float
        Exchanged by each worker and step, each way.
    shard_frac : tuple of float, shape (n_servers,)
        Share of each parameter server, in the order in which a placement names their hosts: of the gradient's bytes
        that each worker sends it, of `server_bytes`, and of the update of all parameters. Shares are seldom equal:
        TensorFlow puts whole variables on servers in turn.
    server_update_s : float
        Estimated time of the update of each server that holds anything, on an idle CPU, as far as it does not depend on
        host and share.
    """

    job: str
    n_workers: int
    n_servers: int
    worker_bytes: float
    server_bytes: float
    gradient_bytes: float
    shard_frac: tuple[float, ...]
    server_update_s: float = 0.0


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
    path_latency_s : callable
        ``(host, host) -> float``: latency of the way from one host to another, zero within one host.
    """

    job: Requirements
    slots: tuple[SlotView, ...]
    hosts: tuple[HostView, ...]
    draws: FloatArray
    path_bytes_per_s: Callable[[str, str], float]
    path_latency_s: Callable[[str, str], float]


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
"""``aggregate(view: AggregationView, **parameters) -> Group``; the first line of its docstring describes it.

By itself it is a policy that may use parameter servers; an `Aggregator` can say that it needs none. A class whose
instances can be called so, made without arguments, stands for an instance; that holds for placement too.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregator:
    """An aggregation policy and whether it needs parameter servers.

    Parameters
    ----------
    function : AggregationFunction
        The policy.
    needs_servers : bool or callable
        Whether placement must find hosts for ``servers`` parameter servers; where that depends on the parameters of the
        policy, ``(parameters: Mapping[str, object]) -> bool``, which gets all of them, checked and with defaults.
    sharding : {"round-robin", "even"}
        What placement takes for the shares of servers, unless a parameter ``sharding`` of the policy says it.
    """

    function: AggregationFunction
    needs_servers: bool | Callable[[Mapping[str, object]], bool]
    sharding: Sharding = "round-robin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A number computed from one replication of one job.

    Parameters
    ----------
    function : callable
        ``(run: JobRun) -> float or None``; None where it is not known. The first line of its docstring describes it.
    unit : str
        For axes and tables.
    better : {"lower", "higher"}
        Which way is an improvement.
    is_of_work : bool
        Whether it says how fast work is done, whatever that work is worth: schemes with other synchronization do other
        work, so that it names no winner among them.
    """

    function: Callable[[JobRun], float | None]
    unit: str
    better: Literal["lower", "higher"]
    is_of_work: bool = False
