"""What the executors run: one small program for each rank and server, over shared objects.

A program repeats its body of instructions, which `hetsim.model.instructions` lists on one page, a number of times.
"""

from dataclasses import dataclass
from typing import Literal

from hetsim.model.instructions import Ask, Choose, Collect, Every, Instruction, Take, Wait, Work

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
    is_clock : bool
        Whether the ends of its iterations are the updates of its job's parameters.
    """

    name: str
    job: int
    rank: int
    body: tuple[Instruction, ...]
    n_iterations: int
    members: tuple[int, ...] = ()
    is_background: bool = False
    is_clock: bool = False

    @property
    def take(self) -> Take | None:
        """What the program takes before each iteration; None where it has a number of iterations of its own."""
        return self.body[0] if self.body and isinstance(self.body[0], Take) else None

    @property
    def is_open(self) -> bool:
        """Whether it shows only in a run how many iterations the program has."""
        return self.take is not None or any(isinstance(instruction, Ask) for instruction in self.body)

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
    def is_straight(self) -> bool:
        """Whether an iteration is like any other: all is done that there is, by whoever comes first, and at once."""
        return not any(program.is_clock for program in self.programs) and not any(
            isinstance(instruction, Every | Choose | Collect | Take | Ask)
            or (isinstance(instruction, Wait) and instruction.period != 1)
            or (isinstance(instruction, Work) and instruction.success < 1.0)
            for program in self.programs
            for instruction in program.body
        )

    @property
    def has_background(self) -> bool:
        """Whether there is anything that the run does not wait for."""
        return any(program.is_background for program in self.programs)
