"""The OpenAPI 3.1 document, derived from the table of endpoints, their parameters and the types of their answers."""

from __future__ import annotations

import hashlib
import json
import re
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

from dradash.api.endpoint import Endpoint
from dradash.api.endpoints import ENDPOINTS
from dradash.api.params import Param
from dradash.api.schemas import ROOT
from dradash.api.serving import INSTANCE, LINK, REVISION, TOTAL, TOTAL_EXACT
from dradash.api.watching import WatchEvent, as_event, as_line
from dradash.problems import CONTENT_TYPE, KINDS, Problem, type_of

VERSION: Final = "1.1.0"  # of the contract: a new minor adds, nothing released goes or changes its type
EXAMPLES: Final = Path(__file__).with_name("examples.json")
LONGEST_NAME: Final = 253
_WHERE: Final = {
    "namespace": "The object's namespace.",
    "name": "The object's name.",
    "driver": "Name of a driver.",
    "pool": "The pool's name; its slashes, where it has any, stay as they are.",
    "device": "The device's name.",
    "id": "The finding's id: its code and a digest.",
}

Node = dict[str, Any]

_OF_LINES: Final[tuple[tuple[str, str, Node], ...]] = (
    (REVISION, "Of NDJSON: `revision`, to watch from.", {"type": "integer"}),
    (INSTANCE, "Of NDJSON: `instance`.", {"type": "string"}),
    (TOTAL, "Of NDJSON: `total.count`.", {"type": "integer"}),
    (TOTAL_EXACT, "Of NDJSON: `total.exact`.", {"type": "boolean"}),
)


@cache
def examples() -> dict[str, Any]:
    """Answers of the simulated cluster by endpoint (made by tests/api_examples.py)."""
    found: dict[str, Any] = json.loads(EXAMPLES.read_text(encoding="utf-8")) if EXAMPLES.exists() else {}
    return found


@cache
def document() -> bytes:
    return msgspec.json.encode(build())


@cache
def tag() -> str:
    """Its ETag."""
    return f'"{hashlib.sha256(document()).hexdigest()[:16]}"'


def build() -> Node:
    types = [e.result for e in ENDPOINTS]
    schemas, components = msgspec.json.schema_components(
        [*types, WatchEvent, Problem, *_rows()], ref_template="#/components/schemas/{name}"
    )
    for shape in {e.shape for e in ENDPOINTS if e.shape is not None}:
        # `fields` may leave any of them out.
        components[shape.__name__].pop("required", None)
    by_endpoint = dict(zip((e.name for e in ENDPOINTS), schemas, strict=False))
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "dradash",
            "version": VERSION,
            "summary": "Why a pod that uses Dynamic Resource Allocation is not scheduled, and who must act next",
            "description": _ABOUT,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": ROOT}],
        "security": [{}, {"token": []}],
        "tags": [{"name": tag} for tag in dict.fromkeys(e.tag for e in ENDPOINTS)],
        "paths": {e.path: {"get": _operation(e, by_endpoint[e.name])} for e in ENDPOINTS},
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": {str(status): _problem(status) for status in sorted({k.status for k in KINDS})},
        },
    }


_ABOUT: Final = """\
Read-only. Lists have `limit` and `cursor`, `fields`, filters and `sort` as the pages have them; answers have an ETag
that changes with the revision. `at` asks about the past. `Accept: application/x-ndjson` streams a list row by row;
`watch=1` streams its changes. Errors are application/problem+json; unknown parameters are refused."""


def _rows() -> list[Any]:
    return [e.listing.row_type for e in ENDPOINTS if e.listing is not None]


def _operation(endpoint: Endpoint, schema: Node) -> Node:
    json_content: Node = {"schema": schema}
    if endpoint.name in examples():
        json_content["example"] = examples()[endpoint.name]
    content = {"application/json": json_content}
    if endpoint.is_list:
        content["application/x-ndjson"] = _lines(endpoint)
    if endpoint.watchable:
        content["text/event-stream"] = _events(endpoint)
    statuses = [400, 401, 403, 404, 500, 503] + ([410] if endpoint.watchable else [])
    return {
        "operationId": _camel(endpoint.name),
        "tags": [endpoint.tag],
        "summary": endpoint.summary,
        "parameters": [*_path_parameters(endpoint.path), *(_parameter(p) for p in endpoint.params)],
        "responses": {
            "200": {
                "description": "The answer.",
                "headers": _headers(endpoint),
                "content": content,
            },
            "304": {"description": "Nothing has changed since the answer with this ETag."},
            **{str(s): {"$ref": f"#/components/responses/{s}"} for s in sorted(statuses)},
        },
    }


def _headers(endpoint: Endpoint) -> Node:
    found: Node = {"ETag": {"schema": {"type": "string"}, "description": "For If-None-Match."}}
    if endpoint.is_list:
        found |= {name: {"schema": dict(schema), "description": told} for name, told, schema in _OF_LINES}
    if endpoint.pageable and endpoint.is_list:
        told = 'Of NDJSON with `limit`: the address of the following page (`rel="next"`), where there is one.'
        found[LINK] = {"schema": {"type": "string"}, "description": told}
    return found


def _lines(endpoint: Endpoint) -> Node:
    told = "One row of `items` a line" + ("; with watch=1 a WatchEvent a line." if endpoint.watchable else ".")
    rows = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in _items(endpoint))
    found: Node = {"list": {"summary": "The list", "value": rows}}
    if endpoint.watchable:
        watched = b"".join(map(as_line, _watched(endpoint))).decode()
        found["watch"] = {"summary": "What changes (watch=1)", "value": watched}
    return {"schema": {"type": "string", "description": told}, "examples": found}


def _events(endpoint: Endpoint) -> Node:
    events = b"".join(map(as_event, _watched(endpoint))).decode()
    return {"schema": {"type": "string", "description": "Each `data` is a WatchEvent."}, "example": events}


def _items(endpoint: Endpoint) -> list[Node]:
    rows: list[Node] = examples().get(endpoint.name, {}).get("items", [])
    return rows


def _watched(endpoint: Endpoint) -> list[WatchEvent]:
    """The example's first row changes, then nothing for a while."""
    revision = examples().get(endpoint.name, {}).get("revision", 0)
    events = [
        WatchEvent(type="MODIFIED", revision=revision, key=_key(row), object=row, problem=None)
        for row in _items(endpoint)[:1]
    ]
    return [*events, WatchEvent(type="BOOKMARK", revision=revision + 1, key="", object=None, problem=None)]


def _key(row: Node) -> str:
    name = str(row.get("key") or row["name"])
    return f"{row['namespace']}/{name}" if "namespace" in row else name


def _camel(name: str) -> str:
    first, *others = name.split("-")
    return first + "".join(o.title() for o in others)


def _path_parameters(path: str) -> list[Node]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": _WHERE[name],
            "schema": {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME},
        }
        for name in re.findall(r"\{(\w+)\}", path)
    ]


def _parameter(param: Param) -> Node:
    found: Node = {"name": param.name, "in": "query", "description": param.description, "schema": dict(param.schema)}
    if param.schema.get("type") == "array":
        found |= {"style": "form", "explode": False}
    if param.required:
        found["required"] = True
    if param.example:
        found["example"] = param.example
    return found


def _problem(status: int) -> Node:
    kinds = [k for k in KINDS if k.status == status]
    return {
        "description": "; ".join(f"{k.title} (`{type_of(k)}`)" for k in kinds),
        "content": {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }


def released() -> Node:
    """What a client may rely on: every parameter, and every property with its type. The compatibility test compares."""
    made = build()
    operations = {
        path: {p["name"]: _type(p["schema"]) for p in of["get"]["parameters"]} for path, of in made["paths"].items()
    }
    schemas = {
        name: {n: _type(s) for n, s in schema.get("properties", {}).items()}
        for name, schema in made["components"]["schemas"].items()
    }
    return {"parameters": operations, "schemas": schemas}


def _type(schema: Node) -> str:
    bare = {
        k: v for k, v in schema.items() if k in ("type", "$ref", "anyOf", "items", "additionalProperties", "format")
    }
    return json.dumps(bare, sort_keys=True)
