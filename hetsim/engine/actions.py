"""What each instruction of a program does on the engine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from simpy.events import Event

from hetsim.engine.clock import Clock
from hetsim.engine.recorder import RankRecorder, TransferRecorder
from hetsim.engine.resources import Activity, Latency, Order, Shared, Usage
from hetsim.engine.settle import Settlement
from hetsim.model.instructions import (
    Collect,
    Decider,
    Decisions,
    Delay,
    Flow,
    Instruction,
    Push,
    Take,
    Wait,
    Work,
    usage_of,
)


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
    decisions : mapping of Decider to Decisions
        Of this run.
    """

    env: Clock
    settlement: Settlement
    resources: tuple[Shared, ...]
    latency: Latency
    kinds: Mapping[Usage, int]
    decisions: Mapping[Decider, Decisions]


@dataclass(slots=True, kw_only=True)
class Own:
    """What one program has.

    Parameters
    ----------
    recorder : RankRecorder or None
        None for a server.
    transfers : TransferRecorder or None
        None where they count for no rank.
    version : int
        Of the parameters that its gradients are for.
    is_over : bool
        Whether it asked for a token and no more will come.
    n_rounds : int
        How often a decider let it do what it asked about.
    collected : list of list of int
        Gradients that each `Collect` took.
    """

    recorder: RankRecorder | None = None
    transfers: TransferRecorder | None = None
    version: int = 0
    is_over: bool = False
    n_rounds: int = 0
    collected: list[list[int]] = field(default_factory=list)


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


def action_of(machine: Machine, instruction: Instruction, order: Order, own: Own, draws: Sequence[float]) -> Action:
    """Return what an instruction does.

    Parameters
    ----------
    machine : Machine
        What all programs share.
    instruction : Instruction
        Of a program.
    order : Order
        Of the instruction in iteration 0.
    own : Own
        Of the program.
    draws : sequence of float, shape (n_iterations,)
        Durations of a `Work`.

    Returns
    -------
    Action
        _Nothing for what only says where the program goes on.
    """
    action: Action = _Nothing()
    match instruction:
        case Work():
            action = _Work(machine, instruction, order, own, draws)
        case Flow():
            action = _Send(machine, instruction, order, own)
        case Wait():
            action = _Wait(machine, instruction, order, own)
        case Push():
            action = _Push(machine, instruction, own)
        case Delay():
            action = _Delay(machine, instruction, order)
        case Collect():
            action = _Collect(machine, instruction, order, own)
        case Take():
            action = _Take(machine, instruction, order, own)
    return action


class _Work:
    """Use of resources that the program waits for."""

    __slots__ = ("_amounts", "_order", "_recorder", "_settlement", "done", "home", "kind", "ticks")

    def __init__(self, machine: Machine, work: Work, order: Order, own: Own, amounts: Sequence[float]) -> None:
        self.home = machine.resources[work.resources[0]]
        self.kind = machine.kinds[usage_of(work)]
        self.ticks = 0
        self.done = 0
        self._amounts = amounts
        self._order = order
        self._settlement = machine.settlement
        self._recorder = own.recorder

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
        "_own",
        "_settlement",
        "_signals",
        "_transfers",
        "done",
        "home",
        "kind",
        "ticks",
    )

    def __init__(self, machine: Machine, flow: Flow, order: Order, own: Own) -> None:
        self.home = machine.resources[flow.usage[0][0]] if flow.usage else None
        self.kind = machine.kinds[flow.usage] if flow.usage else -1
        self.ticks = flow.latency_ticks
        self.done = 0
        self._changing = flow if flow.latency_changes else None
        self._latency = machine.latency
        self._first = machine.latency if flow.latency_ticks else self.home
        self._n_bytes = flow.n_bytes
        self._own = own
        self._order = order
        self._settlement = machine.settlement
        self._transfers = own.transfers
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
        version = self._own.version
        for counter in self._signals:
            if version < counter.version:
                counter.n_dropped += 1
            else:
                self._settlement.push(counter)

    def waits_for(self, _iteration: int) -> str:
        return ""


class _Wait:
    """A wait for a counter."""

    __slots__ = ("_base", "_counter", "_env", "_order", "_own", "_stride", "_wait")
    done = 0

    def __init__(self, machine: Machine, wait: Wait, order: Order, own: Own) -> None:
        self._env = machine.env
        self._counter = machine.settlement.counters[wait.counter]
        self._base = wait.base
        self._stride = wait.stride
        self._order = order
        self._wait = None if (wait.period, wait.start) == (1, 0) else wait
        self._own = own

    def begin(self, iteration: int, _now: int) -> Event | None:
        threshold = self._base + self._stride * iteration if self._wait is None else self._threshold(iteration)
        if self._counter.value >= threshold:
            return None
        event = Event(self._env)
        self._counter.hold(threshold, self._order | iteration, event)
        return event

    def _threshold(self, iteration: int) -> int:
        wait = self._wait
        if wait is None:
            return self._base + self._stride * iteration
        return wait.threshold(iteration) if wait.period else self._base + self._stride * (self._own.n_rounds - 1)

    def waits_for(self, iteration: int) -> str:
        return f"counter {self._counter.name!r} >= {self._threshold(iteration)}"


class _Push:
    """A rise of a counter."""

    __slots__ = ("_counter", "_own", "_settlement")
    done = 0

    def __init__(self, machine: Machine, push: Push, own: Own) -> None:
        self._settlement = machine.settlement
        self._counter = machine.settlement.counters[push.counter]
        self._own = own

    def begin(self, _iteration: int, _now: int) -> None:
        if self._own.version < self._counter.version:
            self._counter.n_dropped += 1
        else:
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


class _Collect:
    """A wait for gradients in an accumulator."""

    __slots__ = ("_collected", "_counter", "_drops", "_env", "_n_gradients", "_order", "_settlement")
    done = 0

    def __init__(self, machine: Machine, collect: Collect, order: Order, own: Own) -> None:
        self._env = machine.env
        self._settlement = machine.settlement
        self._counter = machine.settlement.counters[collect.counter]
        self._n_gradients = collect.n_gradients
        self._drops = collect.drops
        self._order = order
        self._collected: list[int] = []
        own.collected.append(self._collected)

    def begin(self, iteration: int, _now: int) -> Event:
        event = Event(self._env)
        self._settlement.ask(self._counter, self._order | iteration, event, self)
        return event

    def try_to_serve(self, event: Event) -> bool:
        counter = self._counter
        if counter.value < self._n_gradients:
            return False
        self._collected.append(counter.value)
        counter.value = 0
        counter.version += self._drops
        self._settlement.wake(event)
        return True

    def waits_for(self, _iteration: int) -> str:
        return f"{self._n_gradients} gradients in {self._counter.name!r}"


class _Take:
    """A wait for a token."""

    __slots__ = ("_counter", "_env", "_order", "_own", "_settlement", "_take")
    done = 0

    def __init__(self, machine: Machine, take: Take, order: Order, own: Own) -> None:
        self._env = machine.env
        self._settlement = machine.settlement
        self._counter = machine.settlement.counters[take.counter]
        self._take = take
        self._order = order
        self._own = own

    def begin(self, iteration: int, _now: int) -> Event:
        event = Event(self._env)
        self._settlement.ask(self._counter, self._order | iteration, event, self)
        return event

    def try_to_serve(self, event: Event) -> bool:
        counter, token = self._counter, self._counter.n_taken
        self._own.is_over = token >= self._take.n_tokens
        if not self._own.is_over:
            if token >= self._take.n_first + counter.value:
                return False
            counter.n_taken += 1
            self._own.version = self._take.version(token)
        self._settlement.wake(event)
        return True

    def waits_for(self, _iteration: int) -> str:
        return f"a token of {self._counter.name!r}"


class _Nothing:
    """What only says where the program goes on."""

    __slots__ = ()
    done = 0

    def begin(self, _iteration: int, _now: int) -> None:
        return None

    def waits_for(self, _iteration: int) -> str:
        return ""
