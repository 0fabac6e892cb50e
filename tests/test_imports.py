"""What docs/architecture.md says about imports, read off the source."""

import ast
import subprocess
import sys
from pathlib import Path

import symsets

ROOT = Path(symsets.__file__).parent
ORDER = (  # what may be imported by all that come later
    ("_checks", "_files", "_importing", "_interrupt", "_modes", "_version", "_extras"),
    ("ops",),
    ("sets", "groups"),
    ("nn",),
    ("lift", "testing", "models"),
    ("data", "pages"),
    ("making",),
    ("describing",),
    ("saving",),
    ("train",),
    ("tools",),
    ("cli",),
    ("experiments",),
)
LEVEL = {name: level for level, names in enumerate(ORDER) for name in names}
WHEN_RUN = {("cli", "experiments")}  # inside of functions only


def name_of(path):
    parts = ["symsets", *path.relative_to(ROOT).with_suffix("").parts]
    return ".".join(parts).removesuffix(".__init__")


TREES = {name_of(path): ast.parse(path.read_text("utf-8")) for path in ROOT.rglob("*.py")}
MODULES = [name for name in TREES if name not in ("symsets", "symsets.__main__")]


def imports(module, *, top=False):
    """Give every module of ours that a module imports from, and the name that it takes."""
    for node in TREES[module].body if top else ast.walk(TREES[module]):
        if isinstance(node, ast.ImportFrom) and node.module and node.module in TREES:
            yield from ((node.module, alias.name) for alias in node.names)


def is_public(module, name):
    """Whether a module lists a name in ``__all__`` or, without one, spells it as public."""
    for node in TREES[module].body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return name in ast.literal_eval(node.value)
    return not name.startswith("_")


def upward(module, *, top):
    """Give the imports of a module that point up the order."""
    own = module.split(".")[1]
    for source, name in imports(module, top=top):
        other = (source if source != "symsets" else f"{source}.{name}").split(".")[1]
        allowed = not top and (own, other) in WHEN_RUN
        if LEVEL[other] > LEVEL[own] and not allowed:
            yield f"{module} imports {name} from {source}"


def test_imports_point_one_way_and_nothing_imports_the_experiments():
    assert {module.split(".")[1] for module in MODULES} == set(LEVEL)
    for top in (False, True):
        assert not [line for module in MODULES for line in upward(module, top=top)]


def test_packages_have_a_list_of_what_they_offer_and_modules_import_nothing_private():
    for path in ROOT.glob("*/__init__.py"):
        names = [
            ast.unparse(n.targets[0]) for n in TREES[name_of(path)].body if hasattr(n, "targets")
        ]
        assert "__all__" in names or path.parent.name in ("cli", "experiments"), path

    for module in MODULES:
        for source, name in imports(module):
            is_module = f"{source}.{name}" in TREES
            if not is_module and source != "symsets._version":
                assert is_public(source, name), f"{module} imports {name} from {source}"


LOAD = """
import sys, torch

heavy = {"lightning", "matplotlib", "PIL", "rich", "scipy", "sympy", "torch_geometric", "triton"}
heavy = {"symsets.experiments", "typer"} | heavy - {*sys.modules}  # torch may load some by itself
import symsets, symsets.data, symsets.groups, symsets.models, symsets.nn.pyg, symsets.train
from symsets.train import Plan, Task, fit, fit_together
print(sorted(heavy & {*sys.modules}))

from typer.testing import CliRunner
from symsets.cli import app
assert CliRunner().invoke(app, ["run", "colors", "--help"]).exit_code == 0
print([name for name in sys.modules if name.startswith(("symsets.experiments", "lightning"))])
"""


def test_the_library_loads_no_extra_and_the_help_of_the_command_no_experiment():
    found = subprocess.run([sys.executable, "-c", LOAD], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines() == ["[]", "[]"]
