"""Requests to resources answered from an APIServer: everything but watches, which http.py streams."""

from __future__ import annotations

import time
from typing import Any

import msgspec

from dradash.sim import apierrors, strict
from dradash.sim.apiserver import APIServer
from dradash.sim.lifecycle import Deleted
from dradash.sim.listing import Page
from dradash.sim.patching import APPLY_PATCH
from dradash.sim.requests import Options, Target, decode_body
from dradash.sim.storage import Stored, object_key
from dradash.sim.table import INCLUDE, table

JSON = "application/json"


class Answer(msgspec.Struct, frozen=True):
    code: int
    body: bytes
    content_type: str = JSON
    headers: tuple[tuple[str, str], ...] = ()


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One request to a resource; `manager` is who writes (fieldManager, else the client's name)."""

    verb: str
    target: Target
    options: Options
    body: bytes = b""
    content_type: str = ""
    as_table: bool = False
    manager: str = ""


def answer(server: APIServer, call: Call) -> Answer:
    """Raises ApiError."""
    if call.options.include_object not in INCLUDE:
        raise apierrors.bad_request(f"unrecognized includeObject value: {call.options.include_object[:40]!r}")
    match call.verb:
        case "list":
            return _list(server, call)
        case "get":
            return _get(server, call)
        case "delete" | "deletecollection" | "create" | "update" | "patch" if call.options.dry_run:
            with server.dry_run():
                return _write(server, call)
    return _write(server, call)


def _version(call: Call) -> str:
    return call.target.resource.api_version(call.target.version)


def printed(call: Call, items: list[Stored], metadata: dict[str, Any], *, with_columns: bool = True) -> bytes:
    resource = call.target.resource
    return table(
        resource.plural,
        _version(call),
        resource.kind,
        items,
        metadata,
        time.time(),
        include=call.options.include_object,
        with_columns=with_columns,
    )


def _list(server: APIServer, call: Call) -> Answer:
    resource = call.target.resource
    page: Page = server.list_page(resource.plural, call.options.query)
    if call.as_table:
        return Answer(200, printed(call, page.items, page.metadata()))
    return Answer(200, page.raw(resource, call.target.version))


def _get(server: APIServer, call: Call) -> Answer:
    where = call.target
    if where.subresource == "binding":
        raise apierrors.method_not_allowed()
    stored = server.stored(where.resource.plural, where.name, where.namespace)
    if call.as_table:
        return Answer(200, printed(call, [stored], {"resourceVersion": stored.metadata["resourceVersion"]}))
    return Answer(200, stored.raw(where.resource, where.version))


def _write(server: APIServer, call: Call) -> Answer:
    match call.verb:
        case "create" if call.target.subresource == "binding":
            return _bind(server, call)
        case "create":
            body = _checked(call, decode_body(call.body, call.content_type))
            where = call.target
            obj = server.create(where.resource.plural, body, where.namespace, call.manager)
            return _object(call, obj, 201)
        case "update":
            return _update(server, call)
        case "patch":
            return _patch(server, call)
        case "delete":
            return _delete(server, call)
    return _delete_collection(server, call)


def _object(call: Call, obj: dict[str, Any], code: int = 200) -> Answer:
    return Answer(code, msgspec.json.encode({**obj, "apiVersion": _version(call)}))


def _success(call: Call, code: int = 200, **details: Any) -> Answer:
    body: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    if details:
        group = call.target.resource.group
        body["details"] = {**details, **({"group": group} if group else {}), "kind": call.target.resource.plural}
    return Answer(code, msgspec.json.encode({**body, "code": code} if not details else body))


def _checked(call: Call, body: Any) -> Any:
    if call.options.strict:
        strict.check(call.target.resource, call.target.version, body)
    return body


def _update(server: APIServer, call: Call) -> Answer:
    where = call.target
    body = _checked(call, decode_body(call.body, call.content_type))
    obj = server.update(
        where.resource.plural,
        body,
        where.namespace,
        name=where.name,
        subresource=where.subresource,
        field_manager=call.manager,
    )
    return _object(call, obj)


def _patch(server: APIServer, call: Call) -> Answer:
    where, plural = call.target, call.target.resource.plural
    patch = _checked(call, decode_body(call.body, call.content_type))
    media_type = call.content_type.partition(";")[0].strip()
    if media_type != APPLY_PATCH:
        obj = server.patch(
            plural,
            where.name,
            patch,
            media_type,
            where.namespace,
            subresource=where.subresource,
            field_manager=call.manager,
        )
        return _object(call, obj)
    if not call.options.field_manager:
        raise apierrors.bad_request(
            "PatchOptions.meta.k8s.io is invalid: fieldManager: Required value: is required for apply patch"
        )
    with server.lock:
        existed = object_key(where.namespace, where.name) in server.collection(plural).objects
        obj = server.apply(
            plural,
            patch,
            call.options.field_manager,
            where.namespace,
            name=where.name,
            subresource=where.subresource,
            force=call.options.force,
        )
    return _object(call, obj, 200 if existed else 201)


class _Preconditions(msgspec.Struct, rename="camel"):
    uid: str | None = None
    resource_version: str | None = None


class _DeleteOptions(msgspec.Struct, rename="camel"):
    preconditions: _Preconditions | None = None
    dry_run: list[str] | None = None


def _delete_options(call: Call) -> _DeleteOptions:
    if not call.body.strip():
        return _DeleteOptions()
    try:
        return msgspec.convert(decode_body(call.body, call.content_type), _DeleteOptions)
    except msgspec.ValidationError as error:
        raise apierrors.bad_request(f"DeleteOptions cannot be read: {error}") from error


def _delete(server: APIServer, call: Call) -> Answer:
    where, chosen = call.target, _delete_options(call)
    preconditions = chosen.preconditions or _Preconditions()
    arguments = (where.resource.plural, where.name, where.namespace)
    wanted = {"uid": preconditions.uid or "", "resource_version": preconditions.resource_version or ""}
    if chosen.dry_run:
        with server.dry_run():
            deleted: Deleted = server.delete(*arguments, **wanted)
    else:
        deleted = server.delete(*arguments, **wanted)
    # Pods and the DRA kinds are returned (ReturnDeletedObject), and so is what waits for its finalizers.
    if where.resource.plural == "pods" or where.resource.group or not deleted.gone:
        return _object(call, deleted.object)
    return _success(call, name=where.name, uid=deleted.object["metadata"]["uid"])


def _delete_collection(server: APIServer, call: Call) -> Answer:
    query, resource = call.options.query, call.target.resource
    items = server.delete_collection(resource.plural, query.namespace, query.label_selector, query.field_selector)
    body = {
        "kind": resource.list_kind,
        "apiVersion": _version(call),
        "metadata": {"resourceVersion": str(server.revision)},
        "items": items,
    }
    return Answer(200, msgspec.json.encode(body))


class _Named(msgspec.Struct, frozen=True):
    name: str = ""
    uid: str = ""


class _Binding(msgspec.Struct, frozen=True):
    target: _Named
    metadata: _Named = _Named()


def _bind(server: APIServer, call: Call) -> Answer:
    where = call.target
    try:
        binding = msgspec.convert(decode_body(call.body, call.content_type), _Binding)
    except msgspec.ValidationError as error:
        raise apierrors.bad_request(f"Binding cannot be read: {error}") from error
    if not binding.target.name:
        raise apierrors.bad_request("Binding is invalid: target.name: Required value")
    server.bind(where.name, where.namespace, binding.target.name, binding.metadata.uid)
    return _success(call, 201)
