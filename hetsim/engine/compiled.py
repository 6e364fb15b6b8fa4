"""Run a plan on the compiled step-time kernel: as a recurrence where nothing contends, else by events."""

from functools import cached_property
from typing import Literal

from hetsim.engine.events import EventPlan
from hetsim.engine.recurrence import RecurrencePlan
from hetsim.kernels.jit import compile_all
from hetsim.model.plan import Plan
from hetsim.model.result import PlanRun
from hetsim.plan.checks import check_plan
from hetsim.plan.recurrence import find_recurrence


class CompiledPlan:
    """A plan as arrays, ready to run any number of times.

    Parameters
    ----------
    plan : Plan
        What to run.
    events_only : bool
        Whether to interpret events even where the plan is a recurrence.
    """

    def __init__(self, plan: Plan, *, events_only: bool = False) -> None:
        check_plan(plan)
        compile_all()
        self._plan = plan
        recurrence = None if events_only else find_recurrence(plan)
        self._recurrence = None if recurrence is None else RecurrencePlan(plan, recurrence)

    @cached_property
    def _events(self) -> EventPlan:
        return EventPlan(self._plan)

    @property
    def path(self) -> Literal["recurrence", "events"]:
        """How runs are made; a recurrence that comes near the end of the clock is left to events."""
        return "events" if self._recurrence is None else "recurrence"

    @property
    def n_skipped(self) -> int:
        """Iterations of the last run by events that repeated the one before to the bit, and were not simulated."""
        return self._events.n_skipped

    def run(self, *, seed: int, replication: int) -> PlanRun:
        """Run the plan to the end of all its programs.

        Parameters
        ----------
        seed, replication : int
            Key of the random draws.

        Returns
        -------
        PlanRun
            Equal to that of `simulate` to the tick.

        Raises
        ------
        DeadlockError
            If nothing can happen any more but a program has not ended.
        SimulationError
            If the simulation would last longer than the clock can count, or the plan is one that the kernel refuses.
        """
        found = None if self._recurrence is None else self._recurrence.run(seed=seed, replication=replication)
        return self._events.run(seed=seed, replication=replication) if found is None else found
