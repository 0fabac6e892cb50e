"""What docs/architecture.md says about imports, read off the source."""

import ast
from pathlib import Path

import pytest

import symsets

ROOT = Path(symsets.__file__).parent
ORDER = (  # what may be imported by all that come later
    ("_kernels", "_plain", "_checks", "_modes", "_version", "extras"),
    ("sets", "groups"),
    ("nn",),
    ("_lifted", "lift", "_distances", "_moves", "_probe", "testing", "models"),
    ("saving", "data"),
    ("geometry", "train"),
    ("experiments",),
    ("report",),
    ("cli",),
)
LEVEL = {name: level for level, names in enumerate(ORDER) for name in names}
LOOKS_UP = {("saving", "train")}  # to write files as runs do


def name_of(path):
    parts = ["symsets", *path.relative_to(ROOT).with_suffix("").parts]
    return ".".join(parts).removesuffix(".__init__")


TREES = {name_of(path): ast.parse(path.read_text("utf-8")) for path in ROOT.rglob("*.py")}
MODULES = [name for name in TREES if name not in ("symsets", "symsets.__main__")]


def imports(module):
    """Give every module of ours that a module imports from, and the name that it takes."""
    for node in ast.walk(TREES[module]):
        if isinstance(node, ast.ImportFrom) and node.module and node.module in TREES:
            yield from ((node.module, alias.name) for alias in node.names)


def public(module):
    """Return what a module lists in ``__all__``."""
    for node in TREES[module].body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return ast.literal_eval(node.value)
    return []


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_one_way(module):
    own = module.split(".")[1]
    for source, name in imports(module):
        other = (source if source != "symsets" else f"{source}.{name}").split(".")[1]
        if LEVEL[other] > LEVEL[own]:
            assert (own, other) in LOOKS_UP, f"{module} imports {name} from {source}"


@pytest.mark.parametrize("module", MODULES)
def test_modules_list_what_others_import(module):
    for source, name in imports(module):
        is_module = f"{source}.{name}" in TREES
        if not is_module and source != "symsets._version":
            assert name in public(source), f"{module} imports {name} from {source}"


def test_the_order_knows_all_packages():
    assert {module.split(".")[1] for module in MODULES} == set(LEVEL)
