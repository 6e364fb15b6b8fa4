"""The layers of the package, read from its imports; what lives where; what each table must list."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "hetsim"

LAYERS = (
    ("errors",),
    ("units", "lookup"),
    ("kernels",),
    ("model",),
    ("contracts",),
    ("catalog",),
    ("network", "workload", "metrics"),
    ("placement", "aggregation", "queueing"),
    ("plan",),
    ("engine",),
    ("scenario",),
    ("experiment",),
    ("sweep", "validation"),
    ("report",),
    ("commands",),
    ("__main__", "pytest_plugin"),
)
"""Bottom first: a part imports parts of earlier rows, and itself; kernels imports nothing of hetsim."""

ROW = {part: row for row, parts in enumerate(LAYERS) for part in parts}

HOMES = {
    "numpy": set(ROW) - {"errors", "units", "lookup"},
    "numba": {"kernels"},
    "platformdirs": {"kernels"},
    "simpy": {"engine"},
    "networkx": {"network"},
    "pydantic": {"scenario"},
    "pydantic_core": {"scenario"},
    "yaml": {"scenario"},
    "scipy": {"catalog", "experiment", "validation"},
    "pandas": {"experiment", "report"},
    "matplotlib": {"report"},
    "tabulate": {"report"},
    "click": {"commands", "__main__"},
    "pytest": {"pytest_plugin"},
}
"""Where each dependency may be imported; no other may be."""

PUBLIC_FROM = ROW["experiment"]
"""From this row up, the package itself may be imported, for its version."""

MODULES = sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and dotted name of everything imported, wherever in the module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                yield node.lineno, "." * node.level + (node.module or "")
            elif node.module == "hetsim":
                yield from ((node.lineno, f"hetsim.{alias.name}") for alias in node.names)
            else:
                yield node.lineno, node.module or ""


def problems(name: str, source: str) -> list[str]:
    """Return what a module imports that it must not."""
    part = name.split(".")[1]
    found = []
    for line, target in imported(ast.parse(source)):
        top, _, rest = target.partition(".")
        if not top:
            found.append(f"{name}:{line}: relative import {target}")
        elif top == "hetsim":
            found += [f"{name}:{line}: {part} imports {target}"] * (not _may_import(part, rest.partition(".")[0]))
        elif top not in sys.stdlib_module_names and part not in HOMES.get(top, ()):
            found.append(f"{name}:{line}: {top} does not belong in {part}")
    return found


def _may_import(part: str, other: str) -> bool:
    if other not in ROW:  # the package itself
        return other in {"", "__version__"} and ROW[part] >= PUBLIC_FROM
    if other == part:
        return True
    return part != "kernels" and ROW[other] < ROW[part]


def test_every_part_has_a_row() -> None:
    parts = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in MODULES} - {"__init__"}
    assert parts <= set(ROW)
    assert {"kernels", "model", "placement", "aggregation"} <= parts


@pytest.mark.parametrize("path", [path for path in MODULES if path != PACKAGE / "__init__.py"], ids=name_of)
def test_imports_point_down(path: Path) -> None:
    assert problems(name_of(path), path.read_text("utf-8")) == []


@pytest.mark.parametrize(
    ("name", "source", "problem"),
    [
        ("hetsim.model.job", "from hetsim.plan.lower import lower", "model imports hetsim.plan.lower"),
        ("hetsim.placement.view", "import hetsim.aggregation.view", "placement imports hetsim.aggregation.view"),
        ("hetsim.kernels.draws", "from hetsim.errors import HetsimError", "kernels imports hetsim.errors"),
        ("hetsim.plan.lower", "def f():\n    import simpy", "simpy does not belong in plan"),
        ("hetsim.engine.simulate", "import requests", "requests does not belong in engine"),
        ("hetsim.plan.lower", "from hetsim import model, run", "plan imports hetsim.run"),
        ("hetsim.plan.lower", "from hetsim import scenario", "plan imports hetsim.scenario"),
        ("hetsim.plan.lower", "from . import objects", "relative import ."),
    ],
)
def test_a_wrong_import_is_found(name: str, source: str, problem: str) -> None:
    assert [each.partition(": ")[2] for each in problems(name, source)] == [problem]


@pytest.mark.parametrize("path", [path for path in MODULES if path.name != "__main__.py"], ids=name_of)
def test_nothing_else_prints(path: Path) -> None:
    calls = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
    assert [node.lineno for node in calls if isinstance(node.func, ast.Name) and node.func.id == "print"] == []


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_all_is_sorted(path: Path) -> None:
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["__all__"]:
            names = ast.literal_eval(node.value)
            assert list(names) == sorted(set(names), key=_as_ruff_sorts)


def _as_ruff_sorts(name: str) -> tuple[int, str]:
    """Constants, then classes, then the rest: isort's order, which RUF022 keeps."""
    bare = name.strip("_")
    return (0 if bare.isupper() else 1 if bare[:1].isupper() else 2, name)


@pytest.mark.parametrize(
    ("folder", "sees", "returns"),
    [
        ("placement", "PlacementView", "Placement"),
        ("aggregation", "AggregationView", "Group"),
        ("metrics", "JobRun", "float"),
    ],
)
def test_every_plugin_is_in_its_table(folder: str, sees: str, returns: str) -> None:
    table = ast.parse((PACKAGE / folder / "table.py").read_text("utf-8"))
    entries = {node.id for node in ast.walk(table) if isinstance(node, ast.Name)}
    found = {
        node.name
        for path in (PACKAGE / folder).glob("*.py")
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef) and _is_plugin(node, sees, returns)
    }
    assert len(found) >= 2
    assert found - entries == set()


def _is_plugin(node: ast.FunctionDef, sees: str, returns: str) -> bool:
    """Whether it is public and has the contract's form: one positional view, parameters by keyword, the answer."""
    arguments = node.args.posonlyargs + node.args.args
    return (
        not node.name.startswith("_")
        and len(arguments) == 1
        and _text(arguments[0].annotation) == sees
        and _text(node.returns) == returns
    )


def _text(node: ast.expr | None) -> str:
    return "" if node is None else ast.unparse(node)


HEAVY = (
    "click",
    "matplotlib",
    "networkx",
    "numba",
    "numpy",
    "pandas",
    "pydantic",
    "scipy",
    "simpy",
    "yaml",
)


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = f"import sys, hetsim; print(*(name for name in {HEAVY!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == []


@pytest.mark.parametrize("folder", ["placement", "aggregation"])
def test_policies_load_neither_simulator_nor_compiler(folder: str) -> None:
    heavy = ("matplotlib", "numba", "pandas", "pydantic", "scipy", "simpy", "yaml")
    code = f"import sys, hetsim.{folder}.table; print(*(name for name in {heavy!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == []
