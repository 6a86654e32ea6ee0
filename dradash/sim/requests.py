"""What an HTTP request to the API server asks for: path, query and body as values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qsl

import msgspec
import yaml

from dradash.sim import apierrors, protobuf
from dradash.sim.listing import Query
from dradash.sim.patching import APPLY_PATCH, TYPES
from dradash.sim.resources import Resource

MAX_BODY: Final = 3 * 1024 * 1024  # bytes, the real server's limit
_JSON: Final = ("application/json", *TYPES)
_YAML: Final = ("application/yaml", "application/x-yaml", APPLY_PATCH)
_OF_NAMESPACES: Final = ("status", "finalize")
_VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch"}


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A resource's collection (name "") or one object of it."""

    resource: Resource
    version: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The query parameters that mean something here; booleans are as Go reads them."""

    query: Query
    watch: bool = False
    bookmarks: bool = False
    timeout: float = 0.0  # seconds, 0 is the server's choice
    initial_events: bool = False
    field_manager: str = ""
    force: bool = False
    dry_run: bool = False
    strict: bool = False
    include_object: str = "Metadata"


def target(path: str, resources: Mapping[str, Resource]) -> Target:
    """Read a resource path. Raises ApiError 404 when nothing is served there."""
    parts = [part for part in path.split("/") if part]
    if parts[:1] == ["api"] and len(parts) > 2:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[:1] == ["apis"] and len(parts) > 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        raise apierrors.no_such_path()
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and not (len(rest) == 3 and rest[2] in _OF_NAMESPACES):
        namespace, rest = rest[1], rest[2:]
    resource = resources.get(rest[0])
    if resource is None or resource.group != group or version not in resource.versions or len(rest) > 3:
        raise apierrors.no_such_path()
    if (bool(namespace) and not resource.namespaced) or (len(rest) > 1 and resource.namespaced and not namespace):
        raise apierrors.no_such_path()
    name, subresource = [*rest[1:], "", ""][:2]
    _check_subresource(resource, subresource)
    return Target(resource=resource, version=version, namespace=namespace, name=name, subresource=subresource)


def _check_subresource(resource: Resource, subresource: str) -> None:
    served = {"", *(["status"] if resource.has_status else []), *(["binding"] if resource.plural == "pods" else [])}
    if subresource not in served:
        raise apierrors.no_such_path()


def verb(method: str, where: Target, *, watch: bool) -> str:
    """The API verb, as RBAC and faults name it. Raises ApiError 405."""
    if method == "GET":
        return "get" if where.name else "watch" if watch else "list"
    if method == "DELETE" and not where.subresource:
        return "delete" if where.name else "deletecollection"
    found = _VERBS.get(method)
    on_object = bool(where.name) and where.subresource != "binding"
    if found is None or (found == "create") == on_object:
        raise apierrors.method_not_allowed()
    return found


def _number(values: Mapping[str, str], name: str) -> int:
    text = values.get(name) or "0"
    if not text.isascii() or not text.isdigit():
        raise apierrors.bad_request(f'strconv.ParseInt: parsing "{text[:40]}": invalid syntax')
    return min(int(text), 2**31)


def options(query_string: bytes, namespace: str) -> Options:
    """Raises ApiError 400 for numbers that are none, 422 for what an older server does not know."""
    values = dict(parse_qsl(query_string.decode("latin-1"), keep_blank_values=True))

    def flag(name: str) -> bool:
        return values.get(name, "false").lower() in ("", "1", "t", "true")

    return Options(
        query=Query(
            namespace=namespace,
            label_selector=values.get("labelSelector", ""),
            field_selector=values.get("fieldSelector", ""),
            limit=_number(values, "limit"),
            continue_token=values.get("continue", ""),
            resource_version=values.get("resourceVersion", ""),
            match=values.get("resourceVersionMatch", ""),
        ),
        watch=flag("watch"),
        bookmarks=flag("allowWatchBookmarks"),
        timeout=float(_number(values, "timeoutSeconds")),
        initial_events=flag("sendInitialEvents"),
        field_manager=values.get("fieldManager", ""),
        force=flag("force"),
        dry_run=bool(values.get("dryRun")),
        strict=values.get("fieldValidation") == "Strict",
        include_object=values.get("includeObject") or "Metadata",
    )


def _without_aliases(body: bytes) -> Any:
    """YAML without aliases: a few hundred bytes of those can stand for gigabytes."""
    if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(body, Loader=yaml.CSafeLoader)):
        raise yaml.YAMLError("aliases are not allowed")
    return yaml.load(body, Loader=yaml.CSafeLoader)


def decode_body(body: bytes, content_type: str) -> Any:
    """The body's value by its media type (none is JSON). Raises ApiError 400 or 415."""
    media_type = content_type.partition(";")[0].strip().lower() or "application/json"
    if media_type == protobuf.MEDIA_TYPE:
        try:
            return protobuf.namespace(body)
        except protobuf.Unreadable as error:
            raise apierrors.unsupported_media_type((*_JSON, *_YAML)) from error
    if media_type not in (*_JSON, *_YAML):
        raise apierrors.unsupported_media_type((*_JSON, *_YAML))
    try:
        return msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        if media_type in _JSON:
            raise apierrors.bad_request(f"error decoding the body as JSON: {error}") from error
    try:
        return _without_aliases(body)
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise apierrors.bad_request(f"error decoding the body as YAML: {error}") from error


def wants_table(accept: str) -> bool:
    """The client asks for server-side printing, in the version of it that is served."""
    for choice in accept.split(","):
        parameters = {part.strip() for part in choice.split(";")[1:]}
        if {"as=Table", "g=meta.k8s.io", "v=v1"} <= parameters:
            return True
    return False


def aggregated_form(accept: str) -> str:
    """The form of aggregated discovery that the client prefers: "v2", "v2beta1", or "" for the plain one."""
    for choice in accept.split(","):
        parameters = {part.strip() for part in choice.split(";")[1:]}
        if {"as=APIGroupDiscoveryList", "g=apidiscovery.k8s.io"} <= parameters:
            for form in ("v2", "v2beta1"):
                if f"v={form}" in parameters:
                    return form
        elif choice.strip().startswith(("application/json", "*/*")) and not parameters:
            return ""
    return ""
