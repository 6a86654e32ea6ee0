"""metav1.Status errors with the API server's own codes, reasons and messages (k8s.io/apimachinery/pkg/api/errors)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from dradash.sim.resources import Resource


class Cause(msgspec.Struct, frozen=True):
    """One entry of details.causes: for validation the field's error, for apply the conflicting manager."""

    reason: str
    message: str
    field: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


class ApiError(Exception):
    """An answer that is not success; `status()` is the body that the API server sends."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: dict[str, Any] | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.retry_after = retry_after  # seconds, sent as the Retry-After header too

    def status(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
        }
        details = dict(self.details or {})
        if self.retry_after is not None:
            details["retryAfterSeconds"] = self.retry_after
        if details:
            body["details"] = details
        body["code"] = self.code
        return body


def _details(resource: Resource, name: str, **more: Any) -> dict[str, Any]:
    details: dict[str, Any] = {"name": name} if name else {}
    if resource.group:
        details["group"] = resource.group
    return {**details, "kind": resource.plural, **more}


def not_found(resource: Resource, name: str) -> ApiError:
    return ApiError(404, "NotFound", f'{resource.qualified} "{name}" not found', _details(resource, name))


def no_such_path() -> ApiError:
    return ApiError(404, "NotFound", "the server could not find the requested resource")


def already_exists(resource: Resource, name: str) -> ApiError:
    return ApiError(409, "AlreadyExists", f'{resource.qualified} "{name}" already exists', _details(resource, name))


def conflict(resource: Resource, name: str, why: str) -> ApiError:
    message = f'Operation cannot be fulfilled on {resource.qualified} "{name}": {why}'
    return ApiError(409, "Conflict", message, _details(resource, name))


def modified(resource: Resource, name: str) -> ApiError:
    why = "the object has been modified; please apply your changes to the latest version and try again"
    return conflict(resource, name, why)


def uid_differs(resource: Resource, name: str, wanted: str, found: str) -> ApiError:
    why = f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}"
    return conflict(resource, name, why)


def revision_differs(resource: Resource, name: str, wanted: str, found: str) -> ApiError:
    why = f"Precondition failed: ResourceVersion in precondition: {wanted}, ResourceVersion in object meta: {found}"
    return conflict(resource, name, why)


def apply_conflict(causes: Sequence[Cause]) -> ApiError:
    count = f"{len(causes)} conflict" + ("s" if len(causes) > 1 else "")
    if len(causes) == 1:
        listed = f"{causes[0].message}: {causes[0].field}"
    else:
        managers: dict[str, list[str]] = {}
        for cause in causes:
            managers.setdefault(cause.message, []).append(cause.field)
        listed = "\n".join(f"{who}:\n" + "\n".join(f"- {f}" for f in fields) for who, fields in managers.items())
    details = {"causes": [msgspec.to_builtins(c) for c in causes]}
    return ApiError(409, "Conflict", f"Apply failed with {count}: {listed}", details)


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def invalid(resource: Resource, name: str, causes: Sequence[Cause]) -> ApiError:
    """Several causes are listed in brackets, one is not (field.ErrorList.ToAggregate)."""
    texts = list(dict.fromkeys(str(c) for c in causes))
    listed = texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    details = {
        **({"name": name} if name else {}),
        **({"group": resource.group} if resource.group else {}),
        "kind": resource.kind,
        "causes": [msgspec.to_builtins(c) for c in causes],
    }
    return ApiError(422, "Invalid", f'{kind} "{name}" is invalid: {listed}', details)


def unprocessable() -> ApiError:
    return ApiError(422, "Invalid", "the server rejected our request due to an error in our request")


def forbidden(resource: Resource, verb: str, namespace: str) -> ApiError:
    scope = f' in the namespace "{namespace}"' if namespace else " at the cluster scope"
    message = (
        f'{resource.qualified} is forbidden: User "dradash" cannot {verb} resource "{resource.plural}" '
        f'in API group "{resource.group}"{scope}'
    )
    return ApiError(403, "Forbidden", message, _details(resource, ""))


def unauthorized() -> ApiError:
    return ApiError(401, "Unauthorized", "Unauthorized")


def method_not_allowed() -> ApiError:
    return ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")


def too_large(limit: int) -> ApiError:
    return ApiError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {limit}")


def unsupported_media_type(accepted: Sequence[str]) -> ApiError:
    message = f"the body of the request was in an unknown format - accepted media types include: {', '.join(accepted)}"
    return ApiError(415, "UnsupportedMediaType", message)


def too_many_requests(retry_after: int) -> ApiError:
    message = "the server has received too many requests and has asked us to try again later"
    return ApiError(429, "TooManyRequests", message, retry_after=retry_after)


def too_old(revision: int, oldest: int) -> ApiError:
    return ApiError(410, "Expired", f"too old resource version: {revision} ({oldest})")


def continue_expired() -> ApiError:
    message = (
        "The provided continue parameter is too old to display a consistent list result. You must start a new list "
        "without the continue parameter."
    )
    return ApiError(410, "Expired", message)


def too_large_revision(wanted: int, current: int) -> ApiError:
    message = f"Too large resource version: {wanted}, current: {current}"
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    return ApiError(504, "Timeout", message, {"causes": [cause]}, retry_after=1)


def internal(message: str) -> ApiError:
    return ApiError(500, "InternalError", f"Internal error occurred: {message}")


def unavailable() -> ApiError:
    return ApiError(503, "ServiceUnavailable", "the server is currently unable to handle the request")


def timed_out() -> ApiError:
    return ApiError(504, "Timeout", "the server was unable to return a response in the time allotted")


def initial_events_forbidden() -> ApiError:
    """What a server without the WatchList feature says; clients then list first."""
    message = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
    cause = {"reason": "FieldValueForbidden", "message": f"Forbidden: {message}", "field": "sendInitialEvents"}
    text = f'ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: {message}'
    return ApiError(422, "Invalid", text, {"group": "meta.k8s.io", "kind": "ListOptions", "causes": [cause]})
