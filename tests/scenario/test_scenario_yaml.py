import math

import pytest

from hetsim.scenario.tree import Place, find, place_of, to_python
from hetsim.scenario.yaml_source import read, scalar


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e9", 1e9),
        ("1.5", 1.5),
        (".5", 0.5),
        ("-3", -3),
        ("0o17", 15),
        ("0x1F", 31),
        ("017", 17),
        ("no", "no"),
        ("yes", "yes"),
        ("on", "on"),
        ("off", "off"),
        ("1:30", "1:30"),
        ("1_000", "1_000"),
        ("2024-01-01", "2024-01-01"),
        ("true", True),
        ("FALSE", False),
        ("~", None),
        ("-.inf", -math.inf),
        ("9" * 500, math.inf),
    ],
)
def test_plain_scalars_follow_the_core_schema(text, value):
    assert scalar(text) == value
    assert type(scalar(text)) is type(value)


def test_nan_is_nan():
    assert math.isnan(scalar(".nan"))


def test_quoted_scalars_are_text():
    node, problems = read("a: '1'\nb: \"true\"\n", "f")
    assert (to_python(node), problems) == ({"a": "1", "b": "true"}, [])


def test_every_key_and_value_has_its_place():
    node, _ = read("a:\n  - b: 1\n    c:   2\n", "f")
    assert place_of(node, ("a", 0, "c")) == Place(file="f", line=3, column=10)
    assert place_of(node, ("a", 0, "c"), key=True) == Place(file="f", line=3, column=5)
    assert place_of(node, ("a", 0, "missing")) == Place(file="f", line=2, column=5)


def test_merge_keys_give_way_to_the_mapping_itself():
    node, problems = read("x: &x {a: 1, b: 2}\ny: {b: 3, <<: *x}\nz: {<<: [*x, {c: 4}]}\n", "f")
    assert problems == []
    assert to_python(find(node, ("y",))) == {"b": 3, "a": 1}
    assert to_python(find(node, ("z",))) == {"c": 4, "a": 1, "b": 2}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: &a [*a]", "the alias *a names no anchor before it"),
        ("a: {<<: 3}", "a merge key takes a mapping, or a list of mappings"),
        ("[" * 80 + "]" * 80, "nested more than 64 levels deep"),
        ("a: \x01", "not valid YAML: control characters are not allowed"),
    ],
)
def test_what_cannot_be_read_is_a_problem(text, message):
    _, problems = read(text, "f")
    assert [problem.message for problem in problems] == [message]
