"""The name of a result: a hash of all that decides it."""

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Final

from hetsim.catalog.tables import profiles
from hetsim.experiment.execute import Setup
from hetsim.model.workload import Model

MODEL_VERSION: Final = 1
"""Raised with every change of the model that moves a number."""

_LENGTH: Final = 12


def fingerprint(content: Mapping[str, object], setups: Iterable[Setup]) -> str:
    """Return the fingerprint of a result before it is computed.

    Parameters
    ----------
    content : mapping
        The resolved scenario, and what else was asked; JSON values only.
    setups : iterable of Setup
        What was built of it, for the catalog rows that it uses.

    Returns
    -------
    str
        Twelve hexadecimal digits of the SHA-256 of the canonical JSON of content, model version and catalog rows.
    """
    rows = {_canonical(row) for setup in setups for row in _catalog_rows(setup)}
    whole = {"content": content, "model_version": MODEL_VERSION, "catalog": sorted(rows)}
    return hashlib.sha256(_canonical(whole).encode()).hexdigest()[:_LENGTH]


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _catalog_rows(setup: Setup) -> Iterable[object]:
    cluster = setup.cluster
    specs = {device.spec for device in cluster.devices} | {host.cpu for host in cluster.hosts}
    yield from (dataclasses.asdict(spec) for spec in specs)
    yield from ([link.bytes_per_s, link.latency_s, link.source] for link in cluster.links)
    yield from (dataclasses.asdict(job.dataset) for job in setup.jobs if job.dataset is not None)
    models = {job.workload.name for job in setup.jobs if isinstance(job.workload, Model)}
    devices = {spec.name for spec in specs}
    yield from (
        dataclasses.asdict(profile) for profile in profiles() if profile.model in models and profile.device in devices
    )
