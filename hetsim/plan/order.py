"""What happens before what in every run of a plan, as far as its programs alone say.

Instruction v of iteration i + w starts after instruction u of iteration i if a path of total weight w leads there: from
each instruction to the next of its program (weight 1 from the last to the first), and from what raises a counter to
what follows a wait for that rise.
"""

import math
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import pairwise

from hetsim.model.instructions import Flow, Push, Wait, Work, usage_of
from hetsim.model.plan import Plan

Node = int
"""An instruction, numbered through all programs of the plan; above these, a counter that has risen as a whole."""

_MOST_VISITS = 4_000_000
"""Steps of all searches together; after these, seconds, nothing more is found."""


class Order:
    """The programs of a plan as one graph; made by `order_of`.

    Parameters
    ----------
    plan : Plan
        With waits for present iterations only.
    """

    def __init__(self, plan: Plan) -> None:
        self.instructions = [instruction for program in plan.programs for instruction in program.body]
        self.n_iterations = [program.n_iterations for program in plan.programs]
        self.program_of = [index for index, program in enumerate(plan.programs) for _ in program.body]
        self.raised: list[list[Node]] = [[] for _ in plan.counters]
        self.waits: list[list[Node]] = [[] for _ in plan.counters]
        for node, instruction in enumerate(self.instructions):
            for counter in raises(instruction):
                self.raised[counter].append(node)
            if isinstance(instruction, Wait):
                self.waits[instruction.counter].append(node)
        self._n = len(self.instructions)
        self.last_of = [self._find_last(node) for node in range(self._n)]
        self._waits_by_program = [self._by_program(waits) for waits in self.waits]
        self._first = [0]
        for program in plan.programs:
            self._first.append(self._first[-1] + len(program.body))
        self._after = self._edges()
        self._n_visits = 0
        self._cache: dict[tuple[Node, Node, int], bool] = {}
        self.rank: list[int] = []
        self.in_order: list[Node] = []

    def _edges(self) -> list[list[tuple[Node, int]]]:
        after: list[list[tuple[Node, int]]] = [[self.following(node)] for node in range(self._n)]
        after += [[] for _ in self.raised]
        for counter, waits in enumerate(self.waits):
            if waits:
                for node in self.raised[counter]:
                    after[node].append((self._n + counter, 0))
            for wait in waits:
                k = self.last_of[wait]
                source = self._n + counter if k is None else k
                after[source].append(self.following(wait))
        return after

    def following(self, node: Node) -> tuple[Node, int]:
        """Return the next instruction of the same program, and 1 if it is one of the next iteration.

        Parameters
        ----------
        node : Node
            An instruction.

        Returns
        -------
        tuple of (Node, int)
            Node and weight.
        """
        program = self.program_of[node]
        return (node + 1, 0) if node + 1 < self._first[program + 1] else (self._first[program], 1)

    def _find_last(self, node: Node) -> Node | None:
        """Return the last instruction that a wait waits for; None if for all rises of an iteration, or for no wait."""
        instruction = self.instructions[node]
        if not isinstance(instruction, Wait):
            return None
        nodes = self.raised[instruction.counter]
        return None if instruction.base == len(nodes) else nodes[instruction.base - 1]

    def _by_program(self, waits: Sequence[Node]) -> list[list[tuple[Node, float]]]:
        """Return waits for one counter with the last node that each waits for, by the program that waits."""
        groups: dict[int, list[tuple[Node, float]]] = {}
        for wait in waits:
            last = self.last_of[wait]
            groups.setdefault(self.program_of[wait], []).append((wait, math.inf if last is None else last))
        return list(groups.values())

    def ends(self, node: Node) -> list[tuple[Node, int]]:
        """Return what starts only after the end of an activity.

        Parameters
        ----------
        node : Node
            Work or a flow.

        Returns
        -------
        list of (Node, int)
            Nodes and weights.
        """
        instruction = self.instructions[node]
        if not isinstance(instruction, Flow):
            return [self.following(node)]
        found = [
            next((wait for wait, last in group if last >= node), None)
            for counter in dict.fromkeys(instruction.signals)
            for group in self._waits_by_program[counter]
        ]
        return [self.following(wait) for wait in found if wait is not None]

    def is_before(self, node: Node, other: Node, weight: int) -> bool:
        """Return whether an activity always ends before another starts.

        Parameters
        ----------
        node, other : Node
            Activities.
        weight : int
            0 within one iteration, 1 if the other is one of the next iteration.

        Returns
        -------
        bool
            Whether that shows.
        """
        key = (node, other, weight)
        if key not in self._cache:
            self._cache[key] = self.reaches(self.ends(node), [other], weight)
        return self._cache[key]

    def reaches(self, sources: Iterable[tuple[Node, int]], targets: Iterable[Node], most: int) -> bool:
        """Return whether paths from any of the sources lead to all targets.

        Parameters
        ----------
        sources : iterable of (Node, int)
            Nodes and the weight of the way to them.
        targets : iterable of Node
            Instructions.
        most : int
            Greatest weight of a path.

        Returns
        -------
        bool
            Whether all are reached.
        """
        missing = set(targets)
        # Within one iteration a path only climbs in the order of instructions.
        highest = max((self.rank[node] for node in missing), default=0) if most == 0 and self.rank else None
        seen: dict[Node, int] = {}
        queue = deque(sorted(sources, key=lambda source: source[1]))
        while queue and missing:
            node, weight = queue.popleft()
            if weight > most or seen.get(node, most + 1) <= weight:
                continue
            seen[node] = weight
            missing.discard(node)
            self._n_visits += 1
            if self._n_visits > _MOST_VISITS:
                return False
            if highest is not None and node < self._n and self.rank[node] > highest:
                continue
            for other, more in self._after[node]:
                if more:
                    queue.append((other, weight + more))
                else:
                    queue.appendleft((other, weight))
        return not missing

    def sort(self) -> bool:
        """Put the instructions into an order in which each comes after all that it waits for.

        Returns
        -------
        bool
            False if there is none: the programs wait for each other in a circle.
        """
        edges = self._edges_before()
        n_before = [0] * len(edges)
        for targets in edges:
            for target in targets:
                n_before[target] += 1
        ready = deque(node for node, n in enumerate(n_before) if n == 0)
        found: list[Node] = []
        while ready:
            found.append(ready.popleft())
            for target in edges[found[-1]]:
                n_before[target] -= 1
                if n_before[target] == 0:
                    ready.append(target)
        self.rank = [0] * len(edges)
        for rank, node in enumerate(found):
            self.rank[node] = rank
        self.in_order = [node for node in found if node < self._n]
        return len(found) == len(edges)

    def _edges_before(self) -> list[list[Node]]:
        """Return what comes after each node in one iteration; a wait itself comes after what it waits for."""
        edges: list[list[Node]] = [[] for _ in self._after]
        for node in range(self._n):
            following, weight = self.following(node)
            if not weight:
                edges[node].append(following)
        for counter, waits in enumerate(self.waits):
            for wait in waits:
                last = self.last_of[wait]
                edges[self._n + counter if last is None else last].append(wait)
            for node in dict.fromkeys(self.raised[counter] if waits else ()):
                edges[node].append(self._n + counter)
        return edges


def raises(instruction: object) -> Sequence[int]:
    """Return the counters that an instruction raises, one that it raises twice twice.

    Parameters
    ----------
    instruction : Instruction
        Any.

    Returns
    -------
    sequence of int
        Indices.
    """
    if isinstance(instruction, Flow):
        return instruction.signals
    return (instruction.counter,) if isinstance(instruction, Push) else ()


def order_of(plan: Plan) -> Order | None:
    """Return the order of a plan whose programs run without contention, if that shows.

    Parameters
    ----------
    plan : Plan
        Any.

    Returns
    -------
    Order or None
        None where an activity may meet another one, or a wait may end in more than one way.
    """
    if plan.changes or not plan.is_straight or not _waits_for_the_present(plan):
        return None
    order = Order(plan)
    if not order.sort():
        return None
    is_plain = all(_rises_in_order(order, counter) for counter in range(len(plan.counters)))
    return order if is_plain and _takes_turns(plan, order) else None


def _waits_for_the_present(plan: Plan) -> bool:
    """Return whether each wait is for the first rises of the present iteration, some or all of them."""
    n_rises = [0] * len(plan.counters)
    programs: list[dict[int, None]] = [{} for _ in plan.counters]
    for index, program in enumerate(plan.programs):
        for instruction in program.body:
            for counter in raises(instruction):
                n_rises[counter] += 1
                programs[counter][index] = None
    for program in plan.programs:
        for instruction in program.body:
            if not isinstance(instruction, Wait):
                continue
            n = n_rises[instruction.counter]
            raising = programs[instruction.counter]
            if instruction.stride != n or instruction.period != 1 or not 1 <= instruction.base <= n:
                return False
            if instruction.base < n and len(raising) > 1:
                return False
            if any(plan.programs[index].n_iterations != program.n_iterations for index in raising):
                return False
    return True


def _rises_in_order(order: Order, counter: int) -> bool:
    """Return whether a wait for the first rises of a counter is one for certain rises, whatever the durations.

    That is so if no rise that it does not wait for may come before one that it waits for.
    """
    nodes, waits = order.raised[counter], order.waits[counter]
    if not waits:
        return True
    whole: list[Node] = []
    by_last: dict[Node, list[Node]] = {}
    for wait in waits:
        last = order.last_of[wait]
        (whole if last is None else by_last.setdefault(last, [])).append(wait)
    for last, same in by_last.items():
        index = nodes.index(last)
        # A node that raises the counter twice: nothing says which of the two is meant.
        if last in nodes[index + 1 :] or not order.reaches(map(order.following, same), [nodes[index + 1]], 0):
            return False
    waiting = {order.program_of[wait] for wait in whole}
    # A program that itself waits for all of an iteration goes on to the next one after that.
    others = [node for node in dict.fromkeys(nodes) if order.program_of[node] not in waiting]
    is_last = order.n_iterations[order.program_of[nodes[0]]] == 1
    return is_last or (bool(whole) and order.reaches(map(order.following, whole), others, 1))


def _takes_turns(plan: Plan, order: Order) -> bool:
    """Return whether each resource is used by one activity after the other."""
    uses: list[list[Node]] = [[] for _ in plan.resources]
    for node, instruction in enumerate(order.instructions):
        for resource, _ in usage_of(instruction):
            uses[resource].append(node)
    return all(_is_taken_in_turns(order, nodes) for nodes in uses)


def _is_taken_in_turns(order: Order, nodes: list[Node]) -> bool:
    in_turn = sorted(nodes, key=lambda node: order.rank[node])
    if all(order.program_of[node] == order.program_of[nodes[0]] for node in nodes) and all(
        isinstance(order.instructions[node], Work) for node in nodes
    ):
        return True
    if not all(order.is_before(a, b, 0) for a, b in pairwise(in_turn)):
        return False
    return order.n_iterations[order.program_of[nodes[0]]] == 1 or order.is_before(in_turn[-1], in_turn[0], 1)
