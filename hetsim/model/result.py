"""What a run measured: flat arrays of integer ticks, and who ran where."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hetsim.model.placement import Placement
from hetsim.model.workload import StepTime

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What an executor recorded of one job.

    Parameters
    ----------
    step_end : IntArray, shape (n_steps, n_ranks)
        Tick at which each rank ended each step.
    compute_end : IntArray, shape (n_steps, n_ranks)
        Tick at which each rank's work of the step ended.
    compute : IntArray, shape (n_steps, n_ranks)
        Ticks spent in work, waiting for a busy device included.
    communication : IntArray, shape (n_steps, n_ranks)
        Ticks with at least one of the rank's own transfers under way.
    """

    step_end: IntArray
    compute_end: IntArray
    compute: IntArray
    communication: IntArray


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
    """

    jobs: tuple[Trace, ...]
    carried: FloatArray
    end: int
    n_events: int


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
    """

    job: str
    replication: int
    batch: int
    placement: Placement
    hosts: tuple[str, ...]
    step_times: tuple[StepTime, ...]
    trace: Trace


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
