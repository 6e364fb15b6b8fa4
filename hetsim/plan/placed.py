"""A job that has been placed: what the lowering starts from."""

from dataclasses import dataclass

from hetsim.kernels.draws import stream_key
from hetsim.model.aggregation import Group, ranks_of
from hetsim.model.instructions import Choose, Delay, Instruction, Work
from hetsim.model.job import Job
from hetsim.model.placement import Placement
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


def compute_work(objects: Objects, placed: PlacedJob, rank: int, number: int = 0) -> Work:
    """Return the work of one batch of one rank.

    Parameters
    ----------
    objects : Objects
        Of the plan.
    placed : PlacedJob
        The job.
    rank : int
        Which.
    number : int
        Of the batch in the step.

    Returns
    -------
    Work
        Its draws depend on job, rank and batch alone, so that every policy meets the same noise.
    """
    job, at = placed.job, (rank, number) if number else (rank,)
    is_repeated = job.slots is not None and job.slots.unfinished == "repeat"
    return Work(
        resources=objects.device(placed.placement.workers[rank]),
        ticks=to_ticks(placed.step_times[rank].total_s),
        jitter_cv=job.jitter_cv,
        stream=stream_key("compute", job.name, *at),
        success=job.slots.probability[rank] if job.slots and is_repeated else 1.0,
        success_stream=stream_key("slot", job.name, *at) if is_repeated else 0,
    )


def work_of(objects: Objects, placed: PlacedJob, rank: int) -> list[Instruction]:
    """Return what a rank does between what is early and what is late in a step.

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
    list of Instruction
        Works; each is a choice between it and the same time without it where slots are skipped.
    """
    job = placed.job
    works = [compute_work(objects, placed, rank, number) for number in range(job.accumulate)]
    if job.slots is None or job.slots.unfinished == "repeat":
        return [*works]
    p = job.slots.probability[rank]
    done: list[Instruction] = []
    for number, work in enumerate(works):
        stream = stream_key("slot", job.name, *((rank, number) if number else (rank,)))
        done += [Choose(shares=(p, 1.0 - p), stream=stream), work, Delay(work.ticks)]
    return done
