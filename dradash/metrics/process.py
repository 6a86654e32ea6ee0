"""What this process itself does: counted as it happens, in a registry of its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from django.http import HttpRequest, HttpResponseBase
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.process_collector import ProcessCollector

from dradash.metrics.bounds import Names
from dradash.metrics.table import METRICS

METHODS: Final = frozenset({"GET", "HEAD", "POST", "OPTIONS"})
RESPONSES: Final = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
REQUESTS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)

disable_created_metrics()  # type: ignore[no-untyped-call]  # or each has a second series that says since when


class ProcessMetrics:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._drivers = Names()
        self._responses = Histogram(
            *_described("dradash_driver_response_seconds"), buckets=RESPONSES, registry=self.registry
        )
        self._requests = Counter(*_described("dradash_http_requests_total"), registry=self.registry)
        self._took = Histogram(
            *_described("dradash_http_request_duration_seconds"), buckets=REQUESTS, registry=self.registry
        )
        self._sockets = Gauge(*_described("dradash_websocket_clients"), registry=self.registry)
        Gauge(*_described("dradash_build_info"), registry=self.registry).labels(_version()).set(1)

    def responded(self, driver: str, seconds: float) -> None:
        self._responses.labels(self._drivers.add(driver)).observe(seconds)

    def opened(self) -> None:
        self._sockets.inc()

    def closed(self) -> None:
        self._sockets.dec()

    def answered(self, method: str, view: str, status: int, took: float) -> None:
        self._requests.labels(method if method in METHODS else "other", view, str(status)).inc()
        self._took.labels(view).observe(took)


def _described(name: str) -> tuple[str, str, tuple[str, ...]]:
    metric = METRICS[name]
    return name, metric.help, metric.labels


def _version() -> str:
    try:
        return version("dradash")
    except PackageNotFoundError:  # run from a checkout
        return "unknown"


PROCESS: Final = ProcessMetrics()


class MetricsMiddleware:
    """The outermost one, so that refusals and static files count too. A view is told by its name: never by a path."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        started = time.perf_counter()
        response = self.get_response(request)
        match = request.resolver_match
        view = (match.view_name if match else "") or "none"
        PROCESS.answered(request.method or "", view, response.status_code, time.perf_counter() - started)
        return response
