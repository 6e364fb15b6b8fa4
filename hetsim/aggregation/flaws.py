"""Something that is wrong with a tree of groups, and where."""

from dataclasses import dataclass

Steps = tuple[str | int, ...]
"""Fields and positions from the root of a tree to a node."""


@dataclass(frozen=True, slots=True)
class Flaw:
    """Something that is wrong with a tree.

    Parameters
    ----------
    steps : Steps
        Where, such as ``("members", 1, "servers")``.
    message : str
        What.
    """

    steps: Steps
    message: str

    def __str__(self) -> str:
        return f"{path_of(self.steps)}: {self.message}"


def path_of(steps: Steps) -> str:
    """Return where a node is, as messages say it.

    Parameters
    ----------
    steps : Steps
        From the root.

    Returns
    -------
    str
        A path that begins with ``aggregation``.

    Examples
    --------
    >>> path_of(("members", 1, "servers"))
    'aggregation.members[1].servers'
    """
    return "aggregation" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
