"""The name of a result: a hash of all that decides it."""

import dataclasses
import hashlib
import inspect
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from types import CodeType
from typing import Final

from hetsim.catalog.tables import profiles
from hetsim.contracts import Aggregator
from hetsim.experiment.execute import Setup
from hetsim.lookup import find_plugin
from hetsim.model.job import PolicyChoice
from hetsim.model.transport import IDEAL
from hetsim.model.workload import Model
from hetsim.scenario.policies import FAMILIES

MODEL_VERSION: Final = 3
"""Raised with every change of the model that moves a number."""

_LENGTH: Final = 12


def fingerprint(content: Mapping[str, object], setups: Iterable[Setup]) -> str:
    """Return the fingerprint of a result before it is computed.

    Parameters
    ----------
    content : mapping
        The resolved scenario, and what else was asked; JSON values only.
    setups : iterable of Setup
        What was built of it, for the catalog rows and the policies that it uses.

    Returns
    -------
    str
        Twelve hexadecimal digits of the SHA-256 of the canonical JSON of content, model version, catalog rows, and the
        source of the modules that policies of the user's own are in.
    """
    setups = list(setups)
    rows = {_canonical(row) for setup in setups for row in _catalog_rows(setup)}
    whole: dict[str, object] = {"content": content, "model_version": MODEL_VERSION, "catalog": sorted(rows)}
    if policies := {name: source for setup in setups for name, source in _foreign_policies(setup)}:
        whole["policies"] = policies
    return hashlib.sha256(_canonical(whole).encode()).hexdigest()[:_LENGTH]


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _catalog_rows(setup: Setup) -> Iterable[object]:
    cluster = setup.cluster
    specs = {device.spec for device in cluster.devices} | {host.cpu for host in cluster.hosts}
    yield from (dataclasses.asdict(spec) for spec in specs)
    yield from ([link.bytes_per_s, link.latency_s, link.source] for link in cluster.links)
    yield from (dataclasses.asdict(job.dataset) for job in setup.jobs if job.dataset is not None)
    yield from (repr(job.transport) for job in setup.jobs if job.transport.name != IDEAL.name)
    yield from (repr(job.convergence) for job in setup.jobs if job.convergence is not None)
    models = {job.workload.name for job in setup.jobs if isinstance(job.workload, Model)}
    devices = {spec.name for spec in specs}
    yield from (
        dataclasses.asdict(profile) for profile in profiles() if profile.model in models and profile.device in devices
    )


def _foreign_policies(setup: Setup) -> Iterator[tuple[str, list[str]]]:
    """Yield the policies that are not built in, which the model version does not cover, with their code."""
    for job in setup.jobs:
        for key, family in FAMILIES.items():
            choice = getattr(job, key)
            if isinstance(choice, PolicyChoice) and choice.policy not in family.table:
                found = find_plugin(family.table, choice.policy, family.kind, family.group)
                yield f"{key} {choice.policy}", _code(choice.policy, found)


def _code(name: str, found: object) -> list[str]:
    """Return the source of the modules that a policy is named by and written in, or its code where there is none."""
    function = found.function if isinstance(found, Aggregator) else found
    written_in = getattr(function, "__module__", None) or type(function).__module__
    sources = []
    for module in dict.fromkeys((name.partition(":")[0], written_in)):
        try:
            sources.append(inspect.getsource(sys.modules[module]))
        except (KeyError, OSError, TypeError):
            continue
    code = getattr(function, "__code__", None)
    return sources or ([_digest(code)] if isinstance(code, CodeType) else [])


def _digest(code: CodeType) -> str:
    """Return a digest of what a function does, that of the functions inside it included."""
    inner = [_digest(value) if isinstance(value, CodeType) else repr(value) for value in code.co_consts]
    whole = repr((code.co_code, code.co_names, inner)).encode()
    return hashlib.sha256(whole).hexdigest()
