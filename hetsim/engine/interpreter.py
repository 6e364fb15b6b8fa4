"""A rank or server as a SimPy process that interprets its program."""

from collections.abc import Generator, Mapping, Sequence

import numpy as np
from simpy.events import Event

from hetsim.engine.actions import Action, Machine, Own, action_of
from hetsim.engine.recorder import RankRecorder, TransferRecorder
from hetsim.engine.resources import ITERATION_BITS
from hetsim.model.instructions import Ask, Choose, Decisions, Every, Take
from hetsim.model.plan import Program
from hetsim.model.result import IntArray


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
    draws : mapping of int to sequence of float, shape (n_iterations,)
        Drawn durations of each `Work`, or which instruction each `Choose` chooses, by position in the body.
    recorder : RankRecorder or None
        None for a server.
    transfers : TransferRecorder or None
        None where they count for no rank.

    Attributes
    ----------
    updates : list of int
        Ticks at which iterations ended, of a clock.
    """

    def __init__(
        self,
        machine: Machine,
        program: Program,
        first: int,
        draws: Mapping[int, Sequence[float]],
        *,
        recorder: RankRecorder | None,
        transfers: TransferRecorder | None,
    ) -> None:
        self.program = program
        self.updates: list[int] = []
        self._env = machine.env
        self._settlement = machine.settlement
        self._recorder = recorder
        self._own = Own(recorder=recorder, transfers=transfers)
        self._draws = draws
        self._actions = [
            action_of(machine, instruction, (first + position) << ITERATION_BITS, self._own, draws.get(position, ()))
            for position, instruction in enumerate(program.body)
        ]
        self._iteration = 0
        self._waiting: Action | None = None
        self._has_exchanged = False
        deciders = [instruction.decider for instruction in program.body if isinstance(instruction, Ask)]
        self._decisions = machine.decisions[deciders[0]] if deciders else None
        jumps = any(isinstance(instruction, Every | Choose | Take | Ask) for instruction in program.body)
        self.process = machine.env.process(self._run_with_jumps() if jumps else self._run())

    @property
    def waits_for(self) -> str:
        """What holds the program up."""
        return "" if self._waiting is None else self._waiting.waits_for(self._iteration)

    @property
    def collected(self) -> list[list[int]]:
        """Gradients that each `Collect` took."""
        return self._own.collected

    @property
    def done(self) -> IntArray:
        """Flows that ended, or ticks of work done, of each instruction, shape (n_instructions,)."""
        return np.array([action.done for action in self._actions], dtype=np.int64)

    def _run(self) -> Generator[Event, object, None]:
        """Interpret a program that does all its instructions."""
        env, actions = self._env, self._actions
        now = env.tick
        for iteration in range(self.program.n_iterations):
            self._iteration = iteration
            for action in actions:
                event = action.begin(iteration, now)
                if event is not None:
                    self._waiting = action
                    yield event
                    now = env.tick
            self._end_iteration(iteration, now)
        self._end()

    def _run_with_jumps(self) -> Generator[Event, object, None]:
        """Interpret any program."""
        env, actions, body, n = self._env, self._actions, self.program.body, len(self._actions)
        now = env.tick
        for iteration in range(self.program.n_iterations):
            self._iteration = iteration
            position = 0
            if self._decisions is not None and not self._may_begin(self._decisions, now):
                break
            while position < n:
                instruction, following = body[position], position + 1
                if isinstance(instruction, Every | Ask):
                    position = following + self._n_passed(instruction, iteration, now)
                    continue
                if isinstance(instruction, Choose):
                    following += len(instruction.shares)
                    position += 1 + int(self._draws[position][iteration])
                event = actions[position].begin(iteration, now)
                if event is not None:
                    self._waiting = actions[position]
                    yield event
                    now = env.tick
                if isinstance(instruction, Take) and not self._has_taken():
                    self._end()
                    return
                position = following
            self._end_iteration(iteration, now)
        self._end()

    def _n_passed(self, guard: Every | Ask, iteration: int, now: int) -> int:
        """Return over how many instructions a program passes."""
        if isinstance(guard, Every):
            return 0 if guard.holds(iteration) else guard.n_instructions
        assert self._decisions is not None
        self._has_exchanged = self._decisions.exchanges(self.program.rank, now)
        self._own.n_rounds += self._has_exchanged
        return 0 if self._has_exchanged else guard.n_instructions

    def _may_begin(self, decisions: Decisions, now: int) -> bool:
        """Begin a step, unless the last round has ended."""
        if self._has_exchanged and decisions.is_over():
            return False
        decisions.began(self.program.rank, now)
        self._begin_open_step()
        return True

    def _has_taken(self) -> bool:
        """Begin a step with the token that was asked for, unless no more will come."""
        if self._own.is_over:
            return False
        self._begin_open_step()
        return True

    def _begin_open_step(self) -> None:
        if self._recorder is not None:
            self._recorder.add_step()

    def _end_iteration(self, iteration: int, now: int) -> None:
        if self._recorder is not None:
            self._recorder.end_step(iteration, now)
        if self.program.is_clock:
            self.updates.append(now)
        if not self.program.is_background:
            self._settlement.n_iterations += 1

    def _end(self) -> None:
        if not self.program.is_background:
            self._settlement.n_awaited -= 1
