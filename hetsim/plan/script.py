"""The programs of one job under construction: what each actor does, in its order, before counters have thresholds."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from hetsim.model.plan import Flow, Instruction, Program, Push, Wait
from hetsim.network.transports import Role
from hetsim.plan.objects import Objects
from hetsim.plan.placed import PlacedJob, compute_work
from hetsim.plan.sending import Sender, Sending
from hetsim.units import TICKS_PER_S

Actor = int
"""A rank, or a number above the ranks: a server, or a collective that acts as one."""


@dataclass(slots=True, eq=False)
class Message:
    """Bytes from one actor to another; messages of one way follow each other, as on one stream.

    Parameters
    ----------
    source, target : Actor
        From and to whom.
    n_bytes : float
        Payload.
    role : Role
        For its transport.
    number : int
        Among the messages of its way in one iteration, from one; given when the script is complete.
    """

    source: Actor
    target: Actor
    n_bytes: float
    role: Role
    number: int = 0


@dataclass(slots=True, eq=False)
class Barrier:
    """A counter that rises a fixed number of times in an iteration, and is waited for as a whole.

    Parameters
    ----------
    counter : int
        Its index in the plan.
    n_signals : int
        Times that it rises in an iteration.
    """

    counter: int
    n_signals: int = 0


@dataclass(frozen=True, slots=True)
class _Transfer:
    """Start a transfer by itself, and raise a barrier at its end."""

    way: tuple[Actor, Actor]
    n_bytes: float
    barrier: Barrier


@dataclass(frozen=True, slots=True)
class _Arrival:
    """Wait until a message has arrived."""

    message: Message


_Entry = Instruction | Message | _Arrival | _Transfer | Barrier


class Script:
    """What the actors of one job do in one iteration.

    Ranks do early entries, then compute, then late entries. Every actor ends an iteration when all that it has sent is
    handed over: has arrived, or, on a way whose links have a queue, fits into that. What is left of its last message in
    the queue then goes on by itself, no longer as a transfer of the actor, and the first message of the next iteration
    follows it. Each way has the queue for itself, as each stream has a send buffer.

    Parameters
    ----------
    objects : Objects
        Of the plan.
    placed : PlacedJob
        The job.
    sender : Sender
        Of its messages.
    """

    def __init__(self, objects: Objects, placed: PlacedJob, sender: Sender) -> None:
        self.objects = objects
        self.placed = placed
        self._sender = sender
        self.is_early = False
        self._names = [f"{placed.job.name}/rank {rank}" for rank in range(placed.job.n_workers)]
        self._nodes = list(placed.placement.workers)
        self._early: list[list[_Entry]] = [[] for _ in self._names]
        self._late: list[list[_Entry]] = [[] for _ in self._names]
        self._members: dict[Actor, tuple[int, ...]] = {}
        self._channels: dict[tuple[Actor, Actor], int] = {}
        self._flows: dict[tuple[Actor, Actor, float, Role], Flow] = {}
        self._waiting: dict[tuple[Actor, Actor], float] = {}
        self._handed_over: dict[tuple[Actor, Actor], int] = {}
        self._queues: list[tuple[str, tuple[Instruction, ...]]] = []
        self._loads_s: dict[tuple[Actor, Actor], float] = {}

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
        self._names.append(f"{self.placed.job.name}/{name}")
        self._nodes.append(node)
        self._early.append([])
        self._late.append([])
        return len(self._names) - 1

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
        actor = self.actor(f"{kind} {len(self._names)}", "")
        self._members[actor] = tuple(sorted(rank for rank in members if rank < self.placed.job.n_workers))
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
        return self._names[actor].removeprefix(f"{self.placed.job.name}/")

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
        message = Message(source, target, n_bytes, role)
        self.add(source, message)
        return message

    def receive(self, message: Message) -> None:
        """Let the target of a message wait for it.

        Parameters
        ----------
        message : Message
            From `send`.
        """
        self.add(message.target, _Arrival(message))

    def transfer(self, owner: Actor, way: tuple[Actor, Actor], n_bytes: float, barrier: Barrier) -> None:
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
        """
        barrier.n_signals += 1
        self.add(owner, _Transfer(way, n_bytes, barrier))

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

    def add(self, actor: Actor, entry: _Entry) -> None:
        """Append to what an actor does.

        Parameters
        ----------
        actor : Actor
            Who.
        entry : Instruction, Message or Barrier
            Do it; send it; wait until all its signals of the iteration have come.
        """
        (self._early if self.is_early else self._late)[actor].append(entry)

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
        return self._sender.sending(self._nodes[source], self._nodes[target], n_bytes, role)

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
        n_ranks = self.placed.job.n_workers
        bodies: list[list[_Entry]] = []
        for actor, (early, late) in enumerate(zip(self._early, self._late, strict=True)):
            work = [compute_work(self.objects, self.placed, actor)] if actor < n_ranks else []
            bodies.append([*early, *work, *late])
        n_sent = _number(bodies)
        self._loads_s = self._find_loads(bodies)
        finished = [tuple(self._finished(body, n_sent)) for body in bodies]
        return [
            Program(
                name=name,
                job=job,
                rank=actor if actor < n_ranks else -1,
                body=body,
                n_iterations=self.placed.job.n_steps,
                members=self._members.get(actor, ()),
            )
            for actor, (name, body) in enumerate([*zip(self._names, finished, strict=True), *self._queues])
        ]

    def _finished(self, body: Sequence[_Entry], n_sent: dict[tuple[Actor, Actor], int]) -> Iterator[Instruction]:
        """Yield instructions with thresholds, and the waits that keep the messages of a way in order."""
        arrived: dict[tuple[Actor, Actor], int] = {}
        for entry in body:
            if isinstance(entry, Message):
                way = (entry.source, entry.target)
                queue_bytes = self._queue_bytes(way)
                before = entry.number - 1
                if arrived.setdefault(way, 0) < before or (queue_bytes and not before):
                    arrived[way] = before
                    yield self._wait(way, before, n_sent[way])
                is_left = queue_bytes and entry.number == n_sent[way]
                yield self._left_to_queue(entry, queue_bytes) if is_left else self._flow(entry)
            elif isinstance(entry, _Arrival):
                message = entry.message
                way = (message.source, message.target)
                yield self._wait(way, message.number, n_sent[way])
            elif isinstance(entry, _Transfer):
                yield self._transferred(entry)
            elif isinstance(entry, Barrier):
                yield Wait(counter=entry.counter, base=entry.n_signals, stride=entry.n_signals)
            else:
                yield entry
        for way in arrived:
            if way in self._handed_over:
                yield Wait(counter=self._handed_over[way], base=1, stride=1)
            elif not self._queue_bytes(way):
                yield self._wait(way, n_sent[way], n_sent[way])

    def _wait(self, way: tuple[Actor, Actor], number: int, n_sent: int) -> Wait:
        return Wait(counter=self._channel(*way), base=number, stride=n_sent)

    def _flow(self, message: Message) -> Flow:
        key = (message.source, message.target, message.n_bytes, message.role)
        if key not in self._flows:
            signals = (self._channel(message.source, message.target),)
            self._flows[key] = flow_of(self.sending(*key), signals)
        return self._flows[key]

    def _transferred(self, transfer: _Transfer) -> Flow:
        """Return a transfer; its connection was idle since the last step while workers computed and all answered."""
        source, target = transfer.way
        slowest_s = max(step_time.total_s for step_time in self.placed.step_times)
        idle_s = slowest_s + self._loads_s.get((target, source), 0.0)
        sending = self._sender.sending(
            self._nodes[source], self._nodes[target], transfer.n_bytes, "lone", idle_s=idle_s
        )
        return flow_of(sending, (transfer.barrier.counter,))

    def _find_loads(self, bodies: Sequence[Sequence[_Entry]]) -> dict[tuple[Actor, Actor], float]:
        """Return how long the slowest link of each way takes for all transfers of an iteration that cross it."""
        ways: dict[tuple[Actor, Actor], tuple[int, ...]] = {}
        load_s: dict[int, float] = defaultdict(float)
        for transfer in (entry for body in bodies for entry in body if isinstance(entry, _Transfer)):
            source, target = transfer.way
            used = self.objects.links(self._nodes[source], self._nodes[target])
            ways[transfer.way] = tuple(link for link, _ in used)
            for link in ways[transfer.way]:
                ticks = transfer.n_bytes / capacity if (capacity := self.objects.resources[link].capacity) else 0.0
                load_s[link] += ticks / TICKS_PER_S
        return {way: max((load_s[link] for link in links), default=0.0) for way, links in ways.items()}

    def _left_to_queue(self, message: Message, queue_bytes: float) -> Flow:
        """Return what an actor sends itself of the last message of a way, and let a program of its own send the rest.

        A message that fits into the queue is handed over as it sets out.
        """
        whole = self._flow(message)
        n_bytes = whole.n_bytes - queue_bytes / self._weight(message)
        if n_bytes <= 0.0:
            return whole
        way = (message.source, message.target)
        name = f"queue from {self.name(message.source)} to {self.name(message.target)}"
        handed_over = self._handed_over[way] = self.objects.counter(f"{self.placed.job.name}/handed to {name}")
        rest = replace(whole, n_bytes=whole.n_bytes - n_bytes, latency_ticks=0, latency_changes=())
        wait = Wait(counter=handed_over, base=1, stride=1)
        self._queues.append((f"{self.placed.job.name}/{name}", (wait, rest)))
        return replace(whole, n_bytes=n_bytes, signals=(handed_over,))

    def _weight(self, message: Message) -> float:
        return self._sender.weight(self._nodes[message.source], self._nodes[message.target])

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
        return self._queue_bytes((source, target)) > 0.0

    def _queue_bytes(self, way: tuple[Actor, Actor]) -> float:
        if way not in self._waiting:
            source, target = way
            self._waiting[way] = self.objects.queue_bytes(self._nodes[source], self._nodes[target])
        return self._waiting[way]

    def _channel(self, source: Actor, target: Actor) -> int:
        if (source, target) not in self._channels:
            self._channels[source, target] = self.objects.counter(f"{self._names[source]} to {self.name(target)}")
        return self._channels[source, target]


def flow_of(sending: Sending, signals: tuple[int, ...]) -> Flow:
    """Return the flow of a message.

    Parameters
    ----------
    sending : Sending
        The message.
    signals : tuple of int
        Counters that rise at its end.

    Returns
    -------
    Flow
        An instruction.
    """
    (_, latency_ticks), *changes = sending.latencies
    return Flow(
        usage=sending.usage,
        n_bytes=sending.n_bytes,
        latency_ticks=latency_ticks,
        signals=signals,
        latency_changes=tuple(changes),
    )


def _number(bodies: Sequence[Sequence[_Entry]]) -> dict[tuple[Actor, Actor], int]:
    """Number the messages of each way in the order in which they are sent, and return how many there are."""
    n_sent: dict[tuple[Actor, Actor], int] = defaultdict(int)
    for body in bodies:
        for entry in body:
            if isinstance(entry, Message):
                n_sent[entry.source, entry.target] += 1
                entry.number = n_sent[entry.source, entry.target]
    return n_sent
