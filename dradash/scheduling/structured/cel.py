"""CEL selectors on devices. The only file that knows the CEL library.

cel-expr-python parses and type-checks an expression in Kubernetes' environment; `celeval` evaluates the checked tree.
The library's own evaluator is not used: it cannot carry quantities and versions through an expression, has no maps
with defaults, stops a macro after 10,000 steps and does not count cost (docs/upstream.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any, Final

from cel_expr_python import cel
from cel_expr_python.ext.ext_bindings import ExtBindings
from cel_expr_python.ext.ext_optional import ExtOptional
from msgspec.structs import replace

from dradash.scheduling.structured import celtree
from dradash.scheduling.structured.celchecks import check
from dradash.scheduling.structured.celdeclarations import (
    ABSTRACT,
    DEVICE,
    DEVICE_SIGNATURES,
    ELEMENTS,
    NAMED_TYPES,
    REPLACED,
    SIGNATURES,
)
from dradash.scheduling.structured.celdevice import (
    LOOSE,
    NULL,
    is_a_value,
    mended,
    with_fields,
    with_functions,
    without_null,
)
from dradash.scheduling.structured.celeval import program
from dradash.scheduling.structured.celframe import Frame, Program
from dradash.scheduling.structured.celmacros import expanded
from dradash.scheduling.structured.celreads import is_plain, reads
from dradash.scheduling.structured.celvalues import CelError, EvalError, type_name

__all__ = ["CelError", "CompileError", "RuntimeFault", "Selector", "compile_anew", "compile_selector"]

# Distinct expressions kept compiled: more than any cluster has classes and claims of different wording.
_KEPT: Final = 4096
# resourceapi.CELSelectorExpressionMaxLength
_MAX_LENGTH: Final = 10 * 1024
# Two for each of what depends on another: a field, and that it is optional.
_ROUNDS: Final = 20


class CompileError(CelError):
    """The expression is none; the message is the library's."""


class RuntimeFault(CelError):
    """The expression failed on a device; the message is cel-go's where we know it."""


class Selector:
    """A compiled expression."""

    def __init__(self, expression: str, run: Program, tree: celtree.Tree) -> None:
        self.expression = expression
        self.tree = tree
        self.reads = reads(tree)
        self.is_plain = is_plain(tree)
        self.reads_capacity = any(read.of == "capacity" for read in self.reads)
        self._run = run

    def matches(self, device: dict[str, Any]) -> bool:
        """DeviceMatches on what `celvariables.variables` returned. Raises RuntimeFault."""
        return self.answer(Frame(device, REGEX))

    def answer(self, frame: Frame) -> bool:
        """The same with a frame of the caller's, which knows the cost afterwards. Raises RuntimeFault."""
        try:
            value = self._run(frame)
        except CelError as error:
            raise RuntimeFault(str(error)) from error
        except RecursionError as error:
            raise RuntimeFault("the expression is nested too deeply") from error
        if not isinstance(value, bool):
            raise RuntimeFault(f"CEL result of type {type_name(value)} could not be converted to bool")
        return value


@lru_cache(maxsize=_KEPT)
def _compiled(expression: str) -> Selector | CompileError:
    return compile_anew(expression)


def compile_anew(expression: str) -> Selector | CompileError:
    """What nobody keeps: for expressions that people type, which must not push out those of the cluster."""
    if len(expression) > _MAX_LENGTH:
        return CompileError(f"the expression is longer than {_MAX_LENGTH} characters")
    try:
        text = expanded(expression)
        tree = _value_tree(text) if is_a_value(text) else _tree(text)
        return Selector(expression, program(tree.root), tree)
    except (CelError, RuntimeError, ValueError, RecursionError) as error:
        return CompileError(f"compilation failed: {error}")


def _tree(text: str) -> celtree.Tree:
    # Any value of the bare `device` is refused by the checks; its fields are variables of their own.
    tree = celtree.read(_environment("map<string,null>").compile(text).serialize())
    check(tree, REGEX)
    return tree


def _value_tree(text: str) -> celtree.Tree:
    """Of an expression that has `device` itself as a value somewhere."""
    try:
        loose = celtree.read(_environment(_LOOSE).compile(without_null(text)).serialize())
    except RuntimeError as error:
        raise CelError(str(error).replace(f"map({', '.join(LOOSE)})", DEVICE).replace(NULL, "null")) from error
    tree = _with_devices(with_functions(text, loose))
    check(tree, REGEX, device_is_value=True)
    return replace(tree, root=with_fields(tree.root))


def _with_devices(text: str) -> celtree.Tree:
    """The second check, again as long as its errors tell of more fields of devices."""
    for _ in range(_ROUNDS):
        try:
            return celtree.read(_environment(DEVICE).compile(text).serialize())
        except RuntimeError as error:
            before, text = text, mended(text, str(error))
            if text == before:
                raise
    raise CelError("the devices in it are nested too deeply")


def compile_selector(expression: str) -> Selector:
    """CompileCELExpression. Raises CompileError."""
    compiled = _compiled(expression)
    if isinstance(compiled, CompileError):
        raise CompileError(*compiled.args)
    return compiled


class _Re2:
    """Regular expressions: the library's RE2 says what matches, so that no pattern can run away."""

    def matches(self, text: str, pattern: str) -> bool:
        value = _matcher().eval(data={"text": text, "pattern": pattern}).value()
        if not isinstance(value, bool):
            raise EvalError(f"error parsing regexp: {value}")
        return value

    def find_all(self, text: str, pattern: str, limit: int) -> list[str]:
        """The first `limit` matches, all if it is negative. RE2 finds where one starts, `re` where it ends."""
        if limit == 0 or not self.matches(text, pattern):
            return []
        if _may_run_away(pattern, len(text)):
            raise EvalError("this pattern is not evaluated here: it repeats a repetition")
        try:
            compiled = re.compile(pattern.replace(r"\z", r"\Z"))
        except (re.error, RecursionError) as error:
            raise EvalError(f"this pattern is not evaluated here: {error}") from error
        found: list[str] = []
        for match in compiled.finditer(text):
            found.append(match[0])
            if len(found) == limit:
                break
        return found


def _may_run_away(pattern: str, length: int) -> bool:
    """Whether `re` might try for ever, which RE2 never does: a group with a repetition or a choice in it is itself
    repeated, or there are more repetitions in a row than a text of this length has time for."""
    groups = [False]
    repetitions = 0
    for match in _PATTERN_TOKEN.finditer(pattern):
        token = match[0]
        if token[0] == "(":
            groups.append(False)
        elif token[0] == ")":
            inner = groups.pop() if len(groups) > 1 else False
            repeated = len(token) > 1
            if inner and repeated:
                return True
            groups[-1] |= inner or repeated
            repetitions += repeated
        elif token[0] in "*+{?":
            groups[-1] = True
            repetitions += 1
        elif token[0] == "|":
            groups[-1] = True
    return (length + 1) ** (repetitions + 1) > _MOST_TRIES and repetitions > 1


_MOST_TRIES: Final = 100_000_000
# Escapes and classes count for nothing; a closing bracket goes with the repetition behind it.
_PATTERN_TOKEN: Final = re.compile(r"\\.|\[\^?\]?[^\]]*\]|\((?:\?[^)=!:]*:)?|\)[*+{]?|[*+{]\??|[^\\]", re.DOTALL)

REGEX: Final = _Re2()

_LOOSE: Final = f"map<{','.join(LOOSE)}>"
_CONFIG: Final = "stdlib:\n  exclude_functions:\n" + "".join(f'    - name: "{name}"\n' for name in REPLACED)


@cache
def _matcher() -> Any:
    return cel.NewEnv(variables={"text": cel.Type.STRING, "pattern": cel.Type.STRING}).compile("text.matches(pattern)")


@cache
def _environment(device: str) -> Any:
    """device: its type where it is no name before a field."""
    text, boolean = cel.Type.STRING, cel.Type.BOOL
    return cel.NewEnv(
        variables={
            "device": _type(device),
            "device.driver": text,
            "device.attributes": cel.Type.Map(text, cel.Type.Map(text, _type("any"))),
            "device.capacity": cel.Type.Map(text, cel.Type.Map(text, _type("kubernetes.Quantity"))),
            "device.allowMultipleAllocations": boolean,
            # The library takes no value of its type() for one of the type of such a variable.
            **dict.fromkeys(NAMED_TYPES, cel.Type.DYN),
            **({NULL: cel.Type.DYN} if device == _LOOSE else {}),
        },
        config=cel.NewEnvConfigFromYaml(_CONFIG),
        extensions=[ExtBindings(), ExtOptional()],
        functions=_functions((*SIGNATURES, *DEVICE_SIGNATURES) if device == DEVICE else SIGNATURES),
    )


def _functions(signatures: Iterable[str]) -> list[Any]:
    overloads: dict[str, list[Any]] = {}
    for signature in signatures:
        result, _, call = signature.partition(" ")
        name, _, parameters = call.rstrip(")").partition("(")
        kinds = _arguments(parameters)
        for element in ELEMENTS if "T" in (result, *kinds) or any("<T>" in k for k in (result, *kinds)) else ("",):
            name_only = name.removeprefix(".")
            there = overloads.setdefault(name_only, [])
            there.append(
                cel.Overload(
                    f"{name_only}_{len(there)}",
                    return_type=_type(result, element),
                    parameters=[_type(k, element) for k in kinds],
                    is_member=name.startswith("."),
                )
            )
    return [cel.FunctionDecl(name, all_of) for name, all_of in overloads.items()]


def _arguments(text: str) -> list[str]:
    """Parameter types: split at commas outside of angle brackets."""
    return [p.strip() for p in re.split(r",(?![^<]*>)", text) if p.strip()]


def _type(name: str, element: str = "") -> Any:
    if name == "T":
        return _type(element)
    if name in ABSTRACT:
        return cel.Type.AbstractType(name)
    if name.startswith("list<"):
        return cel.Type.List(_type(name[5:-1], element))
    if name.startswith("map<"):
        key, _, value = name[4:-1].partition(",")
        return cel.Type.Map(_type(key, element), _type(value, element))
    if name == "any":
        return cel.Type("google.protobuf.Any")
    return getattr(cel.Type, name.upper())
