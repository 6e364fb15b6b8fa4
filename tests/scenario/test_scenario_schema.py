import json
import re

import yaml

from hetsim.placement.table import POLICIES
from hetsim.scenario.fields import Section
from hetsim.scenario.jsonschema import schema
from hetsim.scenario.messages import models_in
from hetsim.scenario.schema import ScenarioFile
from hetsim.scenario.starter import starter
from hetsim.scenario.tables import names


def resolve(node, root):
    while "$ref" in node:
        node = root["$defs"][node["$ref"].rsplit("/", 1)[1]]
    return node


def fits(value, node, root):
    """A small validator of the keywords that our schema uses; the name of a plain type is enough for scalars."""
    node = resolve(node, root)
    if "anyOf" in node:
        return any(fits(value, option, root) for option in node["anyOf"])
    kinds = {"object": dict, "array": list, "string": str, "integer": int, "number": int | float, "null": type(None)}
    is_right_kind = "type" not in node or isinstance(value, kinds[node["type"]])
    is_matching = "pattern" not in node or (isinstance(value, str) and re.search(node["pattern"], value))
    if not is_right_kind or not is_matching or node.get("const", value) != value:
        return False
    if isinstance(value, list):
        return all(fits(item, node.get("items", {}), root) for item in value)
    if isinstance(value, dict):
        properties, extra = node.get("properties", {}), node.get("additionalProperties", {})
        return set(node.get("required", ())) <= value.keys() and all(
            fits(item, properties.get(key, extra), root) if key in properties or extra is not False else False
            for key, item in value.items()
        )
    return True


def test_the_starter_fits_the_schema():
    document = yaml.safe_load(starter())
    assert fits(document, schema(), schema())


def test_misspelt_keys_and_bare_numbers_do_not_fit():
    for old, new in (("memory: 61 GiB", "memory: 61"), ("batch:", "bach:"), ("kind: star", "kind: 3")):
        assert not fits(yaml.safe_load(starter().replace(old, new)), schema(), schema())


def test_it_is_json_of_the_draft_it_names_and_lists_names():
    described = json.loads(json.dumps(schema()))
    assert described["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    job = described["$defs"]["JobSection"]["properties"]
    assert job["placement"]["properties"]["policy"]["examples"] == list(POLICIES)
    assert described["$defs"]["CatalogDevice"]["properties"]["type"]["examples"] == list(names("device"))


def test_the_starter_names_every_top_level_key_that_a_newcomer_needs():
    assert set(yaml.safe_load(starter())) == set(ScenarioFile.model_fields) - {"description", "engine", "measured"}


def test_every_section_is_strict_and_frozen():
    sections = {Section, *models_in(ScenarioFile)}
    assert all(section.model_config["strict"] and section.model_config["frozen"] for section in sections)
