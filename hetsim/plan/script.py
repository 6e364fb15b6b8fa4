"""The programs of one job under construction: what each actor does, in its order, before counters have thresholds."""

from collections.abc import Sequence

from hetsim.model.instructions import Choose, Push
from hetsim.model.plan import Program
from hetsim.network.transports import Role
from hetsim.plan.entries import Actor, Arrival, Barrier, Body, Choice, Draft, Entry, Message, Transfer
from hetsim.plan.finish import Finishing
from hetsim.plan.objects import Objects
from hetsim.plan.placed import PlacedJob
from hetsim.plan.rounds import EACH_STEP
from hetsim.plan.sending import Sender, Sending


class Script:
    """What the actors of one job do in one iteration.

    Ranks do early entries, then compute, then late entries. Every actor ends an iteration when all that it has sent is
    handed over: has arrived, or, on a way whose links have a queue, fits into that. What is left of its last message in
    the queue then goes on by itself, no longer as a transfer of the actor, and the first message of the next iteration
    follows it. Each way has the queue for itself, as each stream has a send buffer.

    What is added while `rounds` are longer than a step is done once a round: early entries in its first step, late ones
    in its last. An actor that is no rank and takes part in nothing more often has an iteration for each round.

    Parameters
    ----------
    objects : Objects
        Of the plan.
    placed : PlacedJob
        The job.
    sender : Sender
        Of its messages.

    Attributes
    ----------
    draft : Draft
        What was said so far.
    is_early : bool
        Where entries are added.
    rounds : Rounds
        When they are done.
    sent_frac : float
        Bytes that go on their way for each one that is sent.
    """

    def __init__(self, objects: Objects, placed: PlacedJob, sender: Sender) -> None:
        job = placed.job
        names = [f"{job.name}/rank {rank}" for rank in range(job.n_workers)]
        self.objects = objects
        self.placed = placed
        self.is_early = False
        self.rounds = EACH_STEP
        self.sent_frac = 1.0
        self.draft = Draft(
            objects=objects,
            placed=placed,
            sender=sender,
            names=names,
            nodes=list(placed.placement.workers),
            bodies=[Body() for _ in names],
            n_steps=[job.n_steps] * job.n_workers,
        )

    def actor(self, name: str, node: str) -> Actor:
        """Add an actor that is no rank.

        Parameters
        ----------
        name : str
            Such as ``server 0``.
        node : str
            Where its bytes come and go.

        Returns
        -------
        Actor
            The next number.
        """
        self.draft.names.append(f"{self.placed.job.name}/{name}")
        self.draft.nodes.append(node)
        self.draft.bodies.append(Body())
        return len(self.draft.names) - 1

    def set_iterations(self, actor: Actor, n: int, *, is_background: bool = False, is_clock: bool = False) -> None:
        """Say how often an actor acts that has no part in the rounds of ranks.

        Parameters
        ----------
        actor : Actor
            No rank.
        n : int
            Iterations.
        is_background : bool
            Whether nobody waits for its end.
        is_clock : bool
            Whether the ends of its iterations are the updates of the parameters.
        """
        body = self.draft.bodies[actor]
        body.n_iterations, body.is_background, body.is_clock = n, is_background, is_clock

    def set_steps(self, in_round: Sequence[int]) -> None:
        """Let ranks have different numbers of steps in a round, and about as many together as they would have.

        Parameters
        ----------
        in_round : sequence of int, shape (n_ranks,)
            Steps of each.
        """
        job = self.placed.job
        n_rounds = max(1, round(job.n_steps * job.n_workers / sum(in_round)))
        self.draft.n_steps = [n * n_rounds for n in in_round]

    def collective(self, kind: str, members: Sequence[Actor]) -> Actor:
        """Add an actor that starts what all members of a collective take part in.

        Parameters
        ----------
        kind : str
            Such as ``ring``.
        members : sequence of Actor
            Its flows are the communication of those that are ranks.

        Returns
        -------
        Actor
            The next number, which is also part of its name.
        """
        actor = self.actor(f"{kind} {len(self.draft.names)}", "")
        self.draft.members[actor] = tuple(sorted(rank for rank in members if rank < self.placed.job.n_workers))
        return actor

    def name(self, actor: Actor) -> str:
        """Return the name of an actor within its job.

        Parameters
        ----------
        actor : Actor
            Which.

        Returns
        -------
        str
            Such as ``rank 3``.
        """
        return self.draft.name(actor)

    def barrier(self, name: str) -> Barrier:
        """Return a new barrier.

        Parameters
        ----------
        name : str
            For messages.

        Returns
        -------
        Barrier
            Without signals.
        """
        return Barrier(self.objects.counter(f"{self.placed.job.name}/{name}"))

    def send(self, source: Actor, target: Actor, n_bytes: float, role: Role = "hop") -> Message:
        """Let an actor send bytes, once its message before on the same way has arrived.

        Parameters
        ----------
        source, target : Actor
            From and to whom.
        n_bytes : float
            Payload.
        role : Role
            For its transport.

        Returns
        -------
        Message
            For `receive`.
        """
        message = Message(source, target, n_bytes * self.sent_frac, role, self.rounds)
        self.add(source, message)
        return message

    def receive(self, message: Message) -> None:
        """Let the target of a message wait for it.

        Parameters
        ----------
        message : Message
            From `send`.
        """
        self.add(message.target, Arrival(message))

    def transfer(
        self,
        owner: Actor,
        way: tuple[Actor, Actor],
        n_bytes: float,
        barrier: Barrier,
        *,
        accumulator: int | None = None,
    ) -> None:
        """Let an actor start a transfer and go on.

        Parameters
        ----------
        owner : Actor
            Who starts it: the source, or a target that fetches.
        way : tuple of (Actor, Actor)
            Source and target.
        n_bytes : float
            Payload.
        barrier : Barrier
            Rises at the end.
        accumulator : int or None
            A counter that rises too.
        """
        barrier.n_signals += 1
        signals = (barrier.counter,) if accumulator is None else (barrier.counter, accumulator)
        self.add(owner, Transfer(way, n_bytes * self.sent_frac, signals))

    def transfer_one(
        self,
        owner: Actor,
        ways: Sequence[tuple[Actor, Actor]],
        n_bytes: float,
        barrier: Barrier,
        *,
        shares: tuple[float, ...],
        stream: int,
    ) -> None:
        """Let an actor start one of some transfers, by a draw, and go on.

        Parameters
        ----------
        owner : Actor
            Who starts it.
        ways : sequence of (Actor, Actor)
            Source and target of each.
        n_bytes : float
            Payload.
        barrier : Barrier
            Rises at the end.
        shares : tuple of float
            Probability of each.
        stream : int
            Key of the draws.
        """
        barrier.n_signals += 1
        transfers = tuple(Transfer(way, n_bytes * self.sent_frac, (barrier.counter,)) for way in ways)
        self.add(owner, Choice(Choose(shares=shares, stream=stream), transfers))

    def push(self, actor: Actor, barrier: Barrier) -> None:
        """Let an actor raise a barrier.

        Parameters
        ----------
        actor : Actor
            Who.
        barrier : Barrier
            Rises.
        """
        barrier.n_signals += 1
        self.add(actor, Push(barrier.counter))

    def add(self, actor: Actor, entry: Entry) -> None:
        """Append to what an actor does.

        Parameters
        ----------
        actor : Actor
            Who.
        entry : Instruction, Message, Barrier or Clock
            Do it; send it; wait until all its signals of the round have come, or until others are not too far behind.
        """
        body = self.draft.bodies[actor]
        (body.early if self.is_early else body.late).append((self.rounds, entry))

    def sending(self, source: Actor, target: Actor, n_bytes: float, role: Role) -> Sending:
        """Return what a message between two actors becomes.

        Parameters
        ----------
        source, target : Actor
            From and to whom.
        n_bytes : float
            Payload.
        role : Role
            For its transport.

        Returns
        -------
        Sending
            Links, bytes and latency.
        """
        return self.draft.sending(source, target, n_bytes, role)

    def has_queue(self, source: Actor, target: Actor) -> bool:
        """Return whether what is left of a message on a way waits in a queue.

        Parameters
        ----------
        source, target : Actor
            From and to whom.

        Returns
        -------
        bool
            Whether the sender goes on before its last message has arrived.
        """
        return self.draft.queue_bytes(source, target) > 0.0

    def programs(self, job: int) -> list[Program]:
        """Return the finished programs.

        Parameters
        ----------
        job : int
            Index of the job.

        Returns
        -------
        list of Program
            Ranks, then the other actors, then the queues that send what actors have left to them.
        """
        return Finishing(self.draft).programs(job)
