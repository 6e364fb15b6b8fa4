"""Plans without contention: the recurrence against the event kernel, and on ready draws against the memory."""

import numpy as np
from measure import Figure, interleaved, timed
from plans import composite_steps

from hetsim.engine.compiled import CompiledPlan
from hetsim.kernels.recurrence import step_ends

N_WORKERS = 64
N_STEPS = 2000
N_RUNS = 10
"""Runs of the recurrence in one measurement: one alone takes a millisecond."""
N_EVENT_STEPS = 100
"""Steps on the event kernel, for the same time a step."""

N_READY_STEPS = 100_000
"""With 64 workers, 51 MB of draws: more than the caches hold."""


def recurrence_against_events() -> Figure:
    """64 unequal workers with lognormal jitter and one all-reduce a step; whole runs, recordings and all."""
    plan, few_steps = CompiledPlan(composite_steps(N_WORKERS, N_STEPS)), composite_steps(N_WORKERS, N_EVENT_STEPS)
    short, events = CompiledPlan(few_steps), CompiledPlan(few_steps, events_only=True)
    if plan.path != "recurrence" or not _are_equal(short, events):
        raise AssertionError("recurrence and event kernel differ")
    ours_s, peer_s = interleaved(
        lambda: timed(lambda: _run_all(plan)) / N_RUNS,
        lambda: timed(lambda: events.run(seed=0, replication=0)) * (N_STEPS / N_EVENT_STEPS),
        n_repetitions=15,
    )
    n = N_WORKERS * N_STEPS
    note = f"recurrence {n / ours_s / 1e6:.3g} million worker-steps/s on one core, events {n / peer_s / 1e6:.3g}"
    return Figure(ours_s=ours_s, peer_s=peer_s, unit=f"{n} worker-steps", note=note)


def _run_all(plan: CompiledPlan) -> None:
    """Run, and drop each recording before the next one: new memory takes the system longer than the run."""
    for replication in range(N_RUNS):
        plan.run(seed=0, replication=replication)


def _are_equal(ours: CompiledPlan, theirs: CompiledPlan) -> bool:
    run, other = ours.run(seed=0, replication=0), theirs.run(seed=0, replication=0)
    return bool(np.array_equal(run.jobs[0].step_end, other.jobs[0].step_end))


def ready_draws_against_memory() -> Figure:
    """Ends of steps from ready durations, against numpy adding up the same array."""
    durations = np.random.default_rng(0).integers(0, 2**40, (N_READY_STEPS, N_WORKERS))
    out = np.empty(N_READY_STEPS, dtype=np.int64)
    ours_s, peer_s = interleaved(
        lambda: timed(lambda: step_ends(durations, 1000, out)), lambda: timed(durations.sum), n_repetitions=15
    )
    n_bytes = durations.nbytes
    note = (
        f"recurrence reads {n_bytes / ours_s / 1e9:.3g} GB/s, numpy.sum {n_bytes / peer_s / 1e9:.3g}:"
        f" {peer_s / ours_s:.0%} of the memory's bandwidth, {durations.size / ours_s / 1e6:.4g} million worker-steps/s"
    )
    return Figure(ours_s=ours_s, peer_s=peer_s, unit=f"{durations.size} worker-steps", note=note)
