"""A rank or server as a SimPy process that interprets its program."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from simpy.events import Event

from hetsim.engine.clock import Clock
from hetsim.engine.recorder import RankRecorder, TransferRecorder
from hetsim.engine.resources import ITERATION_BITS, Activity, Latency, Order, Shared, Usage
from hetsim.engine.settle import Settlement
from hetsim.model.plan import Delay, Flow, Program, Push, Wait, Work, usage_of
from hetsim.model.result import IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What all programs share.

    Parameters
    ----------
    env : Clock
        Clock, in ticks.
    settlement : Settlement
        The batch of each tick.
    resources : tuple of Shared, shape (n_resources,)
        In the order of the plan.
    latency : Latency
        The delay of every way.
    kinds : mapping of Usage to int
        Index of each usage.
    """

    env: Clock
    settlement: Settlement
    resources: tuple[Shared, ...]
    latency: Latency
    kinds: Mapping[Usage, int]


class Action(Protocol):
    """An instruction of one program, with all that stays the same from one iteration to the next.

    Parameters
    ----------
    done : int
        Flows that ended, or ticks of work done.
    """

    done: int

    def begin(self, iteration: int, now: int) -> Event | None:
        """Do it, and return what the program has to wait for."""

    def waits_for(self, iteration: int) -> str:
        """Say what the program waits for."""


class Interpreter:
    """One program in progress.

    Parameters
    ----------
    machine : Machine
        What all programs share.
    program : Program
        What to do.
    first : int
        Number of the program's first instruction among all instructions of the plan.
    work_ticks : mapping of int to sequence of float, shape (n_iterations,)
        Drawn duration of each `Work`, by position in the body.
    recorder : RankRecorder or None
        None for a server.
    transfers : TransferRecorder or None
        None where they count for no rank.
    """

    def __init__(
        self,
        machine: Machine,
        program: Program,
        first: int,
        work_ticks: Mapping[int, Sequence[float]],
        *,
        recorder: RankRecorder | None,
        transfers: TransferRecorder | None,
    ) -> None:
        self.program = program
        self._env = machine.env
        self._settlement = machine.settlement
        self._recorder = recorder
        self._actions = [
            _Send(machine, instruction, (first + position) << ITERATION_BITS, transfers)
            if isinstance(instruction, Flow)
            else _action(
                machine, instruction, (first + position) << ITERATION_BITS, work_ticks.get(position, ()), recorder
            )
            for position, instruction in enumerate(program.body)
        ]
        self._iteration = 0
        self._waiting: Action | None = None
        self.process = machine.env.process(self._run())

    @property
    def waits_for(self) -> str:
        """What holds the program up."""
        return "" if self._waiting is None else self._waiting.waits_for(self._iteration)

    @property
    def done(self) -> IntArray:
        """Flows that ended, or ticks of work done, of each instruction, shape (n_instructions,)."""
        return np.array([action.done for action in self._actions], dtype=np.int64)

    def _run(self) -> Generator[Event, object, None]:
        """Interpret the program."""
        env, actions, recorder = self._env, self._actions, self._recorder
        now = env.tick
        for iteration in range(self.program.n_iterations):
            self._iteration = iteration
            for action in actions:
                event = action.begin(iteration, now)
                if event is not None:
                    self._waiting = action
                    yield event
                    now = env.tick
            if recorder is not None:
                recorder.end_step(iteration, now)
            if not self.program.is_background:
                self._settlement.n_iterations += 1
        if not self.program.is_background:
            self._settlement.n_awaited -= 1


def _action(
    machine: Machine,
    instruction: Work | Wait | Push | Delay,
    order: Order,
    ticks: Sequence[float],
    recorder: RankRecorder | None,
) -> Action:
    """Return the action of an instruction whose order in iteration 0 is given."""
    match instruction:
        case Work():
            return _Work(machine, instruction, order, ticks, recorder)
        case Wait():
            return _Wait(machine, instruction, order)
        case Push():
            return _Push(machine, instruction)
        case Delay():
            return _Delay(machine, instruction, order)


class _Work:
    """Use of resources that the program waits for."""

    __slots__ = ("_amounts", "_order", "_recorder", "_settlement", "done", "home", "kind", "ticks")

    def __init__(
        self, machine: Machine, work: Work, order: Order, amounts: Sequence[float], recorder: RankRecorder | None
    ) -> None:
        self.home = machine.resources[work.resources[0]]
        self.kind = machine.kinds[usage_of(work)]
        self.ticks = 0
        self.done = 0
        self._amounts = amounts
        self._order = order
        self._recorder = recorder
        self._settlement = machine.settlement

    def begin(self, iteration: int, now: int) -> Event:
        return Activity(self.home, self, self._amounts[iteration], self._order | iteration, now)

    def end(self, activity: Activity, now: int) -> None:
        self.done += int(activity.amount)
        if self._recorder is not None:
            self._recorder.end_work(activity.order - self._order, activity.arrived, now)
        self._settlement.wake(activity)

    def waits_for(self, _iteration: int) -> str:
        return f"its work on {self.home.name}"


class _Send:
    """A transfer: its latency, then the bytes, then its signals; the program does not wait for it."""

    __slots__ = (
        "_changing",
        "_first",
        "_latency",
        "_n_bytes",
        "_order",
        "_settlement",
        "_signals",
        "_transfers",
        "done",
        "home",
        "kind",
        "ticks",
    )

    def __init__(self, machine: Machine, flow: Flow, order: Order, transfers: TransferRecorder | None) -> None:
        self.home = machine.resources[flow.usage[0][0]] if flow.usage else None
        self.kind = machine.kinds[flow.usage] if flow.usage else -1
        self.ticks = flow.latency_ticks
        self.done = 0
        self._changing = flow if flow.latency_changes else None
        self._latency = machine.latency
        self._first = machine.latency if flow.latency_ticks else self.home
        self._n_bytes = flow.n_bytes
        self._order = order
        self._transfers = transfers
        self._settlement = machine.settlement
        self._signals = [machine.settlement.counters[counter] for counter in flow.signals]

    def begin(self, iteration: int, now: int) -> None:
        if self._transfers is not None:
            self._transfers.start(iteration, now)
        if self._changing is not None:
            self.ticks = self._changing.latency_at(now)
            self._first = self._latency if self.ticks else self.home
        if self._first is None:
            self.end(None, now)
        else:
            Activity(self._first, self, self._n_bytes, self._order | iteration, now)

    def end(self, _activity: Activity | None, now: int) -> None:
        self.done += 1
        if self._transfers is not None:
            self._transfers.end(now)
        for counter in self._signals:
            self._settlement.push(counter)

    def waits_for(self, _iteration: int) -> str:
        return ""


class _Wait:
    """A wait for a counter."""

    __slots__ = ("_base", "_counter", "_env", "_order", "_stride")
    done = 0

    def __init__(self, machine: Machine, wait: Wait, order: Order) -> None:
        self._env = machine.env
        self._counter = machine.settlement.counters[wait.counter]
        self._base = wait.base
        self._stride = wait.stride
        self._order = order

    def begin(self, iteration: int, _now: int) -> Event | None:
        threshold = self._base + self._stride * iteration
        if self._counter.value >= threshold:
            return None
        event = Event(self._env)
        self._counter.hold(threshold, self._order | iteration, event)
        return event

    def waits_for(self, iteration: int) -> str:
        return f"counter {self._counter.name!r} >= {self._base + self._stride * iteration}"


class _Push:
    """A rise of a counter."""

    __slots__ = ("_counter", "_settlement")
    done = 0

    def __init__(self, machine: Machine, push: Push) -> None:
        self._settlement = machine.settlement
        self._counter = machine.settlement.counters[push.counter]

    def begin(self, _iteration: int, _now: int) -> None:
        self._settlement.push(self._counter)

    def waits_for(self, _iteration: int) -> str:
        return ""


class _Delay:
    """A wait for a time."""

    __slots__ = ("_latency", "_order", "_settlement", "home", "kind", "ticks")
    done = 0

    def __init__(self, machine: Machine, delay: Delay, order: Order) -> None:
        self.home = None
        self.kind = -1
        self.ticks = delay.ticks
        self._latency = machine.latency
        self._order = order
        self._settlement = machine.settlement

    def begin(self, iteration: int, now: int) -> Event:
        return Activity(self._latency, self, 0.0, self._order | iteration, now)

    def end(self, activity: Activity, _now: int) -> None:
        self._settlement.wake(activity)

    def waits_for(self, _iteration: int) -> str:
        return "the end of a delay"
