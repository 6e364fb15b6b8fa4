"""A plan of messages as the SimGrid peer reads it (peers/simgrid_messages.cpp)."""

from collections.abc import Iterator
from dataclasses import dataclass

from hetsim.model.instructions import Flow, Wait, Work
from hetsim.model.plan import Plan, Program
from hetsim.units import TICKS_PER_S

FREE_BYTES_PER_S = 1e15
"""Links of this rate bind nothing; the peer is spared them."""


@dataclass(slots=True)
class _Way:
    """What messages that raise one counter have in common: the index of a program, links, ticks."""

    number: int
    source: int
    links: tuple[int, ...]
    latency_ticks: int
    target: int = -1


def n_messages(plan: Plan) -> int:
    """Return how many messages a plan of one step sends."""
    return sum(isinstance(instruction, Flow) for program in plan.programs for instruction in program.body)


def peer_input(plan: Plan) -> str:
    """Return links, ways and operations of a plan in which ranks work, send and wait for messages, for one step."""
    if any(program.n_iterations > 1 for program in plan.programs):
        raise ValueError("the peer runs no more than one step")
    ways = _ways(plan)
    latency_s = _latency_s(ways)
    used = dict.fromkeys(link for way in ways.values() for link in way.links)
    numbers = {link: number for number, link in enumerate(used)}
    lines = [str(len(used)), *(f"{_rate(plan, link)!r} {latency_s.get(link, 0.0)!r}" for link in used)]
    lines.append(str(len(ways)))
    lines += [f"{way.source} {way.target} {_list([numbers[link] for link in way.links])}" for way in ways.values()]
    operations = [list(_operations(program, ways)) for program in plan.programs]
    return "\n".join([*lines, str(len(operations)), *map(_list, operations)])


def _list(entries: list[int] | list[str]) -> str:
    return " ".join(map(str, [len(entries), *entries]))


def _rate(plan: Plan, link: int) -> float:
    return plan.resources[link].capacity * TICKS_PER_S


def _ways(plan: Plan) -> dict[int, _Way]:
    """Return the ways of a plan by the counters of their arrivals; each has one source, and one other waits for it."""
    ways: dict[int, _Way] = {}
    for source, program in enumerate(plan.programs):
        for flow in program.body:
            if isinstance(flow, Flow):
                links = tuple(link for link, _ in flow.usage if _rate(plan, link) < FREE_BYTES_PER_S)
                way = ways.setdefault(flow.signals[0], _Way(len(ways), source, links, flow.latency_ticks))
                if way.source != source or len(flow.signals) > 1 or any(times != 1.0 for _, times in flow.usage):
                    raise ValueError(f"{program.name}: not a message from one rank to another, {flow}")
    for target, program in enumerate(plan.programs):
        for wait in program.body:
            if isinstance(wait, Wait) and ways[wait.counter].source != target:
                way = ways[wait.counter]
                if way.target not in {-1, target}:
                    raise ValueError(f"{program.name}: not the only one that waits for {plan.counters[wait.counter]}")
                way.target = target
    return ways


def _latency_s(ways: dict[int, _Way]) -> dict[int, float]:
    """Return the latencies of links: the first one of each way has all, and all ways the same.

    SimGrid's CM02 weighs shares by the latency of the way.
    """
    ticks = {way.latency_ticks for way in ways.values()}
    first = {way.links[0] for way in ways.values()}
    if len(ticks) > 1 or any(first.intersection(way.links[1:]) for way in ways.values()):
        raise ValueError("not all ways have the same latency, or a first link is a later one elsewhere")
    return dict.fromkeys(first, max(ticks) / TICKS_PER_S)


def _operations(program: Program, ways: dict[int, _Way]) -> Iterator[str]:
    """Yield what an actor does; it waits for messages one by one, and for its own only before the next on that way."""
    sent, received = dict.fromkeys(ways, 0), dict.fromkeys(ways, 0)
    for instruction in program.body:
        if isinstance(instruction, Work):
            yield f"c {instruction.ticks / TICKS_PER_S!r}"
        elif isinstance(instruction, Flow):
            way = instruction.signals[0]
            sent[way] += 1
            yield f"s {ways[way].number} {instruction.n_bytes!r}"
        elif isinstance(instruction, Wait) and instruction.base == sent[instruction.counter]:
            yield f"w {ways[instruction.counter].number}"
        elif isinstance(instruction, Wait) and instruction.base == received[instruction.counter] + 1:
            received[instruction.counter] += 1
            yield f"r {ways[instruction.counter].number}"
        else:
            raise ValueError(f"{program.name}: the peer cannot do {instruction}")
