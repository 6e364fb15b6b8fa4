"""What a scenario can name, with one line about each."""

from collections.abc import Callable, Mapping

from hetsim.aggregation.table import POLICIES as AGGREGATIONS
from hetsim.catalog.convergence import descriptions as convergence_descriptions
from hetsim.catalog.meshes import descriptions as mesh_descriptions
from hetsim.catalog.tables import descriptions, profiles
from hetsim.catalog.transports import descriptions as transport_descriptions
from hetsim.metrics.table import METRICS
from hetsim.network.topologies import TOPOLOGIES
from hetsim.placement.table import POLICIES as PLACEMENTS
from hetsim.scenario.load import load, shipped
from hetsim.workload.table import MODELS


def listing() -> dict[str, Callable[[], Mapping[str, str]]]:
    """Return what can be listed.

    Returns
    -------
    dict of str to callable
        By kind: a function that returns the one-line description of each name.
    """
    return {
        "devices": lambda: descriptions("device"),
        "links": lambda: descriptions("link"),
        "meshes": mesh_descriptions,
        "models": lambda: {name: entry.description for name, entry in MODELS.items()},
        "transports": transport_descriptions,
        "datasets": lambda: descriptions("dataset"),
        "profiles": _profiles,
        "convergence": convergence_descriptions,
        "placements": lambda: {name: _first_line(policy) for name, policy in PLACEMENTS.items()},
        "aggregations": lambda: {name: _first_line(entry.function) for name, entry in AGGREGATIONS.items()},
        "metrics": lambda: {name: _first_line(metric.function) for name, metric in METRICS.items()},
        "topologies": lambda: {name: _first_line(topology) for name, topology in TOPOLOGIES.items()},
        "scenarios": lambda: {name: load(path).description for name, path in shipped().items()},
    }


def _profiles() -> dict[str, str]:
    """Return the measured step times: of which model on which device, for which batches."""
    listed = {}
    for profile in profiles():
        pixels, low, high = profile.input_pixels, profile.min_batch, profile.max_batch
        batches = f"batch {low}" if low == high else f"batch {low} to {high}"
        forward = profile.forward_base_s + high * profile.forward_per_sample_s
        step_s = forward + profile.backward_base_s + high * profile.backward_per_sample_s
        speed = f"{high / step_s:.0f} samples/s at {high}"
        listed[f"{profile.device}/{profile.model}"] = f"{pixels} px, {batches}, {speed}; {_origin(profile.source)}"
    return listed


def _origin(source: str) -> str:
    return source if len(source) <= 60 else f"{source[:57]}..."


def _first_line(documented: object) -> str:
    return (documented.__doc__ or "").strip().partition("\n")[0]
