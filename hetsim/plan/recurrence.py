"""Plans without contention as recurrences: every time is a maximum of earlier times, plus a duration.

**Rule.** A plan is one if its capacities and latencies never change, and its programs alone show (`hetsim.plan.order`)
that

1. each wait of iteration i is for the first so many rises of iteration i, the same ones in every run: what raises the
   counter later starts only after these have come;
2. each resource is used by one activity after the other: the next one starts only after the end of the one before.

**Why that is enough.** "Only after" is shown by paths through programs and waits. A path holds as long as each wait on
it ended after all the rises that it stands for. Take the first wait of a run, if there is one, that ended before one of
its rises: another rise had come in the place of that one, by 1 a path leads from the missing rise to the other one,
and all waits on it ended earlier and therefore as they should. So the missing rise had come: a contradiction. All paths
hold, each wait ends with the last of known rises, and by 2 each activity is alone on its resources: its rate is the
least of capacity over use, and it takes ``ceil(amount / rate)`` ticks, whatever else goes on. The rule is sound, not
complete: a plan that it turns down may still run without contention.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from hetsim.model.instructions import Delay, Flow, Instruction, Wait, Work, usage_of
from hetsim.model.plan import Plan, Resource
from hetsim.plan.order import Node, Order, order_of, raises

MOST_TICKS: Final = 2**50
"""Each duration of a recurrence is less without its jitter: 18 minutes."""

MOST_TICKS_TOGETHER: Final = 2**60
"""All durations of one iteration take less together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """An instruction whose duration is known, or drawn.

    Parameters
    ----------
    node : int
        The instruction, numbered through all programs.
    program : int
        Whose.
    instruction : Instruction
        What.
    rate : float
        Of an activity, alone on its resources; zero for what uses none.
    ticks : int
        Duration, latency included; that of work without jitter.
    raised : tuple of (int, int)
        Slots that keep the time of its end, and for each the slot of the rise before; that slot itself for the first.
    awaited : int
        Slot of the last rise that a wait is for; -1 for what is no wait.
    """

    node: int
    program: int
    instruction: Instruction
    rate: float = 0.0
    ticks: int = 0
    raised: tuple[tuple[int, int], ...] = ()
    awaited: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Programs that have to do with each other, and with no others.

    Parameters
    ----------
    programs : tuple of int
        Indices.
    n_iterations : int
        Of each.
    actions : tuple of Action
        Of one iteration, each after all that it waits for.
    """

    programs: tuple[int, ...]
    n_iterations: int
    actions: tuple[Action, ...] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrence:
    """A plan without contention.

    Parameters
    ----------
    parts : tuple of Part
        Each runs by itself.
    n_slots : int
        Times of rises that waits ask for.
    n_events : int
        Ends of activities, latencies and delays, and rises, in the whole run.
    """

    parts: tuple[Part, ...]
    n_slots: int
    n_events: int


def find_recurrence(plan: Plan) -> Recurrence | None:
    """Return a plan as a recurrence.

    Parameters
    ----------
    plan : Plan
        Any.

    Returns
    -------
    Recurrence or None
        None where the rule above does not show that the plan runs without contention.
    """
    most = [_most_ticks(plan.resources, instruction) for program in plan.programs for instruction in program.body]
    if max(most, default=0.0) >= MOST_TICKS or sum(most) >= MOST_TICKS_TOGETHER:
        return None
    senders = [program for program in plan.programs if program.senders]
    if any(_mixes_transfers(program.body) for program in senders) or _has_changing_latency(plan) or plan.has_background:
        return None
    order = order_of(plan)
    return None if order is None else _written(plan, order)


def rate_of(resources: Sequence[Resource], instruction: Instruction) -> float:
    """Return the rate of an activity that is alone on its resources.

    Parameters
    ----------
    resources : sequence of Resource
        Of the plan.
    instruction : Instruction
        Any.

    Returns
    -------
    float
        Amount per tick, the same float as max-min sharing finds; zero for what uses no resource.
    """
    return min((resources[resource].capacity / use for resource, use in usage_of(instruction)), default=0.0)


def _most_ticks(resources: Sequence[Resource], instruction: Instruction) -> float:
    """Return a bound of a duration without its jitter; infinity for what never ends or is not run here."""
    usage = usage_of(instruction)
    if isinstance(instruction, Delay):
        return float(instruction.ticks)
    if isinstance(instruction, Flow):
        if any(resources[resource].kind == "device" for resource, _ in usage):
            return math.inf
        latency, amount = float(instruction.latency_ticks), instruction.n_bytes
    elif isinstance(instruction, Work):
        latency, amount = 0.0, float(instruction.ticks)
    else:
        return 0.0
    if not usage:
        return latency
    rate = rate_of(resources, instruction)
    return latency + 1.0 + amount / rate if rate > 0.0 else math.inf


def _mixes_transfers(body: Iterable[Instruction]) -> bool:
    """Return whether a rank has transfers of no time beside others.

    To which step the ones count that set out in the same tick would depend on what else that tick is settled in.
    """
    takes_time = {
        flow.latency_ticks > 0 or (bool(flow.usage) and flow.n_bytes > 0.0) for flow in body if isinstance(flow, Flow)
    }
    return len(takes_time) > 1


def _has_changing_latency(plan: Plan) -> bool:
    instructions = {instruction for program in plan.programs for instruction in program.body}
    return any(isinstance(instruction, Flow) and instruction.latency_changes for instruction in instructions)


def _written(plan: Plan, order: Order) -> Recurrence:
    slots, n_slots = _slots_of(order)
    actions = [_action(plan, order, node, slots) for node in order.in_order]
    groups = _groups(plan, order)
    part_of = {program: part for part, programs in enumerate(groups) for program in programs}
    by_part: list[list[Action]] = [[] for _ in groups]
    for action in actions:
        by_part[part_of[action.program]].append(action)
    parts = tuple(
        Part(programs=tuple(programs), n_iterations=plan.programs[programs[0]].n_iterations, actions=tuple(members))
        for programs, members in zip(groups, by_part, strict=True)
    )
    n_events = sum(
        program.n_iterations * sum(_n_events(instruction) for instruction in program.body) for program in plan.programs
    )
    return Recurrence(parts=parts, n_slots=n_slots, n_events=n_events)


def _n_events(instruction: Instruction) -> int:
    """Return how many ends and rises come of one instruction."""
    if isinstance(instruction, Flow):
        return bool(instruction.latency_ticks) + bool(instruction.usage) + len(instruction.signals)
    return 0 if isinstance(instruction, Wait) else 1


def _slots_of(order: Order) -> tuple[dict[tuple[int, Node], int], int]:
    """Number the times to keep: one for a counter that is only waited for as a whole, else one for each rise."""
    slots: dict[tuple[int, Node], int] = {}
    n = 0
    for counter, waits in enumerate(order.waits):
        if not waits:
            continue
        is_whole = all(order.last_of[wait] is None for wait in waits)
        for index, node in enumerate(dict.fromkeys(order.raised[counter])):
            n += index == 0 or not is_whole
            slots[counter, node] = n - 1
    return slots, n


def _action(plan: Plan, order: Order, node: Node, slots: dict[tuple[int, Node], int]) -> Action:
    instruction, program = order.instructions[node], order.program_of[node]
    if isinstance(instruction, Wait):
        last = order.last_of[node]
        rises = order.raised[instruction.counter]
        awaited = slots[instruction.counter, rises[-1] if last is None else last]
        return Action(node=node, program=program, instruction=instruction, awaited=awaited)
    raised = []
    for counter in dict.fromkeys(raises(instruction)):
        if order.waits[counter]:
            slot, first = slots[counter, node], slots[counter, order.raised[counter][0]]
            raised.append((slot, max(slot - 1, first)))
    rate, ticks = rate_of(plan.resources, instruction), 0
    if isinstance(instruction, Work):
        ticks = math.ceil(instruction.ticks / rate)
    elif isinstance(instruction, Flow):
        ticks = instruction.latency_ticks + (math.ceil(instruction.n_bytes / rate) if rate else 0)
    elif isinstance(instruction, Delay):
        ticks = instruction.ticks
    return Action(node=node, program=program, instruction=instruction, rate=rate, ticks=ticks, raised=tuple(raised))


def _groups(plan: Plan, order: Order) -> list[list[int]]:
    """Return the programs in groups that share counters that somebody waits for, collectives with their members."""
    group_of = list(range(len(plan.programs)))

    def find(program: int) -> int:
        while group_of[program] != program:
            group_of[program] = group_of[group_of[program]]
            program = group_of[program]
        return program

    for counter, waits in enumerate(order.waits):
        nodes = [*order.raised[counter], *waits] if waits else []
        for node in nodes[1:]:
            group_of[find(order.program_of[node])] = find(order.program_of[nodes[0]])
    ranks = {(program.job, program.rank): index for index, program in enumerate(plan.programs)}
    for index, program in enumerate(plan.programs):
        for rank in program.senders:
            group_of[find(ranks[program.job, rank])] = find(index)
    groups: dict[int, list[int]] = {}
    for index in range(len(plan.programs)):
        groups.setdefault(find(index), []).append(index)
    return list(groups.values())
