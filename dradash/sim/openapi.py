"""OpenAPI documents: as little as kubectl needs to leave validation to the server and to choose how it patches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from dradash.sim.resources import Resource

Object = dict[str, Any]

PROTOBUF_V2: Final = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
_TITLE: Final = "Kubernetes"
_RELEASE: Final = "v1.30.0"


def v2() -> Object:
    """/openapi/v2 as JSON: valid and empty."""
    return {"swagger": "2.0", "info": {"title": _TITLE, "version": _RELEASE}, "paths": {}}


def _field(number: int, payload: bytes) -> bytes:
    """A length-delimited protobuf field (all of ours are shorter than 128 bytes)."""
    return bytes([number << 3 | 2, len(payload)]) + payload


def v2_protobuf() -> bytes:
    """The same as gnostic's openapi.v2.Document (swagger = 1, info = 2 with title = 1 and version = 2)."""
    info = _field(1, _TITLE.encode()) + _field(2, _RELEASE.encode())
    return _field(1, b"2.0") + _field(2, info)


def _root(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"


def v3_paths(resources: Iterable[Resource]) -> Object:
    """/openapi/v3: where the document of each group and version is."""
    roots = dict.fromkeys(_root(r.group, v) for r in resources for v in r.versions)
    return {"paths": {root: {"serverRelativeURL": f"/openapi/v3/{root}"} for root in roots}}


def v3(resources: Iterable[Resource], group: str, version: str) -> Object | None:
    """The document of one group and version; None when it is not served.

    The patch operations name fieldValidation, so that kubectl lets the server validate, and do not name the strategic
    merge patch: kubectl then takes its built-in types for core kinds, and a JSON merge patch for the others.
    """
    paths: Object = {}
    schemas: Object = {}
    for resource in resources:
        if resource.group != group or version not in resource.versions:
            continue
        schemas[f"{resource.group or 'core'}.{version}.{resource.kind}"] = _schema(resource, version)
        scope = "namespaces/{namespace}/" if resource.namespaced else ""
        paths[f"/{_root(group, version)}/{scope}{resource.plural}/{{name}}"] = _operations(resource, version)
    if not paths:
        return None
    info = {"title": _TITLE, "version": _RELEASE}
    return {"openapi": "3.0.0", "info": info, "paths": paths, "components": {"schemas": schemas}}


def _type(resource: Resource, version: str) -> Object:
    return {"group": resource.group, "kind": resource.kind, "version": version}


def _schema(resource: Resource, version: str) -> Object:
    return {
        "type": "object",
        "description": f"{resource.kind} as the simulated cluster keeps it; its fields are not described.",
        "x-kubernetes-preserve-unknown-fields": True,
        "x-kubernetes-group-version-kind": [_type(resource, version)],
    }


def _operations(resource: Resource, version: str) -> Object:
    names = ("dryRun", "fieldManager", "fieldValidation", "force")
    return {
        "patch": {
            "x-kubernetes-action": "patch",
            "x-kubernetes-group-version-kind": _type(resource, version),
            "parameters": [{"name": name, "in": "query", "schema": {"type": "string"}} for name in names],
            "requestBody": {
                "content": {
                    "application/json-patch+json": {},
                    "application/merge-patch+json": {},
                    "application/apply-patch+yaml": {},
                }
            },
            "responses": {"200": {"description": "OK"}},
        }
    }
