"""The list verb: chunks with limit and continue, and what resourceVersion means for it."""

from __future__ import annotations

import base64
from typing import Any

import msgspec

from dradash.sim import apierrors
from dradash.sim.resources import Resource
from dradash.sim.selectors import compile_selectors
from dradash.sim.storage import Collection, Stored, keys_under


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """limit 0 is everything. resource_version: "" and "0" are the present."""

    namespace: str = ""
    label_selector: str = ""
    field_selector: str = ""
    limit: int = 0
    continue_token: str = ""
    resource_version: str = ""
    match: str = ""


class Page(msgspec.Struct, frozen=True):
    """remaining: objects behind this page, None when it is the last or selectors make it unknown."""

    items: list[Stored]
    revision: int
    continue_token: str = ""
    remaining: int | None = None

    def metadata(self) -> dict[str, Any]:
        body: dict[str, Any] = {"resourceVersion": str(self.revision)}
        if self.continue_token:
            body["continue"] = self.continue_token
        if self.remaining is not None:
            body["remainingItemCount"] = self.remaining
        return body

    def bodies(self, resource: Resource, version: str) -> list[bytes]:
        """The items; where versions are mixed they say their own."""
        if resource.has_both:
            return [stored.raw(resource, version) for stored in self.items]
        return [stored.body for stored in self.items]

    def raw(self, resource: Resource, version: str) -> bytes:
        """The list's JSON; as with the real server its items are without kind and apiVersion."""
        head = {"kind": resource.list_kind, "apiVersion": resource.api_version(version), "metadata": self.metadata()}
        joined = b",".join(self.bodies(resource, version))
        return msgspec.json.encode(head)[:-1] + b',"items":[' + joined + b"]}"


class _Token(msgspec.Struct, frozen=True):
    rv: int
    start: str


def parse_revision(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise apierrors.bad_request(f"invalid resource version {text!r:.40}: strconv.ParseUint: invalid syntax")
    return int(text)


def _read_token(text: str) -> _Token:
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(text), type=_Token)
    except (ValueError, msgspec.MsgspecError) as error:
        raise apierrors.bad_request("continue key is not valid") from error


def _start(revision: int, query: Query) -> _Token:
    """Which revision to show, and the key to go on behind."""
    if query.continue_token:
        if query.resource_version not in ("", "0"):
            raise apierrors.bad_request("specifying resource version is not allowed when using continue")
        return _read_token(query.continue_token)
    wanted = parse_revision(query.resource_version or "0")
    if wanted > revision:
        raise apierrors.too_large_revision(wanted, revision)
    return _Token(wanted if query.match == "Exact" else revision, "")


def page(collection: Collection, revision: int, query: Query) -> Page:
    """One chunk of a list. Raises ApiError 400, 410 or 504."""
    token = _start(revision, query)
    matches = compile_selectors(collection.resource.plural, query.label_selector, query.field_selector)
    keys, objects = collection.at(token.rv)
    keys = keys_under(keys, query.namespace, token.start)
    if matches is None:
        chosen = keys[: query.limit] if query.limit else keys
        items = [objects[key] for key in chosen]
    else:
        items = []
        chosen = keys
        for i, key in enumerate(keys):
            if matches(objects[key].object):
                items.append(objects[key])
                if len(items) == query.limit:
                    chosen = keys[: i + 1]
                    break
    behind = len(keys) - len(chosen)
    if not behind:
        return Page(items, token.rv)
    following = base64.urlsafe_b64encode(msgspec.json.encode(_Token(token.rv, chosen[-1]))).decode()
    return Page(items, token.rv, following, behind if matches is None else None)
