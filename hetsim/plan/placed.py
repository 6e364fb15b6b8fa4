"""A job that has been placed: what the lowering starts from."""

from dataclasses import dataclass

from hetsim.kernels.draws import stream_key
from hetsim.model.aggregation import Group, ranks_of
from hetsim.model.job import Job
from hetsim.model.placement import Placement
from hetsim.model.plan import Work
from hetsim.model.workload import StepTime
from hetsim.plan.objects import Objects
from hetsim.units import to_ticks


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedJob:
    """A job, where it runs and how it aggregates.

    Parameters
    ----------
    job : Job
        What to train.
    placement : Placement
        Where.
    tree : Group
        How ranks combine gradients.
    step_times : tuple of StepTime, shape (n_workers,)
        Of each rank on its idle device.
    """

    job: Job
    placement: Placement
    tree: Group
    step_times: tuple[StepTime, ...]

    @property
    def order(self) -> tuple[int, ...]:
        """Ranks in the order of the tree."""
        return tuple(ranks_of(self.tree))


def compute_work(objects: Objects, placed: PlacedJob, rank: int) -> Work:
    """Return the work of one step of one rank.

    Parameters
    ----------
    objects : Objects
        Of the plan.
    placed : PlacedJob
        The job.
    rank : int
        Which.

    Returns
    -------
    Work
        Its draws depend on job and rank alone, so that every policy meets the same noise.
    """
    return Work(
        resources=objects.device(placed.placement.workers[rank]),
        ticks=to_ticks(placed.step_times[rank].total_s),
        jitter_cv=placed.job.jitter_cv,
        stream=stream_key("compute", placed.job.name, rank),
    )
