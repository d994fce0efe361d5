"""The stub ``_core.pyi`` says what the compiled module has: names, arguments, defaults, kinds of values."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import sordino
from sordino._native import core

STUB = Path(sordino.__file__).with_name("_core.pyi")


class Argument(NamedTuple):
    """One argument as both sides say it; `default` is a text, "..." in a stub for what is made anew for each call."""

    name: str
    kinds: frozenset[str]
    default: str | None


Signature = tuple[list[Argument], frozenset[str]]


def kinds_of(annotation: ast.expr | None) -> frozenset[str]:
    """The types that an annotation names, without what they hold: {"dict", "None"} of ``dict[str, int] | None``."""
    if annotation is None:
        return frozenset({"None"})
    if isinstance(annotation, ast.BinOp):
        return kinds_of(annotation.left) | kinds_of(annotation.right)
    if isinstance(annotation, ast.Subscript):
        return kinds_of(annotation.value)
    word = ast.unparse(annotation).split(".")[-1]
    return frozenset({{"Sequence": "list", "object": "Any"}.get(word, word)})


def signature_of(node: ast.FunctionDef, defaults: Any = ()) -> Signature:
    given = node.args.args
    assert not (node.args.vararg or node.args.kwarg or node.args.kwonlyargs), node.name
    spoken: list[str | None] = [None] * (len(given) - len(node.args.defaults))
    for value in node.args.defaults:
        text = ast.unparse(value)
        number = re.fullmatch(r"_(\d+)", text)
        spoken.append(repr(defaults[int(number[1])]) if number else text)
    arguments = [
        Argument(argument.arg, kinds_of(argument.annotation), default)
        for argument, default in zip(given, spoken, strict=True)
        if argument.arg != "self"
    ]
    return arguments, kinds_of(node.returns)


def compiled_signature(function: Any) -> Signature:
    """nanobind keeps a text such as ``def f(a: int, b: dict = \\0) -> list``, and the defaults that it numbers."""
    ((text, _, defaults),) = function.__nb_signature__
    text = re.sub(r"ndarray\[[^]]*\]", "ndarray", text).replace("def (", "def get(")
    (node,) = ast.parse(re.sub(r"\\(\d+)", r"_\1", text) + ": ...").body
    assert isinstance(node, ast.FunctionDef)
    return signature_of(node, defaults or ())


def stub() -> dict[str, Signature]:
    found = {}
    for node in ast.parse(STUB.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = signature_of(node)
        if isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, ast.FunctionDef):
                    found[f"{node.name}.{method.name}"] = signature_of(method)
    return found


def compiled() -> dict[str, Signature]:
    found = {}
    for name, thing in vars(core()).items():
        if hasattr(thing, "__nb_signature__"):
            found[name] = compiled_signature(thing)
        for method, inner in vars(thing).items() if isinstance(thing, type) else ():
            function = inner.fget if isinstance(inner, property) else inner
            if hasattr(function, "__nb_signature__"):
                found[f"{name}.{method}"] = compiled_signature(function)
    return found


def agree(said: frozenset[str], true: frozenset[str]) -> bool:
    """A stub may be more exact than the module, which has ``object`` where it looks for itself; never about None."""
    if ("None" in said) != ("None" in true) and "Any" not in said:
        return False
    return "Any" in said | true or said == true


def differences(said: Signature, true: Signature) -> list[str]:
    if [argument.name for argument in said[0]] != [argument.name for argument in true[0]]:
        return [f"arguments {[a.name for a in said[0]]}, compiled {[a.name for a in true[0]]}"]
    found = []
    for mine, its in zip(said[0], true[0], strict=True):
        made_anew = mine.default == "..." and its.default in ("{}", "[]")
        if mine.default != its.default and not made_anew:
            found.append(f"{mine.name} = {mine.default}, compiled {its.default}")
        if not agree(mine.kinds, its.kinds):
            found.append(f"{mine.name}: {sorted(mine.kinds)}, compiled {sorted(its.kinds)}")
    if not agree(said[1], true[1]):
        found.append(f"returns {sorted(said[1])}, compiled {sorted(true[1])}")
    return found


def test_the_stub_names_what_is_compiled_and_nothing_else() -> None:
    assert set(stub()) == set(compiled())


@pytest.mark.parametrize("name", sorted(stub()))
def test_signatures_agree(name: str) -> None:
    true = compiled()
    assert name in true
    assert differences(stub()[name], true[name]) == []


@pytest.mark.parametrize(
    "wrong",
    [
        "def f(a: int, c: dict = ...) -> list: ...",
        "def f(a: int, b: dict) -> list: ...",
        "def f(a: int, b: dict = {'k': 1}) -> list: ...",
        "def f(a: str, b: dict = ...) -> list: ...",
        "def f(a: int, b: dict | None = ...) -> list: ...",
        "def f(a: int, b: dict = ...) -> None: ...",
    ],
)
def test_a_stub_that_is_wrong_is_found(wrong: str) -> None:
    class Function:
        __nb_signature__ = ((r"def f(a: int, b: dict = \0) -> list", None, ({},)),)

    (node,) = ast.parse(wrong).body
    assert isinstance(node, ast.FunctionDef)
    assert differences(signature_of(node), compiled_signature(Function)) != []
