"""What a run measured: flat arrays of integer ticks, and who ran where."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hetsim.model.aggregation import Group, Rank, Sync
from hetsim.model.efficiency import Efficiency
from hetsim.model.job import Compression
from hetsim.model.placement import Placement
from hetsim.model.workload import StepTime

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What an executor recorded of one job, with as many rows as the rank with most steps has steps.

    Parameters
    ----------
    step_end : IntArray, shape (n_steps, n_ranks)
        Tick at which each rank ended each step; -1 where it has fewer steps, or had not ended it when the run ended.
    compute_end : IntArray, shape (n_steps, n_ranks)
        Tick at which each rank's work of the step ended.
    compute : IntArray, shape (n_steps, n_ranks)
        Ticks spent in work, waiting for a busy device included.
    communication : IntArray, shape (n_steps, n_ranks)
        Ticks with at least one of the rank's own transfers under way.
    updates : IntArray, shape (n_updates,)
        Ticks at which the parameters were updated, where that is not when ranks end their steps; else empty.
    """

    step_end: IntArray
    compute_end: IntArray
    compute: IntArray
    communication: IntArray
    updates: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRun:
    """What an executor returns for one plan.

    Parameters
    ----------
    jobs : tuple of Trace
        In the order of the plan's jobs.
    carried : FloatArray, shape (n_resources,)
        Bytes carried by each link, or device ticks of work done by each device.
    end : int
        Tick of the last event.
    n_events : int
        Events that the executor processed.
    collected : tuple of IntArray
        How many gradients each `Collect` took, in the order of the programs, shape (n_iterations,) each.
    n_dropped : IntArray, shape (n_counters,)
        Pushes that came too late to each accumulator.
    """

    jobs: tuple[Trace, ...]
    carried: FloatArray
    end: int
    n_events: int
    collected: tuple[IntArray, ...]
    n_dropped: IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRun:
    """One replication of one job: where it ran and what was recorded.

    Parameters
    ----------
    job : str
        Name.
    replication : int
        Counted from zero.
    batch : int
        Samples of each worker and step; one where compute times are known.
    placement : Placement
        Where.
    hosts : tuple of str, shape (n_ranks,)
        Host of each rank.
    step_times : tuple of StepTime, shape (n_ranks,)
        Predicted time on an idle device, with its basis.
    trace : Trace
        The recording.
    tree : Group or Rank
        How ranks combined gradients, simplified.
    n_gradients : FloatArray, shape (n_updates,)
        Of a quorum: gradients in each update, mean over servers; else empty.
    accumulate : int
        Batches of a step.
    skips : bool
        Whether steps without compute made no gradient.
    compression : Compression or None
        Of its gradients.
    efficiency : Efficiency or None
        How much an update is worth; None where that is not known.
    """

    job: str
    replication: int
    batch: int
    placement: Placement
    hosts: tuple[str, ...]
    step_times: tuple[StepTime, ...]
    trace: Trace
    tree: Group | Rank = field(default_factory=lambda: Rank(0))
    n_gradients: FloatArray = field(default_factory=lambda: np.zeros(0))
    accumulate: int = 1
    skips: bool = False
    compression: Compression | None = None
    efficiency: Efficiency | None = None

    @property
    def batches(self) -> tuple[int, ...]:
        """Samples of each rank and step, shape (n_ranks,)."""
        own = [step_time.batch or self.batch for step_time in self.step_times]
        return tuple(n * self.accumulate for n in own or [self.batch] * self.trace.step_end.shape[1])

    @property
    def n_computed(self) -> float:
        """Samples of which workers computed gradients to the end of a step; worker steps where compute is given."""
        has_worked = self.trace.step_end >= 0
        if self.skips:
            has_worked &= self.trace.compute > 0
        steps = has_worked.sum(axis=0).tolist()
        return float(sum(n * batch for n, batch in zip(steps, self.batches, strict=True)))

    @property
    def n_samples(self) -> float:
        """Samples that became part of an update; gradients of a quorum count with the mean batch."""
        if not self.has_quorum:
            return self.n_computed
        return float(self.n_gradients.sum()) * sum(self.batches) / len(self.batches)

    @property
    def has_quorum(self) -> bool:
        """Whether updates take the gradients that come first."""
        return isinstance(self.tree, Group) and self.tree.quorum > 0

    @property
    def sync(self) -> Sync:
        """When aggregates were taken, at the root."""
        return self.tree.sync if isinstance(self.tree, Group) else "bsp"


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkRun:
    """Traffic of one direction of one link in one replication.

    Parameters
    ----------
    link : str
        Such as ``k80-0>switch``.
    replication : int
        Counted from zero.
    carried_bytes : float
        Payload.
    capacity_bytes_per_s : float
        At the start.
    duration_s : float
        Of the run.
    """

    link: str
    replication: int
    carried_bytes: float
    capacity_bytes_per_s: float
    duration_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Everything that one scenario's replications recorded.

    Parameters
    ----------
    jobs : tuple of JobRun
        In order of replication, then job.
    links : tuple of LinkRun
        In order of replication, then link; links that carried nothing are left out.
    """

    jobs: tuple[JobRun, ...]
    links: tuple[LinkRun, ...]
