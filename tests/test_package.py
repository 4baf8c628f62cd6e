"""The names that the package exports, and what it loads when it is imported."""

import ast
import inspect
import pkgutil
import subprocess
import sys
from importlib import import_module
from types import ModuleType

import pytest

import unskew
import unskew.spark as us


def test_every_public_name_is_there() -> None:
    public = set(unskew.__all__)
    for name in public:
        assert getattr(unskew, name) is not None
    assert public <= set(dir(unskew))
    assert {scheme.__name__ for scheme in unskew.GROUPINGS.values()} <= public


def named_for_type_checkers(package: ModuleType) -> set[str]:
    """Return what a package imports for type checkers alone."""
    tree = ast.parse(inspect.getsource(package))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    return {name.asname or name.name for node in imports for name in node.names}


@pytest.mark.parametrize("package", [unskew, us], ids=lambda package: package.__name__)
def test_type_checkers_know_every_public_name(package: ModuleType) -> None:
    assert named_for_type_checkers(package) == set(dir(package)) - {"__version__"}


def errors_and_warnings() -> set[str]:
    """Return the names of all errors and warnings that the library defines for users."""
    found = set()
    for module in pkgutil.walk_packages(unskew.__path__, "unskew."):
        if not module.name.startswith(("unskew.__main__", "unskew.spark.worker")):
            for name, value in vars(import_module(module.name)).items():
                is_own = isinstance(value, type) and value.__module__ == module.name
                if is_own and issubclass(value, Exception) and not name.startswith("_"):
                    found.add(name)
    return found


def test_every_error_and_warning_is_exported() -> None:
    assert errors_and_warnings() <= {*dir(unskew), *dir(us)}


def test_importing_unskew_loads_neither_spark_nor_plotting() -> None:
    code = (
        "import sys, unskew\n"
        "unskew.PartialKey, unskew.simulate, unskew.zipf\n"
        "print([name for name in ('pyspark', 'plotly', 'pandas') if name in sys.modules])\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
