"""Python in the README and the docs: what it imports and calls is there, with these parameters."""

import ast
import inspect
import re
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import unskew.spark as us
from unskew.spark.group_by import GroupedFrame
from unskew.spark.window import WindowedFrame

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCKS = [
    pytest.param(block, id=f"{page.relative_to(ROOT)}-{number}")
    for page in PAGES
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))
]
RETURNS = {"us.group_by": GroupedFrame, "us.window": WindowedFrame}
"""What calls return whose methods are called at once."""


@pytest.mark.parametrize("block", BLOCKS)
def test_code_calls_what_there_is_with_the_parameters_that_it_has(block: str) -> None:
    tree = ast.parse(block)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("unskew"):
            module = import_module(str(node.module))
            assert all(hasattr(module, alias.name) for alias in node.names), ast.unparse(node)
        if isinstance(node, ast.Call):
            function = called(node)
            if function is not None:
                check_fits(node, function)


def called(node: ast.Call) -> Any:
    """The function of ours that is called, as far as the text tells; None for others."""
    function = node.func
    if not isinstance(function, ast.Attribute):
        return None
    if isinstance(function.value, ast.Name) and function.value.id == "us":
        assert hasattr(us, function.attr), ast.unparse(node)
        return getattr(us, function.attr)
    made_by = ast.unparse(function.value.func) if isinstance(function.value, ast.Call) else ""
    if made_by not in RETURNS:
        return None
    assert hasattr(RETURNS[made_by], function.attr), ast.unparse(node)
    return partial(getattr(RETURNS[made_by], function.attr), None)


def check_fits(node: ast.Call, function: Any) -> None:
    """Raise where the call has a parameter that the function does not have, or too many."""
    given = {word.arg: None for word in node.keywords if word.arg is not None}
    arguments = [one for one in node.args if ast.unparse(one) != "..."]
    inspect.signature(function).bind_partial(*arguments, **given)
