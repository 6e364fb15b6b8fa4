import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from hetsim import lookup
from hetsim.errors import PolicyError, UnknownNameError, clipped
from hetsim.lookup import ask, did_you_mean, find_plugin, said, unknown


@pytest.mark.parametrize(
    ("written", "choices", "meant"),
    [
        ("resnet5", ["vgg16", "resnet50"], "resnet50"),
        ("round_robin", ["random", "round-robin"], "round-robin"),
        ("ring-allreduce", ["parameter-server", "ring"], "ring"),
        ("infrastructure", ["random", "infrastructure-aware"], "infrastructure-aware"),
        ("TensorFlow", ["random", "default-tensorflow"], "default-tensorflow"),
        ("V100-SXM2-16GB", ["K80", "V100"], "V100"),
        ("no", ["none-at-all", "star"], ""),
        ("restringable", ["ring"], ""),
        ("", ["ring"], ""),
        ("x" * 10**6, ["ring"], ""),
    ],
)
def test_what_was_meant(written: str, choices: list[str], meant: str) -> None:
    assert did_you_mean(written, choices) == (f"; did you mean {meant!r}?" if meant else "")


def test_a_long_name_is_not_repeated() -> None:
    assert len(unknown("model", "x" * 10**6, ["resnet50"])) < 120
    assert clipped("x" * 60) == "x" * 60
    assert clipped("x" * 61) == "x" * 60 + "..."


def ring() -> None:
    """Combine gradients by ring all-reduce."""


@pytest.mark.parametrize(("written", "hint"), [("allreduce", "; did you mean 'ring'?"), ("nothing", ".")])
def test_a_name_that_only_the_description_holds(written: str, hint: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        find_plugin({"ring": ring}, written, "policy", "hetsim.none")
    assert str(caught.value) == f"no policy {written!r}{hint} Known: ring"


BROKEN = {
    "syntax": ("def f(:\n", "SyntaxError: invalid syntax ({file}, line 1)"),
    "runtime": ("\nraise RuntimeError('at import')\n", "RuntimeError: at import ({file}, line 2)"),
    "zero": ("1 / 0\n", "ZeroDivisionError: division by zero ({file}, line 1)"),
    "exit": ("import sys\nsys.exit(7)\n", "SystemExit: 7 ({file}, line 2)"),
    "missing": ("import no_such_thing\n", "ModuleNotFoundError: No module named 'no_such_thing' ({file}, line 1)"),
    "silent": ("class Odd(Exception):\n    def __str__(self): return 1 / 0\nraise Odd\n", "<exception str() failed> ("),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_module_that_cannot_be_loaded_says_why_and_where(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, why = BROKEN[kind]
    file = tmp_path / f"hetsim_broken_{kind}.py"
    file.write_text(source, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UnknownNameError) as caught:
        find_plugin({}, f"{file.stem}:f", "policy", "hetsim.none")
    assert why.format(file=file) in str(caught.value)
    sys.modules.pop(file.stem, None)


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("no_such_module:f", "No module named 'no_such_module'"),
        ("json:no_such_thing", "module 'json' has no attribute 'no_such_thing'"),
        (".:f", "write it as package.module:function"),
        (":f", "write it as package.module:function"),
        ("json:", "write it as package.module:function"),
        ("json:a:b", "write it as package.module:function"),
        ("a\0:b", "write it as package.module:function"),
    ],
)
def test_a_path_that_leads_nowhere(path: str, why: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        find_plugin({}, path, "policy", "hetsim.none")
    assert str(caught.value) == f"no policy at {path!r}: {why}"


def test_an_entry_point_that_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint(name="theirs", value="no_such_module:f", group="hetsim.some")
    monkeypatch.setattr(lookup, "entry_points", lambda group: [point])
    with pytest.raises(UnknownNameError, match="no policy at 'theirs': No module named 'no_such_module'"):
        find_plugin({}, "theirs", "policy", "hetsim.some")


def leaves(view: object) -> object:
    sys.exit(3)


def complains(view: object) -> object:
    raise ValueError("x" * 10**6)


def interrupted(view: object) -> object:
    raise KeyboardInterrupt


def grows(view: object, *, names: list[str]) -> list[str]:
    names.append("more")
    return names


@pytest.mark.parametrize(("function", "rule"), [(leaves, "raised SystemExit: 3"), (complains, "raised ValueError: xx")])
def test_whatever_a_policy_does_wrong_is_its_own(function: Callable[..., object], rule: str) -> None:
    with pytest.raises(PolicyError) as caught:
        ask(function, None, {}, names=("mine", "train"), kind=list)
    assert caught.value.rule.startswith(rule)
    assert len(caught.value.rule) < 400


def test_an_interrupt_is_not_the_policys() -> None:
    with pytest.raises(KeyboardInterrupt):
        ask(interrupted, None, {}, names=("mine", "train"), kind=list)


def test_a_policy_cannot_change_its_parameters() -> None:
    parameters = {"names": ["one"]}
    for _ in range(2):
        assert ask(grows, None, parameters, names=("mine", "train"), kind=list) == ["one", "more"]
    assert parameters == {"names": ["one"]}


def test_an_error_without_a_text() -> None:
    assert said(RuntimeError()) == "RuntimeError"
