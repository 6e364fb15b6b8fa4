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
from hetsim.model.instructions import MOST_ITERATIONS, Push, Work
from hetsim.plan import gossip, ring
from hetsim.plan.asynchronous import keep_within, push_and_apply, share_steps, tell_each_other
from hetsim.plan.collectives import COLLECTIVES
from hetsim.plan.entries import Actor
from hetsim.plan.parameter_server import (
    Holders,
    Servers,
    add_servers,
    apply_all,
    exchange_in_partitions,
    pull_all,
    push_all,
)
from hetsim.plan.placed import compute_work
from hetsim.plan.quorum import push_to_accumulators, take_tokens
from hetsim.plan.rounds import EACH_STEP, Rounds
from hetsim.plan.script import Script
from hetsim.plan.state_server import decided_rounds
from hetsim.units import to_ticks

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
    seed : int
        Of what is drawn here.
    """

    def __init__(self, script: Script, cluster: Cluster, root: Group, *, is_alone: bool = False, seed: int = 0) -> None:
        self._script = script
        self._cluster = cluster
        self._root = root
        self._n_bytes = float(script.placed.job.gradient_bytes)
        self._servers: dict[int, Servers] = {}
        self._found: dict[tuple[int, Form], Holders | None] = {}
        self._is_alone = is_alone and all(isinstance(member, Rank) for member in root.members)
        self._one_flow: set[int] = set()
        self._seed = seed
        self._compression = script.placed.job.compression
        self._rounds: dict[int, Rounds] = {}
        self._find_rounds(root)
        n_before = 0
        for group in _groups(root):
            if group.servers:
                self._servers[id(group)] = add_servers(script, group, n_before)
                n_before += len(self._servers[id(group)].holders)

    def write(self) -> None:
        """Write the whole exchange."""
        root, script = self._root, self._script
        script.sent_frac = 1.0 if self._compression is None else self._compression.sent_frac
        self._compress(root)
        if root.sync == "partial":
            gossip.average_in_parts(script, root, list(ranks_of(root)), self._n_bytes, self._seed)
        elif root.sync in ("async", "ssp"):
            self._write_asynchronous(root)
        elif root.sync == "state-server":
            self._write_decided(root)
        elif root.quorum:
            take_tokens(script, root)
            self._pull(root)
            push_to_accumulators(script, self._cluster, root, self._servers[id(root)])
        elif root.partition_bytes:
            self._write_partitions(root)
        elif root.servers:
            self._up(root, "led", EACH_STEP)
            self._down(root, "led", EACH_STEP)
        else:
            rounds = self._rounds[id(root)]
            form = self._inner_form(root, "led" if root.architecture == "gossip" else "scattered")
            for member in root.members:
                self._up(member, form, rounds)
            self._side_by_side(root, form, self._all_reduce)
            for member in root.members:
                self._down(member, form, rounds)

    def _compress(self, node: Group | Rank) -> None:
        """Let every rank compress what it will send, and restore what it gets where no server does."""
        script, compression = self._script, self._compression
        if compression is None or compression.bytes_per_s == 0.0 or isinstance(node, Rank):
            return
        ticks = to_ticks(self._n_bytes / compression.bytes_per_s)
        for member in node.members:
            self._compress(member)
            if isinstance(member, Rank):
                script.rounds = self._rounds[id(node)]
                work = compute_work(script.objects, script.placed, member.index)
                script.add(member.index, Work(resources=work.resources, ticks=ticks if node.servers else 2 * ticks))
        script.rounds = EACH_STEP

    def _write_asynchronous(self, group: Group) -> None:
        """Let each member of a group exchange by itself."""
        script = self._script
        script.draft.is_asynchronous = True
        if group.architecture != "gossip":
            self._write_served(group)
        elif all(isinstance(member, Rank) for member in group.members):
            gossip.meet_at_random(script, group, list(ranks_of(group)), self._n_bytes)
        else:
            assert isinstance(group.period, int)
            told: list[tuple[Servers, int, int]] = []
            for member in group.members:
                assert isinstance(member, Group)
                counter = script.objects.counter(f"{script.placed.job.name}/updates of group {len(told)}")
                clients = self._write_served(member, counter)
                n_updates = len(clients) * self._rounds[id(member)].n_in(script.placed.job.n_steps)
                told.append((self._servers[id(member)], counter, n_updates))
            edges = gossip.edges_of(group.graph, len(told))
            tell_each_other(script, self._cluster, told, group.period, edges)

    def _write_served(self, group: Group, counter: int | None = None) -> Holders:
        """Let each member of a group push to its servers by itself, and a counter rise with each push."""
        script, servers = self._script, self._servers[id(group)]
        if group.steps == "shared":
            share_steps(script)
        clients = self._clients(group)
        script.rounds = self._rounds[id(group)]
        for client in clients:
            push_and_apply(script, self._cluster, client, servers)
            if counter is not None:
                script.add(client[0], Push(counter))
        if group.sync == "ssp":
            keep_within(script, clients, group.staleness)
        self._pull(group)
        script.rounds = EACH_STEP
        return clients

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

    def _find_rounds(self, group: Group) -> Rounds:
        """Find when a group and those in it exchange: each so many rounds of those in it."""
        inner = [self._find_rounds(member) for member in group.members if isinstance(member, Group)]
        base = max(inner, key=lambda rounds: rounds.period, default=EACH_STEP)
        rounds = base
        if isinstance(group.period, tuple):
            steps = dict(zip(ranks_of(group), group.period, strict=True))
            rounds = Rounds(period=max(group.period), own=tuple(steps[rank] for rank in sorted(steps)))
            self._script.set_steps(rounds.own)
        elif group.sync == "local":
            period = group.period * base.period
            rounds = Rounds(period=period, start=self._root.local_after) if period > 1 else EACH_STEP
        self._rounds[id(group)] = rounds
        return rounds

    def _up(self, node: Group | Rank, form: Form, above: Rounds) -> None:
        """Leave the sum of a node with its holders, for what is around it."""
        if isinstance(node, Rank):
            return
        script, rounds = self._script, self._rounds[id(node)]
        if node.servers:
            servers = self._servers[id(node)]
            clients = self._clients(node)
            script.rounds = rounds
            push_all(script, clients, servers)
            script.rounds = above
            if form == "whole":
                for server, n_bytes in servers.holders[1:]:
                    script.receive(script.send(server, servers.actors[0], n_bytes))
            return
        inner = self._inner_form(node, form)
        for member in node.members:
            self._up(member, inner, rounds)
        self._side_by_side(node, inner, self._scatter if form == "scattered" else self._reduce)

    def _down(self, node: Group | Rank, form: Form, above: Rounds) -> None:
        """Bring what the holders of a node have to all of its ranks."""
        if isinstance(node, Rank):
            return
        if node.servers:
            self._down_from_servers(node, form, above)
            return
        inner = self._inner_form(node, form)
        self._side_by_side(node, inner, self._gather if form == "scattered" else self._broadcast)
        for member in node.members:
            self._down(member, inner, self._rounds[id(node)])

    def _down_from_servers(self, group: Group, form: Form, above: Rounds) -> None:
        script, servers = self._script, self._servers[id(group)]
        script.rounds = above
        if form == "whole":
            for server, n_bytes in servers.holders[1:]:
                script.receive(script.send(servers.actors[0], server, n_bytes))
        script.rounds = self._rounds[id(group)]
        if script.is_early:
            ready = script.barrier(f"servers that are up to date, from {script.name(servers.actors[0])} on")
            for server in servers.actors:
                script.push(server, ready)
            for client, _ in self._clients_of(group):
                script.add(client, ready)
        else:
            apply_all(script, self._cluster, self._actors_below(group), servers)
        self._pull(group)

    def _write_decided(self, root: Group) -> None:
        """Let the ranks exchange when a state server says so; they pull at once, for their next steps."""
        script, servers = self._script, self._servers[id(root)]
        script.rounds = decided_rounds(script, root.margin_s)
        push_all(script, self._clients_of(root), servers)
        apply_all(script, self._cluster, sorted(ranks_of(root)), servers)
        sent_frac, script.sent_frac = script.sent_frac, 1.0
        pull_all(script, self._clients_of(root), servers)
        script.sent_frac = sent_frac
        rounds, ended = script.actor("rounds", servers.hosts[0]), script.barrier("rounds ended")
        for server in servers.actors:
            script.push(server, ended)
            script.set_iterations(server, MOST_ITERATIONS, is_background=True)
        script.add(rounds, ended)
        script.set_iterations(rounds, MOST_ITERATIONS, is_background=True, is_clock=True)

    def _pull(self, group: Group) -> None:
        """Let the members of a group pull before they compute."""
        script = self._script
        is_below, script.is_early = script.is_early, True
        script.rounds = self._rounds[id(group)]
        # Parameters come back whole.
        sent_frac, script.sent_frac = script.sent_frac, 1.0
        pull_all(script, self._clients_of(group), self._servers[id(group)])
        script.sent_frac = sent_frac
        for member in group.members:
            self._down(member, "led", self._rounds[id(group)])
        script.is_early = is_below

    def _clients(self, group: Group) -> Holders:
        """Bring up the sums of the members of a group with servers, and return who has them."""
        for member in group.members:
            self._up(member, "led", self._rounds[id(group)])
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
            self._down(member, "led", EACH_STEP)

    def _side_by_side(self, group: Group, form: Form, exchange: _Exchange) -> None:
        """Let the holders of each position of all members exchange, in the rounds of the group."""
        self._script.rounds = self._rounds[id(group)]
        if len(group.members) == 1:
            return
        for position in zip(*(self._holders(member, form) or () for member in group.members), strict=True):
            exchange(group, [actor for actor, _ in position], position[0][1])

    def _all_reduce(self, group: Group, actors: Sequence[Actor], n_bytes: float) -> None:
        if group.architecture == "gossip":
            gossip.exchange(self._script, group, actors, n_bytes)
        elif self._compression and self._compression.kind == "top-k":
            # Indices differ, so that everybody gathers what each one has.
            n_bytes *= len(actors)
            if not self._is_composite(group, actors, n_bytes, 1):
                ring.one_pass(self._script, actors, n_bytes)
        elif not self._is_composite(group, actors, n_bytes, 2):
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
