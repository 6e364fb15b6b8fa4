"""hetsim: a discrete-event simulator of distributed deep-learning training in heterogeneous datacenters."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hetsim.experiment.api import Comparison, Result, compare, load, run

__version__ = "0.1.0"

__all__ = ["Comparison", "Result", "__version__", "compare", "load", "run"]


def __dir__() -> list[str]:
    """List the public names, which are imported at first use."""
    return list(__all__)


def __getattr__(name: str) -> object:
    """Import the public API at first use: ``import hetsim`` alone loads nothing."""
    if name in __all__:
        from hetsim.experiment import api

        return getattr(api, name)
    raise AttributeError(f"module 'hetsim' has no attribute {name!r}")
