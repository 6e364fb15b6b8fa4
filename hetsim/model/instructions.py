"""What a program may do.

A program repeats its body a fixed number of times. Each instruction acts in iteration ``i``, counted from zero:

==========  ==========================================================================================
Work        use resources until an amount of work is done; the program waits for it
Flow        start a transfer and go on; counters rise by one when it ends
Push        raise a counter
Wait        wait until ``counter >= base + stride * r``, with r rounds before iteration i (r = i)
Delay       wait for a time
Every       pass over some instructions, but in one iteration of each round
Choose      do one of some instructions, by a draw
Collect     wait until an accumulator holds enough gradients, and take them: it is at its next version
Take        wait for a token, first come first served, and take its version; without more of them, end
Ask         let a decider say, while the plan runs, whether to do some instructions (SimPy engine only)
==========  ==========================================================================================

What a program pushes to an accumulator after that is at a later version than the program's own is dropped.
"""

from bisect import bisect_right
from dataclasses import dataclass
from typing import Final, Protocol

MOST_ITERATIONS: Final = 2**31 - 1
"""Of a program."""


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
    success : float
        Probability that an attempt is enough: the work lasts as long as the first so many as are drawn, of which each
        takes the time of one.
    success_stream : int
        Key of these draws.
    """

    resources: tuple[int, ...]
    ticks: int
    jitter_cv: float = 0.0
    stream: int = 0
    success: float = 1.0
    success_stream: int = 0


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
    """Wait until ``counter >= base + stride * r`` with r rounds before the iteration.

    Parameters
    ----------
    counter : int
        Index of the counter.
    base, stride : int
        The threshold.
    period, start : int
        Of the rounds, as for `rounds_before`; a period of 0 for those that an `Ask` has let the program do.
    """

    counter: int
    base: int
    stride: int
    period: int = 1
    start: int = 0

    def threshold(self, iteration: int) -> int:
        """Return what is waited for in an iteration.

        Parameters
        ----------
        iteration : int
            Counted from zero.

        Returns
        -------
        int
            Least value of the counter.
        """
        return self.base + self.stride * rounds_before(iteration, self.period, self.start)


@dataclass(frozen=True, slots=True)
class Delay:
    """Wait for a time.

    Parameters
    ----------
    ticks : int
        How long.
    """

    ticks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Every:
    """Pass over the instructions that follow, but in one iteration of each round, and in all before the first round.

    Parameters
    ----------
    n_instructions : int
        How many of them, with no `Every` or `Choose` among them.
    period : int
        Iterations of a round.
    phase : int
        Iteration of the round in which they are done, from zero.
    start : int
        Iterations before the first round.
    end : int
        From this iteration on they are always passed over.
    """

    n_instructions: int
    period: int
    phase: int
    start: int = 0
    end: int = MOST_ITERATIONS

    def holds(self, iteration: int) -> bool:
        """Return whether the instructions are done in an iteration.

        Parameters
        ----------
        iteration : int
            Counted from zero.

        Returns
        -------
        bool
            Whether they are not passed over.
        """
        if iteration >= self.end:
            return False
        return iteration < self.start or (iteration - self.start) % self.period == self.phase


@dataclass(frozen=True, slots=True, kw_only=True)
class Choose:
    """Do one of the instructions that follow, by a draw.

    Parameters
    ----------
    shares : tuple of float, shape (n,)
        Probability of each of the next n instructions; they sum to one.
    stream : int
        Key of the draws, one for each iteration: those of one stream choose alike.
    """

    shares: tuple[float, ...]
    stream: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Collect:
    """Wait until an accumulator holds gradients enough, take all that it holds and go to its next version.

    After ``take_grad`` of tensorflow/core/kernels/conditional_accumulator_base.cc.

    Parameters
    ----------
    counter : int
        The accumulator: a counter that starts at zero again.
    n_gradients : int
        Least number.
    drops : bool
        Whether later pushes of gradients for the version before are dropped; else they count for the next one.
    """

    counter: int
    n_gradients: int
    drops: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Take:
    """Take a token: the first instruction of a program, which ends where no more tokens will come.

    Tokens are numbered from zero, and belong to nobody: who has waited longest takes the next one.

    Parameters
    ----------
    counter : int
        Tokens that were put into the queue so far, without those of the start.
    n_tokens : int
        Before the end.
    n_first : int
        Tokens that are there from the start, all of version 0.
    n_each : int
        Tokens of each later version: 1, 2 and so on.
    """

    counter: int
    n_tokens: int
    n_first: int
    n_each: int = 1

    def version(self, token: int) -> int:
        """Return the version that a token stands for.

        Parameters
        ----------
        token : int
            Its number.

        Returns
        -------
        int
            Of the parameters.
        """
        return 0 if token < self.n_first else 1 + (token - self.n_first) // self.n_each


class Decisions(Protocol):
    """What a decider knows in one run; it is told in the order in which programs act at a tick."""

    def began(self, rank: int, now: int) -> None:
        """Note that a rank begins a step."""

    def exchanges(self, rank: int, now: int) -> bool:
        """Return whether a rank that has ended its work exchanges now, or makes another step by itself."""

    def is_over(self) -> bool:
        """Return whether the round that all ranks are in, or have ended, is the last."""


class Decider(Protocol):
    """Somebody who decides while a plan runs."""

    def begin(self) -> Decisions:
        """Return what is known at the start of a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Do the instructions that follow if a decider says so; after its last round the program ends.

    A wait of period 0 among them counts rounds as the program has had them.

    Parameters
    ----------
    decider : Decider
        Who is asked.
    n_instructions : int
        How many instructions.
    """

    decider: Decider
    n_instructions: int


Instruction = Work | Flow | Push | Wait | Delay | Every | Choose | Collect | Take | Ask


def rounds_before(iteration: int, period: int, start: int) -> int:
    """Return how many rounds come before the one that an iteration is part of.

    Parameters
    ----------
    iteration : int
        Counted from zero.
    period : int
        Iterations of a round.
    start : int
        Each of so many iterations at the start is a round by itself.

    Returns
    -------
    int
        Number of the round that the iteration is part of, from zero.

    Examples
    --------
    >>> [rounds_before(iteration, 3, 2) for iteration in range(8)]
    [0, 1, 2, 2, 2, 3, 3, 3]
    """
    return iteration if iteration < start else start + (iteration - start) // period


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
