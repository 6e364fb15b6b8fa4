"""Senders that go on when the rest of a message is in the network's buffers: what TCP let the recorded rings do."""

from collections.abc import Iterator
from dataclasses import replace

from hetsim.model.plan import Flow, Instruction, Plan, Program, Wait
from hetsim.units import TICKS_PER_S

QUEUE_S = 0.05
"""tbf holds what it can send in 50 ms (`latency 50ms` in every setting of the recording), beside its bucket."""


def with_buffers(plan: Plan) -> Plan:
    """Return a plan of rings in which a rank waits, for its own messages, only until the rest is queued.

    Messages of one way still follow each other; but a rank that has received everything begins its next step while the
    queue of the slowest link on its way still drains.
    """
    counters = list(plan.counters)
    programs = []
    for program in plan.programs:
        counters.append(f"{program.name}/handed over")
        programs.append(replace(program, body=tuple(_buffered(plan, program, len(counters) - 1))))
    return replace(plan, counters=tuple(counters), programs=tuple(programs))


def _buffered(plan: Plan, program: Program, handed_over: int) -> Iterator[Instruction]:
    flows = [entry for entry in program.body if isinstance(entry, Flow)]
    arrived = flows[0].signals[0]
    n_done = 0
    for entry in program.body:
        if isinstance(entry, Flow):
            yield Wait(counter=arrived, base=n_done, stride=len(flows))
            n_done += 1
            queued = min(plan.resources[link].capacity for link, _ in entry.usage) * TICKS_PER_S * QUEUE_S
            if queued >= entry.n_bytes:
                yield entry
                continue
            yield replace(entry, n_bytes=entry.n_bytes - queued, signals=(handed_over,))
            yield Wait(counter=handed_over, base=n_done, stride=len(flows))
            yield replace(entry, n_bytes=queued, latency_ticks=0)
        elif not (isinstance(entry, Wait) and entry.counter == arrived):
            yield entry
