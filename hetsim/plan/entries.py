"""What a script is made of."""

from dataclasses import dataclass, field

from hetsim.model.instructions import Choose, Instruction, Take
from hetsim.network.transports import Role
from hetsim.plan.objects import Objects
from hetsim.plan.placed import PlacedJob
from hetsim.plan.rounds import Rounds
from hetsim.plan.sending import Sender, Sending

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
    rounds : Rounds
        When it is sent.
    number : int
        Among the messages of its way in one round, from one; given when the script is complete.
    """

    source: Actor
    target: Actor
    n_bytes: float
    role: Role
    rounds: Rounds
    number: int = 0

    @property
    def way(self) -> "Way":
        """From whom, to whom and when."""
        return (self.source, self.target, self.rounds)


@dataclass(slots=True, eq=False)
class Barrier:
    """A counter that rises a fixed number of times in an iteration, and is waited for as a whole.

    Parameters
    ----------
    counter : int
        Its index in the plan.
    n_signals : int
        Times that it rises in a round.
    """

    counter: int
    n_signals: int = 0


@dataclass(frozen=True, slots=True)
class Clock:
    """Wait until another actor is no more than so many rounds behind.

    Parameters
    ----------
    counter : int
        Rounds that it has ended.
    behind : int
        The bound.
    """

    counter: int
    behind: int


@dataclass(frozen=True, slots=True)
class Transfer:
    """Start a transfer by itself, and raise counters at its end.

    Parameters
    ----------
    way : tuple of (Actor, Actor)
        Source and target.
    n_bytes : float
        Payload.
    signals : tuple of int
        The counters.
    """

    way: tuple[Actor, Actor]
    n_bytes: float
    signals: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Arrival:
    """Wait until a message has arrived.

    Parameters
    ----------
    message : Message
        Which.
    """

    message: Message


@dataclass(frozen=True, slots=True)
class Choice:
    """Do one of some transfers, by a draw.

    Parameters
    ----------
    choose : Choose
        How.
    transfers : tuple of Transfer
        Of them.
    """

    choose: Choose
    transfers: tuple[Transfer, ...]


Entry = Instruction | Message | Arrival | Transfer | Choice | Barrier | Clock
Way = tuple[Actor, Actor, Rounds]


@dataclass(slots=True)
class Body:
    """What an actor does.

    Parameters
    ----------
    early, late : list of (Rounds, Entry)
        Before and after its work, each with when.
    n_iterations : int or None
        None for as many as there are rounds.
    is_background : bool
        Whether nobody waits for its end.
    is_clock : bool
        Whether the ends of its iterations are the updates of the parameters.
    """

    early: list[tuple[Rounds, Entry]] = field(default_factory=list)
    late: list[tuple[Rounds, Entry]] = field(default_factory=list)
    n_iterations: int | None = None
    is_background: bool = False
    is_clock: bool = False


@dataclass(slots=True, kw_only=True)
class Draft:
    """All that a script says.

    Parameters
    ----------
    objects : Objects
        Of the plan.
    placed : PlacedJob
        The job.
    sender : Sender
        Of its messages.
    names, nodes : list of str
        Of the actors.
    bodies : list of Body
        What each does.
    n_steps : list of int, shape (n_ranks,)
        Of each rank.
    members : dict of Actor to tuple of int
        Ranks whose communication the flows of a collective are.
    take : Take or None
        What every rank takes before each step.
    is_cut_off : bool
        Whether the job ends without waiting for its ranks.
    is_asynchronous : bool
        Whether ranks go on without waiting for all others.
    """

    objects: Objects
    placed: PlacedJob
    sender: Sender
    names: list[str]
    nodes: list[str]
    bodies: list[Body]
    n_steps: list[int]
    members: dict[Actor, tuple[int, ...]] = field(default_factory=dict)
    take: Take | None = None
    is_cut_off: bool = False
    is_asynchronous: bool = False

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
        return self.names[actor].removeprefix(f"{self.placed.job.name}/")

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
        return self.sender.sending(self.nodes[source], self.nodes[target], n_bytes, role)

    def queue_bytes(self, source: Actor, target: Actor) -> float:
        """Return how much of a message waits on its way while its sender goes on.

        Parameters
        ----------
        source, target : Actor
            From and to whom.

        Returns
        -------
        float
            Payload, in bytes.
        """
        return self.objects.queue_bytes(self.nodes[source], self.nodes[target])
