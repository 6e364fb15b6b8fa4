"""A rank or server as a SimPy process that interprets its program."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from functools import partial

from simpy.events import Event

from hetsim.engine.clock import Clock
from hetsim.engine.recorder import RankRecorder
from hetsim.engine.resources import ITERATION_BITS, Activity, Latency, Order, Passage, Shared, Usage
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
    work_ticks : mapping of int to IntArray, shape (n_iterations,)
        Drawn duration of each `Work`, by position in the body.
    recorder : RankRecorder or None
        None for a server.
    """

    def __init__(
        self,
        machine: Machine,
        program: Program,
        first: int,
        work_ticks: Mapping[int, IntArray],
        recorder: RankRecorder | None,
    ) -> None:
        self.program = program
        self.waits_for = ""
        self._machine = machine
        self._first = first
        self._work_ticks = work_ticks
        self._recorder = recorder
        self.process = machine.env.process(self._run())

    def _run(self) -> Generator[Event, object, None]:
        """Interpret the program."""
        for iteration in range(self.program.n_iterations):
            for position, instruction in enumerate(self.program.body):
                order = (self._first + position) << ITERATION_BITS | iteration
                match instruction:
                    case Flow():
                        self._send(instruction, order, iteration)
                    case Wait():
                        yield from self._wait(instruction, order, iteration)
                    case Work():
                        yield from self._work(instruction, self._work_ticks[position], order, iteration)
                    case Push():
                        self._machine.settlement.push(instruction.counter, order)
                    case Delay():
                        self.waits_for = "the end of a delay"
                        yield Passage(self._machine.latency, ticks=instruction.ticks, order=order, then=None)
            if self._recorder is not None:
                self._recorder.end_step(iteration, self._machine.env.tick)

    def _work(self, work: Work, ticks: IntArray, order: Order, iteration: int) -> Generator[Event, object, None]:
        home = self._machine.resources[work.resources[0]]
        self.waits_for = f"its work on {home.name}"
        start = self._machine.env.tick
        kind = self._machine.kinds[usage_of(work)]
        yield Activity(home, kind=kind, amount=float(ticks[iteration]), order=order)
        if self._recorder is not None:
            self._recorder.end_work(iteration, start, self._machine.env.tick)

    def _wait(self, wait: Wait, order: Order, iteration: int) -> Generator[Event, object, None]:
        threshold = wait.base + wait.stride * iteration
        counter = self._machine.settlement.counters[wait.counter]
        if counter.value < threshold:
            self.waits_for = f"counter {counter.name!r} >= {threshold}"
            yield self._machine.settlement.reach(wait.counter, threshold, order)

    def _send(self, flow: Flow, order: Order, iteration: int) -> None:
        if self._recorder is not None:
            self._recorder.start_transfer(iteration, self._machine.env.tick)
        carry = partial(self._carry, flow, order)
        if flow.latency_ticks:
            Passage(self._machine.latency, ticks=flow.latency_ticks, order=order, then=carry)
        else:
            carry()

    def _carry(self, flow: Flow, order: Order) -> None:
        arrive = partial(self._arrive, flow, order)
        if flow.usage:
            home = self._machine.resources[flow.usage[0][0]]
            Activity(home, kind=self._machine.kinds[flow.usage], amount=flow.n_bytes, order=order, on_end=arrive)
        else:
            arrive()

    def _arrive(self, flow: Flow, order: Order) -> None:
        if self._recorder is not None:
            self._recorder.end_transfer(self._machine.env.tick)
        for counter in flow.signals:
            self._machine.settlement.push(counter, order)
