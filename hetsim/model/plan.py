"""What the executors run: one small program for each rank and server, over shared objects.

A program repeats its body a fixed number of times. Each instruction acts in iteration ``i``, counted from zero:

==========  ==========================================================================================
Work        use resources until an amount of work is done; the program waits for it
Flow        start a transfer and go on; counters rise by one when it ends
Push        raise a counter
Wait        wait until ``counter >= base + stride * i``
Delay       wait for a time
==========  ==========================================================================================
"""

from bisect import bisect_right
from dataclasses import dataclass
from typing import Literal

ResourceKind = Literal["device", "shared-device", "link", "stream"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """Something that activities share max-min fairly.

    Parameters
    ----------
    name : str
        Such as ``k80-0/gpu0`` or ``k80-0>switch``.
    kind : {"device", "shared-device", "link", "stream"}
        A device serves one activity at a time, first come first served; the others serve all at once. A stream is what
        the windows of a connection let through.
    capacity : float
        Devices' worth of work per tick (1 for an idle device), or bytes per tick.
    """

    name: str
    kind: ResourceKind
    capacity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityChange:
    """A change of capacity that is known beforehand.

    Parameters
    ----------
    tick : int
        When.
    resource : int
        Index of the resource.
    capacity : float
        From then on.
    """

    tick: int
    resource: int
    capacity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Occupy resources until the work is done.

    Parameters
    ----------
    resources : tuple of int
        Each is used at the rate of progress; the first one is where the activity queues.
    ticks : int
        Duration on idle resources of capacity one.
    jitter_cv : float
        Coefficient of variation of a lognormal factor of mean one, drawn for each iteration.
    stream : int
        Key of the draws, a hash of what is drawn for whom.
    """

    resources: tuple[int, ...]
    ticks: int
    jitter_cv: float = 0.0
    stream: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """Send bytes over a route, without waiting.

    Parameters
    ----------
    usage : tuple of (int, float)
        Links and how often each carries the bytes.
    n_bytes : float
        Payload.
    latency_ticks : int
        Before the first byte moves.
    signals : tuple of int
        Counters that rise by one at the end.
    latency_changes : tuple of (int, int)
        Ticks after the first, ascending, and the latency in ticks of what starts from then on.
    """

    usage: tuple[tuple[int, float], ...]
    n_bytes: float
    latency_ticks: int
    signals: tuple[int, ...]
    latency_changes: tuple[tuple[int, int], ...] = ()

    def latency_at(self, tick: int) -> int:
        """Return the latency of what starts at a tick.

        Parameters
        ----------
        tick : int
            When.

        Returns
        -------
        int
            Ticks.
        """
        n_past = bisect_right(self.latency_changes, tick, key=lambda change: change[0])
        return self.latency_changes[n_past - 1][1] if n_past else self.latency_ticks


@dataclass(frozen=True, slots=True)
class Push:
    """Raise a counter by one.

    Parameters
    ----------
    counter : int
        Index of the counter.
    """

    counter: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Wait until ``counter >= base + stride * iteration``.

    Parameters
    ----------
    counter : int
        Index of the counter.
    base, stride : int
        The threshold.
    """

    counter: int
    base: int
    stride: int


@dataclass(frozen=True, slots=True)
class Delay:
    """Wait for a time.

    Parameters
    ----------
    ticks : int
        How long.
    """

    ticks: int


Instruction = Work | Flow | Push | Wait | Delay


def usage_of(instruction: Instruction) -> tuple[tuple[int, float], ...]:
    """Return the resources that an instruction uses, each with its use for one unit of progress.

    Parameters
    ----------
    instruction : Instruction
        Any.

    Returns
    -------
    tuple of (int, float)
        Empty for a flow within one node, and for what is no activity.
    """
    if isinstance(instruction, Flow):
        return instruction.usage
    if isinstance(instruction, Work):
        return tuple((resource, 1.0) for resource in instruction.resources)
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One actor's loop.

    Parameters
    ----------
    name : str
        Such as ``train/rank 3`` or ``train/server 0``.
    job : int
        Index of the job.
    rank : int
        Rank of a worker; -1 for a server.
    body : tuple of Instruction
        One iteration.
    n_iterations : int
        Steps.
    members : tuple of int
        Ranks whose communication the flows of a collective are; a worker's flows are its own.
    is_background : bool
        Whether the run ends without waiting for it: when all other programs have ended, at the end of that tick. What
        is under way then is not counted as carried.
    """

    name: str
    job: int
    rank: int
    body: tuple[Instruction, ...]
    n_iterations: int
    members: tuple[int, ...] = ()
    is_background: bool = False

    @property
    def senders(self) -> tuple[int, ...]:
        """Ranks for which the time of its flows counts."""
        return (self.rank,) if self.rank >= 0 else self.members


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything an executor needs.

    Parameters
    ----------
    jobs : tuple of str
        Names.
    resources : tuple of Resource
        Shared objects with capacity.
    counters : tuple of str
        Names of the counters; all start at zero.
    programs : tuple of Program
        In (job, rank) order, servers after the ranks of their job.
    changes : tuple of CapacityChange
        In order of time.
    choices : tuple of str
        What the lowering decided, for the manifest.
    warnings : tuple of str
        What a user should know.
    """

    jobs: tuple[str, ...]
    resources: tuple[Resource, ...]
    counters: tuple[str, ...]
    programs: tuple[Program, ...]
    changes: tuple[CapacityChange, ...] = ()
    choices: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def has_background(self) -> bool:
        """Whether there is anything that the run does not wait for."""
        return any(program.is_background for program in self.programs)
