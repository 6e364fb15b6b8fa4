"""Ring all-reduce, message by message: reduce-scatter, then all-gather, in 2(n - 1) rounds of S/n bytes."""

from hetsim.model.plan import Flow, Instruction, Program, Wait
from hetsim.plan.objects import Objects
from hetsim.plan.placed import PlacedJob, compute_work


def lower_ring(objects: Objects, placed: PlacedJob, job: int) -> list[Program]:
    """Return the programs of one job under a flat synchronous ring.

    Each rank sends to the next one in the order of the tree. A round's message is sent when the rank has received the
    one before and its own one before has arrived: one message at a time on each way, as on one stream. On equal links
    this takes ``2 (n - 1) (alpha + S / (n B))`` (Thakur, Rabenseifner and Gropp, "Optimization of collective
    communication operations in MPICH", 2005, doi:10.1177/1094342005051521).

    Parameters
    ----------
    objects : Objects
        Of the plan.
    placed : PlacedJob
        The job.
    job : int
        Its index.

    Returns
    -------
    list of Program
        By rank.
    """
    name, order = placed.job.name, placed.order
    n = len(order)
    n_rounds = 2 * (n - 1)
    sent = {rank: objects.counter(f"{name}/messages from rank {rank}") for rank in sorted(order)}
    received = {rank: objects.counter(f"{name}/messages at rank {rank}") for rank in sorted(order)}
    following = {rank: order[(position + 1) % n] for position, rank in enumerate(order)}
    programs = []
    for rank in sorted(order):
        target = following[rank]
        body: list[Instruction] = [compute_work(objects, placed, rank)]
        if n > 1:
            usage, latency_ticks = objects.way(placed.placement.workers[rank], placed.placement.workers[target])
            message = Flow(
                usage=usage,
                n_bytes=placed.job.gradient_bytes / n,
                latency_ticks=latency_ticks,
                signals=(sent[rank], received[target]),
            )
            for done in range(1, n_rounds + 1):
                body.append(message)
                body.append(Wait(counter=sent[rank], base=done, stride=n_rounds))
                body.append(Wait(counter=received[rank], base=done, stride=n_rounds))
        programs.append(
            Program(name=f"{name}/rank {rank}", job=job, rank=rank, body=tuple(body), n_iterations=placed.job.n_steps)
        )
    return programs
