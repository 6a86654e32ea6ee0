"""`kubectl get -o yaml|json` output and what else holds Kubernetes objects, as a list of objects. Pure.

A document may be an object, a List of any kind, or several of them: YAML documents, or JSON values after each other.
A recording is read as the objects at its end.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec
import yaml

from dradash.offline.cutoff import broken_off, headless, is_headless
from dradash.offline.recorded import BadRow, at_end, is_recording

SUFFIXES: Final = (".yaml", ".yml", ".json")
# An alias can make a few bytes into gigabytes, and kubectl never writes one.
_ALIAS: Final = re.compile(rb"(?:^|[\s\[{,:-])\*[^\s*]", re.MULTILINE)
_DEEPEST: Final = 100
_VECTOR: Final = frozenset({"id", "input", "expected_any_of"})
_MARKS: Final = (  # UTF-32's begins as UTF-16's does
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class BadInput(ValueError):
    """Text that holds no Kubernetes objects; the message names the input and what is wrong."""


class Listed(msgspec.Struct, frozen=True):
    """What one document says. listed: "apiVersion kind" of its typed lists, which say that there are no more.

    notes: what whoever reads the verdict must know of it.
    """

    objects: list[dict[str, Any]]
    listed: frozenset[str]
    notes: tuple[str, ...] = ()


class _Loader(yaml.CSafeLoader):
    """YAML as Kubernetes reads it: a time is a text."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def read(text: bytes, where: str) -> Listed:
    """where: names the input in errors. Raises BadInput."""
    text = utf8(text, where)
    if is_recording(text):
        return _recorded(text, where)
    objects: list[dict[str, Any]] = []
    listed: set[str] = set()
    try:
        for document in _documents(text):
            if document is None:
                continue
            if not isinstance(document, dict):
                raise BadInput(f"{where}: {_shown(document)} is no Kubernetes object")
            if is_headless(document) and not _is_json(text):
                raise BadInput(f"{where}: {headless(document, text.decode())}")
            objects += _objects(document, where, listed, 0)
    except (yaml.YAMLError, ValueError) as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput(f"{where}: {broken_off(error, text) or _one_line(error)}") from error
    except RecursionError as error:
        raise BadInput(f"{where}: nested too deeply") from error
    return Listed(objects, frozenset(listed))


def _recorded(text: bytes, where: str) -> Listed:
    try:
        ended = at_end(text)
    except BadRow as error:
        raise BadInput(f"{where}: {error}") from error
    notes = [f"{where} is a recording: judged as the cluster was at its end"]
    if ended.cut:
        notes.append(f"{where}: the recording breaks off in line {ended.cut}; what came before is used")
    return Listed(ended.objects, ended.listed, tuple(notes))


def utf8(text: bytes, where: str) -> bytes:
    """Without its byte order mark: PowerShell's `>` writes UTF-16 with one. Raises BadInput."""
    for mark, encoding in _MARKS:
        if text.startswith(mark):
            try:
                return text.removeprefix(mark).decode(encoding).encode()
            except UnicodeError as error:
                raise BadInput(f"{where}: begins as {encoding.upper()} does, and is not: {error}") from error
    return text


def _documents(text: bytes) -> Iterator[Any]:
    if _is_json(text):
        yield from _json_values(text.decode())
        return
    decoded = text.decode()
    if _ALIAS.search(text) and any(isinstance(e, yaml.AliasEvent) for e in yaml.parse(decoded, Loader=yaml.CLoader)):
        raise ValueError("YAML aliases are not read")
    yield from yaml.load_all(decoded, Loader=_Loader)


def _is_json(text: bytes) -> bool:
    return text.lstrip()[:1] in (b"{", b"[")


def _json_values(text: str) -> Iterator[Any]:
    decoder = json.JSONDecoder()
    at = 0
    while (at := _skip(text, at)) < len(text):
        value, at = decoder.raw_decode(text, at)
        yield from value if isinstance(value, list) else [value]


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def _objects(document: dict[str, Any], where: str, listed: set[str], depth: int) -> Iterator[dict[str, Any]]:
    kind, version, items = document.get("kind"), document.get("apiVersion"), document.get("items")
    if not isinstance(kind, str) or not isinstance(version, str):
        of_parity = "; it looks like vectors (`parity` reads them)" if document.keys() >= _VECTOR else ""
        no_object = f"{_shown(document)} has no apiVersion and kind: it is no Kubernetes object"
        raise BadInput(f"{where}: {no_object}{of_parity}")
    if not kind.endswith("List") or not (items is None or isinstance(items, list)) or "items" not in document:
        yield document
        return
    of = kind.removesuffix("List")
    if of:
        listed.add(f"{version} {of}")
    for item in items or ():
        if not isinstance(item, dict):
            raise BadInput(f"{where}: an item of a {kind} is {_shown(item)}")
        # Items of a typed list need not say what they are.
        whole = {"apiVersion": version, "kind": of} | item if of else item
        if depth > _DEEPEST:
            raise BadInput(f"{where}: lists within lists")
        yield from _objects(whole, where, listed, depth + 1)


def _shown(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else f"{text[:60]}..."


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
