"""The API server over HTTP: the only file that imports the `kubernetes` client.

The client gives configuration, authentication (renewed by itself), TLS and proxies; bodies stay raw bytes. Its own
retries are off: it would sleep through a 429 in here, where nobody sees it.
"""

from __future__ import annotations

import email.utils
import os
import re
import threading
import time
import urllib.parse
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
import urllib3
from kubernetes import client, config
from kubernetes.config.config_exception import ConfigException

from dradash.informer.relevance import EVENTS_FIELD_SELECTOR
from dradash.informer.sockets import Sockets, watched_pools
from dradash.informer.source import (
    NOT_ACCEPTED,
    ListPage,
    NotServed,
    SourceError,
    Unauthorized,
    Unavailable,
    error_of_status,
)
from dradash.informer.watch_stream import KubernetesWatch
from dradash.kinds.registry import KINDS, Kind

CONNECT_TIMEOUT: Final = 10.0  # seconds
READ_TIMEOUT: Final = 60.0  # for one read of a list
SHORT_TIMEOUT: Final = 10.0  # for one read of a small answer; a single object is read while its kind waits
WATCH_GRACE: Final = 30.0  # a watch that is silent for its time-out and this long is dead
LARGEST_ERROR: Final = 16 * 1024  # bytes read of an error's body

# Discovery asks for these only: an aggregated API that is down must not hold the others up.
_GROUPS: Final = frozenset(kind.group for kind in KINDS.values() if kind.group)

_TRANSPORT_ERRORS: Final = (
    urllib3.exceptions.HTTPError,
    OSError,
    client.ApiException,
    ConfigException,
    ValueError,  # http.client and ssl on hostile answers
)


class BadConfig(SourceError):
    """The kubeconfig cannot be used; the message says which one and why."""


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str | None = None
    continue_: str | None = msgspec.field(default=None, name="continue")


class _List(msgspec.Struct):
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)
    items: list[msgspec.Raw] | None = None


class _Resource(msgspec.Struct):
    name: str = ""


class _ResourceList(msgspec.Struct):
    resources: list[_Resource] | None = None


class _GroupVersion(msgspec.Struct, rename="camel"):
    group_version: str = ""


class _Group(msgspec.Struct):
    versions: list[_GroupVersion] = []


class _Groups(msgspec.Struct):
    groups: list[_Group] | None = None


def load_config(kubeconfig: str = "", context: str = "") -> client.Configuration:
    """From the file (default: KUBECONFIG or ~/.kube/config), or from the pod that we run in when no file is named
    and none is there. Raises BadConfig."""
    configuration = client.Configuration()
    path = kubeconfig or os.environ.get("KUBECONFIG", "") or "~/.kube/config"
    in_cluster = not kubeconfig and not context and "KUBERNETES_SERVICE_HOST" in os.environ
    try:
        if in_cluster and not any(os.path.exists(os.path.expanduser(p)) for p in path.split(os.pathsep)):
            config.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
        else:
            expanded = os.pathsep.join(os.path.expanduser(part) for part in path.split(os.pathsep))
            config.load_kube_config(  # type: ignore[no-untyped-call]
                config_file=expanded, context=context or None, client_configuration=configuration, persist_config=False
            )
    except Exception as error:  # the loader raises whatever a wrong file makes it stumble over
        raise BadConfig(f"cannot use kubeconfig {path}: {error}") from error
    return configuration


class KubernetesSource:
    """One cluster. Thread-safe; `close` ends every request under way.

    reload: the configuration as it is now. The client renews by itself only what says when it expires (an exec plugin's
    token, a pod's); all else is read anew by the request after one whose credentials were not accepted.
    """

    def __init__(
        self, configuration: client.Configuration, reload: Callable[[], client.Configuration] | None = None
    ) -> None:
        self.server: str = _server(configuration)
        self._sockets = Sockets()
        self._client = self._client_of(configuration)
        self._reload = reload
        self._lock = threading.Lock()
        self._not_accepted: client.ApiClient | None = None
        self._selectors = {"events": EVENTS_FIELD_SELECTOR}

    @classmethod
    def from_kubeconfig(cls, kubeconfig: str = "", context: str = "") -> KubernetesSource:
        return cls(load_config(kubeconfig, context), lambda: load_config(kubeconfig, context))

    def close(self) -> None:
        self._sockets.shut_down()
        self._client.rest_client.pool_manager.clear()

    def discover(self) -> dict[str, frozenset[str]]:
        groups = self._decode(self._read("/apis"), _Groups, "/apis").groups or []
        paths = {"v1": "/api/v1"}
        for version in (v.group_version for group in groups for v in group.versions):
            if version.partition("/")[0] in _GROUPS:
                paths[version] = f"/apis/{version}"
        served: dict[str, frozenset[str]] = {}
        for version, path in paths.items():
            try:
                resources = self._decode(self._read(path), _ResourceList, path).resources or []
            except NotServed:  # gone since the group list was read
                continue
            served[version] = frozenset(r.name for r in resources if "/" not in r.name)
        return served

    def list(self, kind: Kind, version: str, limit: int, continue_token: str) -> ListPage:
        query = {"limit": str(limit)} if limit else {}
        if continue_token:
            query["continue"] = continue_token
        path = kind.path(version)
        page = self._decode(self._read_selected(kind, path, query), _List, path)
        items = tuple(bytes(item) for item in page.items or ())
        return ListPage(items, page.metadata.resource_version or "", page.metadata.continue_ or "")

    def watch(self, kind: Kind, version: str, resource_version: str, timeout: int) -> KubernetesWatch:
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(timeout),
        }
        return KubernetesWatch(self._open_selected(kind, kind.path(version), query, timeout + WATCH_GRACE))

    def get(self, kind: Kind, version: str, namespace: str, name: str) -> bytes | None:
        if not name.strip(".") or (namespace and not namespace.strip(".")):
            return None  # no object has such a name, and as a path it would climb
        collection = kind.path(version)
        if namespace:
            root, _, plural = collection.rpartition("/")
            collection = f"{root}/namespaces/{_segment(namespace)}/{plural}"
        try:
            return self._read(f"{collection}/{_segment(name)}")
        except NotServed:
            return None

    # -- credentials ---------------------------------------------------------------------------------------------

    def _client_of(self, configuration: client.Configuration) -> client.ApiClient:
        configuration.retries = False
        configuration.keep_alive = True  # TCP keepalive finds a dead peer long before a watch's time-out
        made = client.ApiClient(configuration)
        made.rest_client.pool_manager.pool_classes_by_scheme = watched_pools(self._sockets)
        return made

    def _current(self) -> client.ApiClient:
        """All kinds are refused together: the first that tries again reads the file, for all of them."""
        with self._lock:
            if self._reload is not None and self._client is self._not_accepted:
                before, self._client = self._client, self._client_of(self._read_anew(self._reload))
                before.rest_client.pool_manager.clear()
            return self._client

    def _read_anew(self, reload: Callable[[], client.Configuration]) -> client.Configuration:
        try:
            configuration = reload()
        except BadConfig as error:
            # Without the loader's words: they may quote the file.
            raise Unauthorized(f"{NOT_ACCEPTED}, and the kubeconfig cannot be read anew") from error
        if _server(configuration) != self.server:  # the model is one cluster's
            raise Unauthorized(f"{NOT_ACCEPTED}, and the kubeconfig names another server now: start dradash again")
        return configuration

    # -- requests ------------------------------------------------------------------------------------------------

    def _read_selected(self, kind: Kind, path: str, query: dict[str, str]) -> bytes:
        return _body(self._open_selected(kind, path, query, READ_TIMEOUT))

    def _open_selected(
        self, kind: Kind, path: str, query: dict[str, str], read_timeout: float
    ) -> urllib3.BaseHTTPResponse:
        selector = self._selectors.get(kind.plural)
        if selector is None:
            return self._open(path, query, read_timeout)
        try:
            return self._open(path, query | {"fieldSelector": selector}, read_timeout)
        except _BadRequest:
            # A server that does not know one of the fields: our own filter does the whole work then.
            del self._selectors[kind.plural]
            return self._open(path, query, read_timeout)

    def _read(self, path: str) -> bytes:
        return _body(self._open(path, {}, SHORT_TIMEOUT))

    def _open(self, path: str, query: Mapping[str, str], read_timeout: float) -> urllib3.BaseHTTPResponse:
        """The response with its body unread. Raises SourceError for everything but 200."""
        using = self._current()
        try:
            method, url, headers, *_ = using.param_serialize(
                "GET",
                path,
                query_params=list(query.items()),
                header_params={"Accept": "application/json"},
                auth_settings=["BearerToken"],
            )
            answer = using.call_api(method, url, headers, _request_timeout=(CONNECT_TIMEOUT, read_timeout))
        except _TRANSPORT_ERRORS as error:
            raise Unavailable(f"cannot reach {self.server}: {_reason(error)}") from error
        response: urllib3.BaseHTTPResponse = answer.response
        if response.status == 401:
            self._not_accepted = using
        if response.status != 200:
            raise _error_of(response)
        return response

    def _decode(self, body: bytes, type_: type[Any], path: str) -> Any:
        try:
            return msgspec.json.decode(body, type=type_)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise Unavailable(f"the answer to {path} is not understood: {error}") from error


class _BadRequest(Unavailable):
    """400."""


def _server(configuration: client.Configuration) -> str:
    """Scheme and host alone. A path may hold a credential (the simulated API server's does)."""
    return "/".join(configuration.host.split("/")[:3])


def _segment(name: str) -> str:
    """One segment of a path. Names come from objects in the cluster and may be anything."""
    return urllib.parse.quote(name, safe="")


def _body(response: urllib3.BaseHTTPResponse) -> bytes:
    try:
        return response.read()
    except _TRANSPORT_ERRORS as error:
        raise Unavailable(f"the answer broke off: {_reason(error)}") from error
    finally:
        response.close()


def _reason(error: Exception) -> str:
    if isinstance(error, client.ApiException):
        return str(error.reason).strip()
    # urllib3 begins with the connection's repr; which server it is was said already.
    return re.sub(r"^\w+\(host=.*?\): ", "", str(error)) or type(error).__name__


def _error_of(response: urllib3.BaseHTTPResponse) -> SourceError:
    try:
        body = response.read(LARGEST_ERROR)
    except _TRANSPORT_ERRORS:
        body = b""
    finally:
        response.close()
    error = error_of_status(body, response.status, retry_after(response.headers.get("Retry-After"), time.time()))
    return _BadRequest(str(error)) if response.status == 400 else error


def retry_after(header: str | None, now: float) -> float | None:
    """Seconds that a Retry-After header asks for: a number or an HTTP date. None when there is none or it is wrong."""
    text = (header or "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - now)
    except (ValueError, TypeError, OverflowError):
        return None
