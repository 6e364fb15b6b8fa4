"""How often a part of an exchange is done: once in each round of so many steps."""

from dataclasses import dataclass
from typing import Final

from hetsim.model.instructions import MOST_ITERATIONS, Ask, Decider, Every


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    """Rounds of the steps of ranks, or of those of other actors that take part once in each shorter round.

    Parameters
    ----------
    period : int
        Steps of a round.
    start : int
        Each of so many first steps is a round by itself.
    own : tuple of int, shape (n_ranks,)
        Steps of a round of each rank, where they differ; then there is no start.
    phase : int
        In which step of a round; -1 for the first one of what is early and the last one of what is late.
    decider : Decider or None
        Who says while the plan runs when a round ends; then the period is zero.
    """

    period: int = 1
    start: int = 0
    own: tuple[int, ...] = ()
    phase: int = -1
    decider: Decider | None = None

    def n_in(self, n_steps: int) -> int:
        """Return how many rounds are complete after some steps.

        Parameters
        ----------
        n_steps : int
            Of whose rounds they are.

        Returns
        -------
        int
            Number.
        """
        if self.phase >= 0:
            return (n_steps - self.phase + self.period - 1) // self.period
        if self.decider is not None:
            return n_steps
        return n_steps if n_steps <= self.start else self.start + (n_steps - self.start) // self.period

    def within(self, inner: "Rounds") -> "Rounds":
        """Return these rounds in terms of shorter ones.

        Parameters
        ----------
        inner : Rounds
            Of which a whole number makes one of these.

        Returns
        -------
        Rounds
            A step is one of the inner rounds.
        """
        return Rounds(period=self.period // inner.period, start=self.start, phase=self.phase)

    def of_rank(self, rank: int) -> "Rounds":
        """Return the rounds as one rank has them.

        Parameters
        ----------
        rank : int
            Which.

        Returns
        -------
        Rounds
            In its own steps.
        """
        return Rounds(period=self.own[rank]) if self.own else self

    def every(self, n_instructions: int, n_steps: int, *, is_early: bool) -> Every | Ask | None:
        """Return what lets instructions be done once in each round that is completed.

        Parameters
        ----------
        n_instructions : int
            That follow.
        n_steps : int
            Of the program.
        is_early : bool
            Whether they come before the work of a step.

        Returns
        -------
        Every, Ask or None
            None where they are done in every step.
        """
        if self.period == 1 and self.phase < 0:
            return None
        if self.decider is not None:
            return Ask(decider=self.decider, n_instructions=n_instructions)
        end = MOST_ITERATIONS
        if self.phase >= 0:
            phase = self.phase
        else:
            phase = 0 if is_early else self.period - 1
            n_left = (n_steps - self.start) % self.period if n_steps > self.start else 0
            end = n_steps - n_left if n_left else end
        return Every(n_instructions=n_instructions, period=self.period, phase=phase, start=self.start, end=end)


EACH_STEP: Final = Rounds()
