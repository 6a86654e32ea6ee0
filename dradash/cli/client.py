"""A running dradash over its REST API. The standard library alone: the command starts fast."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator, Mapping
from http.client import HTTPException
from typing import IO, Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener

TIMEOUT: Final = 30.0  # seconds; a watch is told at least every 15 that nothing happened
PAGE: Final = 1000
NDJSON: Final = "application/x-ndjson"
UNKNOWN_PARAMETER: Final = "urn:dradash:problem:unknown-parameter"
_LONGEST: Final = 64 * 1024 * 1024


class ClientError(Exception):
    """One sentence for the user. status: HTTP's, 0 when nothing answered.

    allowed: values that would have been accepted, or, if a parameter itself is refused, names of parameters.
    """

    def __init__(
        self, message: str, status: int = 0, allowed: tuple[str, ...] = (), *, of_parameters: bool = False
    ) -> None:
        super().__init__(message)
        self.status, self.allowed, self.of_parameters = status, allowed, of_parameters


class _NoRedirects(HTTPRedirectHandler):
    """A redirect is the sign-in form, or another site, which must not be given the token."""

    def redirect_request(self, *_args: Any, **_kwargs: Any) -> None:
        return None


class Client:
    """Raises ClientError."""

    def __init__(self, url: str, token: str = "") -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ClientError(f"{url!r} is no address: begin it with http:// or https://")
        self._base = url.rstrip("/")
        self._token = token.strip()
        # As Latin-1, and without control characters: http.client's own words would repeat the token.
        if not self._token.isprintable() or max(self._token, default="") > "\xff":
            raise ClientError("the token cannot be sent: it has a line break, or another character that no header may")
        self._opener = build_opener(_NoRedirects, HTTPSHandler(context=ssl.create_default_context()))

    def get(self, *path: str, **params: str) -> dict[str, Any]:
        with self._open(path, params, "application/json") as answer:
            try:
                found: dict[str, Any] = json.loads(answer.read(_LONGEST))
            except ValueError as error:
                raise ClientError(f"{self._base} does not answer as dradash does: {error}") from error
        return found

    def rows(self, resource: str, limit: int, **params: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Up to `limit` rows, page after page, and the last page without them.

        Its revision is that of the first page: a watch from there misses nothing that changed between two pages.
        """
        rows: list[dict[str, Any]] = []
        began: dict[str, Any] = {}
        cursor: dict[str, str] = {}
        while True:
            page = self.get(resource, **params, **cursor, limit=str(min(PAGE, limit - len(rows))))
            rows += page.pop("items")
            began = began or {"revision": page["revision"]}
            if not page.get("next") or len(rows) >= limit:
                return rows, page | began
            cursor = {"cursor": page["next"]}

    def watch(self, resource: str, **params: str) -> Iterator[dict[str, Any]]:
        """One stream's events; it ends by itself after a while and can be taken up again from the last revision."""
        with self._open((resource,), params | {"watch": "1"}, NDJSON) as stream:
            try:
                for line in stream:
                    if line.strip():
                        yield json.loads(line)
            except (OSError, HTTPException, ValueError) as error:
                raise ClientError(f"the watch broke off: {error}") from error

    def _open(self, path: tuple[str, ...], params: Mapping[str, str], accept: str) -> IO[bytes]:
        query = urlencode({k: v for k, v in params.items() if v})
        address = f"{self._base}/api/v1/{'/'.join(quote(p, safe='') for p in path)}" + (f"?{query}" if query else "")
        headers = {"Accept": accept, "User-Agent": "dradash"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        try:
            answer: IO[bytes] = self._opener.open(Request(address, headers=headers), timeout=TIMEOUT)  # noqa: S310
        except HTTPError as error:
            raise self._refusal(error) from error
        except (URLError, OSError, HTTPException, ValueError) as error:
            reason = getattr(error, "reason", None) or error
            raise ClientError(f"{self._base} cannot be reached: {reason}; set --url or DRADASH_URL") from error
        return answer

    def _refusal(self, error: HTTPError) -> ClientError:
        if error.code in (301, 302, 303, 307, 308, 401, 403):
            hint = "the token does not fit" if self._token else "it wants a token: set --token or DRADASH_TOKEN"
            return ClientError(f"{self._base} refuses: {hint}", 401)
        try:
            problem = json.loads(error.read(_LONGEST))
            allowed = tuple(map(str, problem.get("allowed") or ()))
            unknown = str(problem.get("type")) == UNKNOWN_PARAMETER
            return ClientError(f"{problem['title']}: {problem['detail']}", error.code, allowed, of_parameters=unknown)
        except (ValueError, KeyError, TypeError, OSError, HTTPException):
            return ClientError(f"{self._base} answers {error.code}: is it a dradash?", error.code)
