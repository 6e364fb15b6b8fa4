"""Workers that a state server tells, after each step, whether to exchange or to make another step by themselves.

ESync (github.com/lizonghang/ESync): the server knows how long the last step of each worker took. A worker exchanges if
it is the slowest one, if the slowest one is ready, or if its next step would not end before that of the slowest one
does: ``c_r + margin > rest`` with what is left of the slowest one's step. So fast workers make several steps while the
slow ones make one, and all come to the exchange at about the same time; it is that of a synchronous parameter server.
"""

from dataclasses import dataclass, field
from typing import Final

from hetsim.model.instructions import MOST_ITERATIONS
from hetsim.plan.rounds import Rounds
from hetsim.plan.script import Script
from hetsim.units import to_ticks

MARGIN_S: Final = 0.5
"""As in the code of ESync."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateServer:
    """Decides by the times of the last steps.

    Parameters
    ----------
    n_ranks : int
        Who are asked.
    n_steps : int
        Steps of all ranks together; the round in which there are as many is the last.
    margin_ticks : int
        A worker exchanges if its next step would end less than this before that of the slowest one.
    """

    n_ranks: int
    n_steps: int
    margin_ticks: int

    def begin(self) -> "Known":
        """Return what is known at the start of a run.

        Returns
        -------
        Known
            Nothing.
        """
        return Known(self)


@dataclass(slots=True)
class Known:
    """What a state server knows in one run.

    Parameters
    ----------
    server : StateServer
        Whose.
    """

    server: StateServer
    step: list[int] = field(init=False)
    begun: list[int] = field(init=False)
    is_ready: list[bool] = field(init=False)
    n_steps: int = 0

    def __post_init__(self) -> None:
        n = self.server.n_ranks
        self.step, self.begun, self.is_ready = [0] * n, [0] * n, [False] * n

    def began(self, rank: int, now: int) -> None:
        """Note that a rank begins a step.

        Parameters
        ----------
        rank, now : int
            Which, and when.
        """
        if all(self.is_ready):
            self.is_ready = [False] * self.server.n_ranks
        self.begun[rank] = now

    def exchanges(self, rank: int, now: int) -> bool:
        """Return whether a rank exchanges now.

        Parameters
        ----------
        rank, now : int
            Which has ended its work, and when.

        Returns
        -------
        bool
            Else it makes another step.
        """
        self.step[rank] = now - self.begun[rank]
        self.n_steps += 1
        slowest = max(range(self.server.n_ranks), key=lambda other: (self.step[other], -other))
        rest = self.step[slowest] + self.begun[slowest] - now
        is_due = self.is_ready[slowest] or self.step[rank] + self.server.margin_ticks > rest
        self.is_ready[rank] = rank == slowest or is_due or self.n_steps >= self.server.n_steps
        return self.is_ready[rank]

    def is_over(self) -> bool:
        """Return whether there were as many steps as there should be.

        Returns
        -------
        bool
            Once all ranks exchange.
        """
        return self.n_steps >= self.server.n_steps and all(self.is_ready)


def decided_rounds(script: Script, margin_s: float) -> Rounds:
    """Let a state server decide when the ranks of a job exchange.

    Parameters
    ----------
    script : Script
        Extended: nobody knows how many steps each rank makes.
    margin_s : float
        Of the server.

    Returns
    -------
    Rounds
        In which ranks exchange.
    """
    job = script.placed.job
    server = StateServer(n_ranks=job.n_workers, n_steps=job.n_steps * job.n_workers, margin_ticks=to_ticks(margin_s))
    script.draft.n_steps = [MOST_ITERATIONS] * job.n_workers
    return Rounds(period=0, decider=server)
