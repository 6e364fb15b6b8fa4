"""Finish the programs of a script: thresholds of counters, queues, and what is done once a round."""

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter

from hetsim.model.instructions import Flow, Instruction, Wait
from hetsim.model.plan import Program
from hetsim.plan.entries import Actor, Arrival, Barrier, Body, Choice, Clock, Draft, Entry, Message, Transfer, Way
from hetsim.plan.placed import work_of
from hetsim.plan.rounds import EACH_STEP, Rounds
from hetsim.plan.sending import flow_of
from hetsim.units import TICKS_PER_S


class Finishing:
    """Makes programs of a draft.

    Parameters
    ----------
    draft : Draft
        Complete.
    """

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._n_ranks = draft.placed.job.n_workers
        self._channels: dict[Way, int] = {}
        self._flows: dict[tuple[Actor, Actor, float, str, Rounds], Flow] = {}
        self._waiting: dict[tuple[Actor, Actor], float] = {}
        self._handed_over: dict[Way, int] = {}
        self._queues: list[tuple[str, tuple[Instruction, ...], int]] = []
        self._loads_s = self._find_loads()

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
        n_ranks = self._n_ranks
        n_sent = _number(self._entries())
        programs = []
        for actor, (name, body) in enumerate(zip(self._draft.names, self._draft.bodies, strict=True)):
            is_rank = actor < n_ranks
            base = EACH_STEP if is_rank else _shortest(body)
            n = self._n_iterations(actor, base) if body.n_iterations is None else body.n_iterations
            take = self._draft.take if is_rank else None
            program = Program(
                name=name,
                job=job,
                rank=actor if is_rank else -1,
                body=((take,) if take else ()) + tuple(self._finished(actor, base, n, n_sent)),
                n_iterations=take.n_tokens if take else n,
                members=self._draft.members.get(actor, ()),
                is_background=body.is_background or (is_rank and self._draft.is_cut_off),
                is_clock=body.is_clock,
            )
            programs.append(program)
        queues = [
            Program(name=name, job=job, rank=-1, body=body, n_iterations=n) for name, body, n in self._queues if n > 0
        ]
        return [each for each in programs if each.rank >= 0 or (each.body and each.n_iterations > 0)] + queues

    def _n_iterations(self, actor: Actor, base: Rounds) -> int:
        if actor < self._n_ranks:
            return self._draft.n_steps[actor]
        return self._draft.n_steps[0] // base.own[0] if base.own else base.n_in(self._draft.n_steps[0])

    def _entries(self) -> list[Entry]:
        """Return all entries, in the order of actors."""
        return [entry for body in self._draft.bodies for _, entry in [*body.early, *body.late]]

    def _finished(
        self, actor: Actor, base: Rounds, n_iterations: int, n_sent: Mapping[Way, int]
    ) -> Iterator[Instruction]:
        """Yield instructions with thresholds, and the waits that keep the messages of a way in order."""
        body = self._draft.bodies[actor]
        arrived: dict[Way, int] = {}
        for is_early, entries in ((True, body.early), (False, body.late)):
            for rounds, group in itertools.groupby(entries, key=itemgetter(0)):
                own = self._own(actor, rounds, base)
                done = [
                    instruction
                    for _, entry in group
                    for instruction in self._done(entry, own, arrived, n_sent, own.n_in(n_iterations))
                ]
                yield from _once_a_round(done, own, n_iterations, is_early=is_early)
            if is_early and actor < self._n_ranks:
                yield from work_of(self._draft.objects, self._draft.placed, actor)
        for rounds in dict.fromkeys(rounds for _, _, rounds in arrived):
            own = self._own(actor, rounds, base)
            waits = [self._sent(way, own, n_sent) for way in arrived if way[2] == rounds]
            yield from _once_a_round([wait for wait in waits if wait], own, n_iterations, is_early=False)

    def _own(self, actor: Actor, rounds: Rounds, base: Rounds) -> Rounds:
        """Return rounds in the iterations of an actor."""
        if actor < self._n_ranks:
            return rounds.of_rank(actor)
        return EACH_STEP if rounds.own or rounds.decider else rounds.within(base)

    def _done(
        self, entry: Entry, own: Rounds, arrived: dict[Way, int], n_sent: Mapping[Way, int], n_rounds: int
    ) -> Iterator[Instruction]:
        """Yield what becomes of one entry, with what has arrived before it on each way of the actor."""
        if isinstance(entry, Message):
            way, before = entry.way, entry.number - 1
            queue_bytes = self._queue_bytes(way)
            if arrived.setdefault(way, 0) < before or (queue_bytes and not before):
                arrived[way] = before
                yield self._wait(way, before, n_sent[way], own)
            is_left = queue_bytes and entry.number == n_sent[way]
            yield self._left_to_queue(entry, queue_bytes, n_rounds) if is_left else self._flow(entry)
        elif isinstance(entry, Arrival):
            message = entry.message
            yield self._wait(message.way, message.number, n_sent[message.way], own)
        elif isinstance(entry, Transfer):
            yield self._transferred(entry)
        elif isinstance(entry, Choice):
            yield entry.choose
            yield from map(self._transferred, entry.transfers)
        elif isinstance(entry, Barrier):
            yield _wait_for(entry.counter, entry.n_signals, entry.n_signals, own)
        elif isinstance(entry, Clock):
            yield _wait_for(entry.counter, -entry.behind, 1, own)
        else:
            yield entry

    def _sent(self, way: Way, own: Rounds, n_sent: Mapping[Way, int]) -> Wait | None:
        """Return the wait until all messages of a way are handed over; None where the queue program sees to that."""
        if way in self._handed_over:
            return _wait_for(self._handed_over[way], 1, 1, own)
        return None if self._queue_bytes(way) else self._wait(way, n_sent[way], n_sent[way], own)

    def _wait(self, way: Way, number: int, n_sent: int, own: Rounds) -> Wait:
        return _wait_for(self._channel(way), number, n_sent, own)

    def _flow(self, message: Message) -> Flow:
        key = (message.source, message.target, message.n_bytes, message.role, message.rounds)
        if key not in self._flows:
            sending = self._draft.sending(message.source, message.target, message.n_bytes, message.role)
            self._flows[key] = flow_of(sending, (self._channel(message.way),))
        return self._flows[key]

    def _transferred(self, transfer: Transfer) -> Flow:
        """Return a transfer; its connection was idle since the last step while workers computed and all answered.

        Workers that wait for all others do so for the slowest one.
        """
        source, target = transfer.way
        times_s = [step_time.total_s for step_time in self._draft.placed.step_times]
        own = [times_s[actor] for actor in transfer.way if actor < self._n_ranks]
        computed_s = own[0] if own and self._draft.is_asynchronous else max(times_s)
        idle_s = computed_s + self._loads_s.get((target, source), 0.0)
        sending = self._draft.sender.sending(
            self._draft.nodes[source], self._draft.nodes[target], transfer.n_bytes, "lone", idle_s=idle_s
        )
        return flow_of(sending, transfer.signals)

    def _find_loads(self) -> dict[tuple[Actor, Actor], float]:
        """Return how long the slowest link of each way takes for all transfers of an iteration that cross it."""
        resources = self._draft.objects.resources
        ways: dict[tuple[Actor, Actor], tuple[int, ...]] = {}
        load_s: dict[int, float] = defaultdict(float)
        for transfer in _transfers(self._entries()):
            source, target = transfer.way
            used = self._draft.objects.links(self._draft.nodes[source], self._draft.nodes[target])
            ways[transfer.way] = tuple(link for link, _ in used)
            for link in ways[transfer.way]:
                ticks = transfer.n_bytes / capacity if (capacity := resources[link].capacity) else 0.0
                load_s[link] += ticks / TICKS_PER_S
        return {way: max((load_s[link] for link in links), default=0.0) for way, links in ways.items()}

    def _left_to_queue(self, message: Message, queue_bytes: float, n_rounds: int) -> Flow:
        """Return what an actor sends itself of the last message of a way, and let a program of its own send the rest.

        A message that fits into the queue is handed over as it sets out.
        """
        whole = self._flow(message)
        n_bytes = whole.n_bytes - queue_bytes / self._weight(message)
        if n_bytes <= 0.0:
            return whole
        draft = self._draft
        job = draft.placed.job.name
        name = f"queue from {draft.name(message.source)} to {draft.name(message.target)}{_when(message.rounds)}"
        handed_over = self._handed_over[message.way] = draft.objects.counter(f"{job}/handed to {name}")
        rest = replace(whole, n_bytes=whole.n_bytes - n_bytes, latency_ticks=0, latency_changes=())
        wait = Wait(counter=handed_over, base=1, stride=1)
        self._queues.append((f"{job}/{name}", (wait, rest), n_rounds))
        return replace(whole, n_bytes=n_bytes, signals=(handed_over,))

    def _weight(self, message: Message) -> float:
        return self._draft.sender.weight(self._draft.nodes[message.source], self._draft.nodes[message.target])

    def _queue_bytes(self, way: Way) -> float:
        source, target, _ = way
        if (source, target) not in self._waiting:
            self._waiting[source, target] = self._draft.queue_bytes(source, target)
        return self._waiting[source, target]

    def _channel(self, way: Way) -> int:
        if way not in self._channels:
            source, target, rounds = way
            name = f"{self._draft.names[source]} to {self._draft.name(target)}{_when(rounds)}"
            self._channels[way] = self._draft.objects.counter(name)
        return self._channels[way]


def _when(rounds: Rounds) -> str:
    """Return what tells the messages of some rounds from others of the same way."""
    if rounds == EACH_STEP:
        return ""
    step = f", step {rounds.phase}" if rounds.phase >= 0 else ""
    return f" once in {' or '.join(map(str, rounds.own or (rounds.period,)))} steps{step}"


def _wait_for(counter: int, base: int, stride: int, own: Rounds) -> Wait:
    return Wait(counter=counter, base=base, stride=stride, period=own.period, start=own.start)


def _once_a_round(
    instructions: Sequence[Instruction], own: Rounds, n_iterations: int, *, is_early: bool
) -> Iterator[Instruction]:
    """Yield instructions, after what lets them be done once a round."""
    every = own.every(len(instructions), n_iterations, is_early=is_early)
    if every and instructions:
        yield every
    yield from instructions


def _shortest(body: Body) -> Rounds:
    """Return the rounds in which an actor takes part most often."""
    return min((rounds for rounds, _ in [*body.early, *body.late]), key=lambda each: each.period, default=EACH_STEP)


def _transfers(entries: Sequence[Entry]) -> Iterator[Transfer]:
    """Yield what may be transferred."""
    for entry in entries:
        if isinstance(entry, Transfer):
            yield entry
        elif isinstance(entry, Choice):
            yield from entry.transfers


def _number(entries: Sequence[Entry]) -> dict[Way, int]:
    """Number the messages of each way in the order in which they are sent, and return how many there are."""
    n_sent: dict[Way, int] = defaultdict(int)
    for entry in entries:
        if isinstance(entry, Message):
            n_sent[entry.way] += 1
            entry.number = n_sent[entry.way]
    return n_sent
