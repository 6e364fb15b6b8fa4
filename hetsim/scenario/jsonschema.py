"""The JSON schema of scenario files, for editors and other programs."""

from typing import Any

from hetsim.scenario.policies import FAMILIES
from hetsim.scenario.schema import ScenarioFile


def schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) that describes a scenario file.

    It describes the fields one by one; what holds between fields is checked by `load`.

    Returns
    -------
    dict
        JSON-able. Quantities are texts with a unit; names of the catalog and of policies are examples, since both grow.
    """
    described = ScenarioFile.model_json_schema(mode="validation", by_alias=False)
    job = described["$defs"]["JobSection"]["properties"]
    for key, family in FAMILIES.items():
        job[key] = {
            "type": "object",
            "description": f"A {family.kind} by name, or pkg.mod:object, with its parameters beside it.",
            "properties": {"policy": {"type": "string", "examples": list(family.table)}},
            "required": ["policy"],
        }
    described["$defs"].pop("PolicySection", None)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **_with_any_of(described),
        "title": "hetsim scenario",
    }


def _with_any_of(node: Any) -> Any:
    """Replace ``oneOf``: a text such as ``10 Gbit/s`` is a rate and, but for the catalog, could be a name."""
    if isinstance(node, dict):
        return {"anyOf" if key == "oneOf" else key: _with_any_of(value) for key, value in node.items()}
    return [_with_any_of(item) for item in node] if isinstance(node, list) else node
