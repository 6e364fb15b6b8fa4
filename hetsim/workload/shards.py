"""How the parameters of a job are shared among its servers."""

from collections.abc import Sequence
from itertools import cycle

from hetsim.model.aggregation import Group, Sharding
from hetsim.model.workload import Variable


def shard_bytes(
    variables: Sequence[Variable], n_servers: int, sharding: Sharding | tuple[float, ...]
) -> tuple[float, ...]:
    """Return the bytes of parameters on each server.

    Parameters
    ----------
    variables : sequence of Variable
        In creation order.
    n_servers : int
        Servers.
    sharding : {"round-robin", "even"} or tuple of float, shape (n_servers,)
        Variable j on server ``j mod n_servers`` (tensorflow/python/training/device_setter.py), equal shares, or these.

    Returns
    -------
    tuple of float, shape (n_servers,)
        Bytes.

    Examples
    --------
    >>> shard_bytes([Variable("a", 10), Variable("b", 1), Variable("c", 2)], 2, "round-robin")
    (48.0, 4.0)
    >>> shard_bytes([Variable("a", 10)], 2, (0.25, 0.75))
    (10.0, 30.0)
    """
    n_bytes = sum(variable.n_bytes for variable in variables)
    if isinstance(sharding, tuple):
        return tuple(n_bytes * share for share in sharding)
    if sharding == "even":
        return (n_bytes / n_servers,) * n_servers
    held = [0.0] * n_servers
    for variable, server in zip(variables, cycle(range(n_servers)), strict=False):
        held[server] += variable.n_bytes
    return tuple(held)


def shard_bytes_of(tree: Group, variables: Sequence[Variable], n_servers: int) -> tuple[float, ...]:
    """Return the bytes of parameters on each server of a tree whose hosts are not chosen yet.

    Parameters
    ----------
    tree : Group
        Its servers are numbers of the job's servers, from zero, as texts.
    variables : sequence of Variable
        In creation order.
    n_servers : int
        Servers of the job.

    Returns
    -------
    tuple of float, shape (n_servers,)
        Bytes; all groups that have servers hold all parameters, so a server of two groups holds the shares of both.

    Examples
    --------
    >>> inner = Group(members=(), architecture="parameter-server", servers=("0",))
    >>> tree = Group(members=(inner,), architecture="parameter-server", servers=("1", "2"), sharding="even")
    >>> shard_bytes_of(tree, [Variable("a", 10)], 3)
    (40.0, 20.0, 20.0)
    """
    held = [0.0] * n_servers
    shares = shard_bytes(variables, len(tree.servers), tree.sharding) if tree.servers else ()
    for server, n_bytes in zip(tree.servers, shares, strict=True):
        held[int(server)] += n_bytes
    for member in tree.members:
        if isinstance(member, Group):
            inner = shard_bytes_of(member, variables, n_servers)
            held = [n_bytes + more for n_bytes, more in zip(held, inner, strict=True)]
    return tuple(held)
