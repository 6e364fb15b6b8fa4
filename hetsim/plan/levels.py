"""The one scheme behind every tree of groups: sums go up level by level, meet at the root, and come down again.

Each node of the tree can leave the sum of its ranks with some holders, who each have a number of its bytes:

- **scattered**: every rank below has its own equal part (reduce-scatter at every level);
- **led**: the servers of a parameter server, or what the first member of a group without servers has;
- **whole**: one holder has all bytes.

A group without servers asks all of its members for the first of these in which they match, and then lets the holders of
the same position of all members exchange among each other. So groups of equal size make Horovod's hierarchical
all-reduce: reduce-scatter inside, all-reduces side by side between ranks of the same local position, gather inside, at
``2 (g - 1) / g S / B_inner + 2 (N - 1) / N S / B_outer`` where the g ranks of a group share the outer link; and groups
of unequal size its fall-back: reduce to the local root, all-reduce among roots, broadcast
(horovod/common/ops/nccl_operations.cc). A group with servers takes its members' sums led: one push for each machine,
whatever is inside, as ``distributed_replicated`` of tf_cnn_benchmarks does (performance_models.md).

Whatever lies below a parameter server comes down at the start of the next step, when ranks pull; the rest comes down at
the end of the same one.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, Literal

from hetsim.model.aggregation import Group, Rank, ranks_of
from hetsim.model.cluster import Cluster
from hetsim.plan import ring
from hetsim.plan.collectives import COLLECTIVES
from hetsim.plan.parameter_server import (
    Holders,
    Servers,
    add_servers,
    apply_all,
    exchange_in_partitions,
    pull_all,
    push_all,
)
from hetsim.plan.script import Actor, Script

Form = Literal["scattered", "led", "whole"]

_FORMS: Final[tuple[Form, ...]] = ("scattered", "led", "whole")

_Exchange = Callable[[Group, Sequence[Actor], float], None]


class Levels:
    """Writes the exchange of one tree into a script.

    Parameters
    ----------
    script : Script
        Of the job.
    cluster : Cluster
        Where it runs.
    root : Group
        Simplified: only a group with servers may have one member.
    is_alone : bool
        Whether there is no other job.
    """

    def __init__(self, script: Script, cluster: Cluster, root: Group, *, is_alone: bool = False) -> None:
        self._script = script
        self._cluster = cluster
        self._root = root
        self._n_bytes = float(script.placed.job.gradient_bytes)
        self._servers: dict[int, Servers] = {}
        self._found: dict[tuple[int, Form], Holders | None] = {}
        self._is_alone = is_alone and all(isinstance(member, Rank) for member in root.members)
        self._one_flow: set[int] = set()
        n_before = 0
        for group in _groups(root):
            if group.servers:
                self._servers[id(group)] = add_servers(script, group, n_before)
                n_before += len(self._servers[id(group)].holders)

    def write(self) -> None:
        """Write the whole exchange."""
        root = self._root
        if root.partition_bytes:
            self._write_partitions(root)
        elif root.servers:
            self._up(root, "led")
            self._down(root, "led")
        else:
            form = self._inner_form(root, "scattered")
            for member in root.members:
                self._up(member, form)
            self._side_by_side(root, form, self._all_reduce)
            for member in root.members:
                self._down(member, form)

    def is_one_flow(self, group: Group) -> bool:
        """Return whether a group's exchange was written as one flow.

        Parameters
        ----------
        group : Group
            Of the tree.

        Returns
        -------
        bool
            For the record of what was decided.
        """
        return id(group) in self._one_flow

    def form_of(self, group: Group) -> Form:
        """Return in which form the members of the root leave their sums.

        Parameters
        ----------
        group : Group
            The root.

        Returns
        -------
        {"scattered", "led", "whole"}
            For the record of what was decided.
        """
        return "led" if group.servers else self._inner_form(group, "scattered")

    def _holders(self, node: Group | Rank, form: Form) -> Holders | None:
        """Return who has the sum of a node; None where the node cannot leave it in this form."""
        if isinstance(node, Rank):
            return ((node.index, self._n_bytes),)
        key = (id(node), form)
        if key not in self._found:
            self._found[key] = self._find_holders(node, form)
        return self._found[key]

    def _find_holders(self, node: Group, form: Form) -> Holders | None:
        if node.servers:
            holders = self._servers[id(node)].holders
            return ((holders[0][0], self._n_bytes),) if form == "whole" else holders
        inner = self._inner_form(node, form)
        n = len(node.members)
        if form != "scattered":
            return self._holders(node.members[0], inner)
        if inner != "scattered" or not COLLECTIVES[node.architecture].can_scatter(n):
            return None
        members = [self._holders(member, inner) or () for member in node.members]
        return tuple((actor, n_bytes / n) for member in members for actor, n_bytes in member)

    def _inner_form(self, group: Group, form: Form) -> Form:
        """Return the first form, from this one on, in which the members of a group match."""
        for inner in _FORMS[_FORMS.index(form) : -1]:
            holders = [self._holders(member, inner) for member in group.members]
            if all(holders) and len({_sizes(each) for each in holders}) == 1:
                return inner
        return "whole"

    def _up(self, node: Group | Rank, form: Form) -> None:
        """Leave the sum of a node with its holders."""
        if isinstance(node, Rank):
            return
        if node.servers:
            servers = self._servers[id(node)]
            push_all(self._script, self._clients(node), servers)
            if form == "whole":
                for server, n_bytes in servers.holders[1:]:
                    self._script.receive(self._script.send(server, servers.actors[0], n_bytes))
            return
        inner = self._inner_form(node, form)
        for member in node.members:
            self._up(member, inner)
        self._side_by_side(node, inner, self._scatter if form == "scattered" else self._reduce)

    def _down(self, node: Group | Rank, form: Form) -> None:
        """Bring what the holders of a node have to all of its ranks."""
        if isinstance(node, Rank):
            return
        if node.servers:
            self._down_from_servers(node, form)
            return
        inner = self._inner_form(node, form)
        self._side_by_side(node, inner, self._gather if form == "scattered" else self._broadcast)
        for member in node.members:
            self._down(member, inner)

    def _down_from_servers(self, group: Group, form: Form) -> None:
        script, servers = self._script, self._servers[id(group)]
        if form == "whole":
            for server, n_bytes in servers.holders[1:]:
                script.receive(script.send(servers.actors[0], server, n_bytes))
        is_below = script.is_early
        clients = self._clients_of(group)
        if is_below:
            ready = script.barrier(f"servers that are up to date, from {script.name(servers.actors[0])} on")
            for server in servers.actors:
                script.push(server, ready)
            for client, _ in clients:
                script.add(client, ready)
        else:
            apply_all(script, self._cluster, self._actors_below(group), servers)
        script.is_early = True
        pull_all(script, clients, servers)
        for member in group.members:
            self._down(member, "led")
        script.is_early = is_below

    def _clients(self, group: Group) -> Holders:
        """Bring up the sums of the members of a group with servers, and return who has them."""
        for member in group.members:
            self._up(member, "led")
        return self._clients_of(group)

    def _clients_of(self, group: Group) -> Holders:
        return tuple(holder for member in group.members for holder in self._holders(member, "led") or ())

    def _actors_below(self, group: Group) -> list[Actor]:
        """Return the ranks of a group, then the servers of the groups below it."""
        below = [inner for member in group.members if isinstance(member, Group) for inner in _groups(member)]
        servers = [actor for inner in below if inner.servers for actor in self._servers[id(inner)].actors]
        return [*sorted(ranks_of(group)), *servers]

    def _write_partitions(self, root: Group) -> None:
        clients = self._clients(root)
        exchange_in_partitions(self._script, self._cluster, clients, self._servers[id(root)], root.partition_bytes)
        for member in root.members:
            self._down(member, "led")

    def _side_by_side(self, group: Group, form: Form, exchange: _Exchange) -> None:
        """Let the holders of each position of all members exchange."""
        for position in zip(*(self._holders(member, form) or () for member in group.members), strict=True):
            exchange(group, [actor for actor, _ in position], position[0][1])

    def _all_reduce(self, group: Group, actors: Sequence[Actor], n_bytes: float) -> None:
        if not self._is_composite(group, actors, n_bytes, 2):
            COLLECTIVES[group.architecture].all_reduce(self._script, actors, n_bytes)

    def _scatter(self, group: Group, actors: Sequence[Actor], n_bytes: float) -> None:
        if not self._is_composite(group, actors, n_bytes, 1):
            COLLECTIVES[group.architecture].scatter(self._script, actors, n_bytes)

    def _gather(self, group: Group, actors: Sequence[Actor], n_bytes: float) -> None:
        if not self._is_composite(group, actors, n_bytes, 1):
            COLLECTIVES[group.architecture].gather(self._script, actors, n_bytes)

    def _reduce(self, group: Group, actors: Sequence[Actor], n_bytes: float) -> None:
        COLLECTIVES[group.architecture].reduce(self._script, actors, n_bytes)

    def _broadcast(self, group: Group, actors: Sequence[Actor], n_bytes: float) -> None:
        COLLECTIVES[group.architecture].broadcast(self._script, actors, n_bytes)

    def _is_composite(self, group: Group, actors: Sequence[Actor], n_bytes: float, n_passes: int) -> bool:
        """Write an exchange as one flow where that is wanted, and return whether it was."""
        if group.architecture != "ring":
            return False
        if not ring.is_composite(self._script, group, actors, is_alone=self._is_alone):
            return False
        self._one_flow.add(id(group))
        ring.composite(self._script, actors, n_bytes, n_passes)
        return True


def _sizes(holders: Holders | None) -> tuple[float, ...]:
    return tuple(n_bytes for _, n_bytes in holders or ())


def _groups(node: Group | Rank) -> Iterator[Group]:
    """Yield the groups of a tree, a group before those in it."""
    if isinstance(node, Group):
        yield node
        for member in node.members:
            yield from _groups(member)
