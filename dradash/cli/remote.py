"""`get`, `describe` and `watch`: questions to a running dradash."""

from __future__ import annotations

import json
import os
import sys
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import yaml

from dradash.cli.client import Client, ClientError
from dradash.cli.described import described
from dradash.cli.describedclaim import described_claim
from dradash.cli.style import Style
from dradash.cli.tables import TABLES, cells, line, titles, widths
from dradash.scheduling.doctor.finding import Severity
from dradash.scheduling.states import ACTORS
from dradash.scheduling.verdict import PERSON, Outcome

GET_HELP: Final = "list pods, claims, negotiations, findings, devices and more of a running dradash"
DESCRIBE_HELP: Final = "tell all about one pod or claim"
WATCH_HELP: Final = "list, then tell each change as it comes"
DESCRIPTION: Final = """\
The running dradash is named by --url and --token, or DRADASH_URL and DRADASH_TOKEN; http://127.0.0.1:8000 otherwise.
Exit status: 0, 1 when it refuses or there is no such thing, 2 when it cannot be reached, 3 when the
output cannot be written."""
URL: Final = "http://127.0.0.1:8000"
_WATCHED: Final = ("pods", "claims", "negotiations")
_NOT_WATCHED: Final = ("about", "severity", "code", "pool")  # of findings and devices
# What may follow an option, for completion alone: the server knows what it takes.
VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    "filter_outcome": ("any", *map(str, Outcome), "NotJudged"),
    "filter_severity": tuple(map(str, Severity)),
    "filter_who": (PERSON, *(who for who, _, _ in ACTORS)),
}
_RETRY: Final = 2.0  # seconds
_GONE: Final = 410


def add_get(parser: ArgumentParser) -> None:
    parser.add_argument("resource", choices=tuple(TABLES))
    _add_filters(parser)
    parser.add_argument("--limit", type=_limit, default=10_000, metavar="N", help="at most so many rows")
    parser.add_argument("--at", default="", metavar="TIME", help="as it was then (RFC 3339)")
    _add_common(parser, ("table", "wide", "json", "yaml"))


def add_watch(parser: ArgumentParser) -> None:
    parser.add_argument("resource", choices=_WATCHED)
    _add_filters(parser, watched=True)
    _add_common(parser, ("table", "wide", "json"))


def add_describe(parser: ArgumentParser) -> None:
    parser.add_argument("resource", choices=("pod", "claim"))
    parser.add_argument("name", metavar="NS/NAME")
    parser.add_argument("--at", default="", metavar="TIME", help="as it was then (RFC 3339)")
    _add_common(parser, ("text", "json", "yaml"))


def _add_filters(parser: ArgumentParser, *, watched: bool = False) -> None:
    """watched: without those that only findings and devices take, which cannot be watched."""
    parser.add_argument("-n", "--namespace", default="", metavar="NS", help="only this namespace (default: all)")
    parser.add_argument("-A", "--all-namespaces", action="store_true", help="all namespaces, which is the default")
    for name, text in (
        ("outcome", "only pods with this verdict; any: bound ones too"),
        ("reason", "only pods refused for this reason (a code)"),
        ("state", "only claims, negotiations, pools or devices in this state"),
        ("about", "only findings about this object: KIND/KEY such as pods/ml/train"),
        ("severity", "only findings of this severity"),
        ("code", "only findings with this code"),
        ("class", "only with this ResourceClass or DeviceClass"),
        ("who", "only pods for which this one must act next (driver, admin, ...; person: only a person can help)"),
        ("driver", "only with this driver"),
        ("node", "only with this node"),
        ("pool", "only devices of this pool"),
    ):
        if watched and name in _NOT_WATCHED:
            continue
        parser.add_argument(f"--{name}", dest=f"filter_{name}", default="", metavar=name.upper(), help=text)
    text = "only pods or negotiations that have waited for at least so long (90s, 15m, 2h)"
    parser.add_argument("--waiting", dest="filter_waiting", default="", metavar="DURATION", help=text)
    parser.add_argument("-q", dest="filter_q", default="", metavar="TEXT", help="only what contains this text")
    parser.add_argument("--sort", default="", metavar="COLUMN", help="order; -COLUMN: descending (--sort=-since)")


def _add_common(parser: ArgumentParser, outputs: tuple[str, ...]) -> None:
    parser.add_argument("-o", "--output", choices=outputs, default=outputs[0], help=f"default: {outputs[0]}")
    parser.add_argument("--url", default="", metavar="URL", help="of the running dradash (DRADASH_URL)")
    parser.add_argument("--token", default="", metavar="T", help="that it wants (better: DRADASH_TOKEN)")


def _limit(raw: str) -> int:
    if not raw.isdigit() or not int(raw):
        raise ArgumentTypeError("use a whole number above zero")
    return int(raw)


def _client(args: Namespace) -> Client:
    return Client(
        args.url or os.environ.get("DRADASH_URL", "") or URL, args.token or os.environ.get("DRADASH_TOKEN", "")
    )


def _params(args: Namespace) -> dict[str, str]:
    given = {name.removeprefix("filter_"): value for name, value in vars(args).items() if name.startswith("filter_")}
    given |= {"namespace": args.namespace, "sort": args.sort}
    return {name: value for name, value in given.items() if value}


def _failed(error: ClientError, command: str, args: Namespace) -> int:
    allowed = error.allowed
    if error.of_parameters:  # those that this command has an option for
        options = {name.removeprefix("filter_") for name in vars(args)}
        allowed = tuple("-q" if name == "q" else f"--{name}" for name in allowed if name in options)
    hint = f" (allowed: {', '.join(allowed)})" if allowed else ""
    sys.stderr.write(f"dradash {command}: {error}{hint}\n")
    return 1 if error.status else 2


# --- get -------------------------------------------------------------------------------------------------------------


def get(args: Namespace) -> int:
    try:
        at = {"at": args.at} if args.at else {}
        rows, page = _client(args).rows(args.resource, args.limit, **_params(args), **at)
    except ClientError as error:
        return _failed(error, "get", args)
    if args.output in ("json", "yaml"):
        _dump({"items": rows} | page, args.output)
        return 0
    if not rows:
        sys.stderr.write(f"no {args.resource} found\n")
        return 0
    wide = args.output == "wide"
    now = _moment(args.at)
    table = [titles(args.resource, wide=wide), *(cells(args.resource, row, now, wide=wide) for row in rows)]
    sizes, style = widths(table), Style.of(sys.stdout, os.environ)
    sys.stdout.writelines(f"{line(row, sizes, style)}\n" for row in table)
    total = page["total"]
    if page.get("next"):
        least = "" if total["exact"] else "at least "
        sys.stderr.write(f"{len(rows)} of {least}{total['count']} shown; --limit shows more\n")
    return 0


def _moment(at: str) -> float:
    """What ages count to, in Unix seconds: the moment asked about, which the server has understood by now, or now."""
    try:
        return datetime.fromisoformat(at).timestamp() if at else time.time()
    except ValueError:
        return time.time()


def _dump(value: Any, output: str) -> None:
    if output == "json":
        sys.stdout.write(json.dumps(value, indent=2) + "\n")
    else:
        sys.stdout.write(yaml.safe_dump(value, sort_keys=False))


# --- describe --------------------------------------------------------------------------------------------------------


def describe(args: Namespace) -> int:
    namespace, slash, name = args.name.rpartition("/")
    where = (namespace if slash else "default", name)
    at = {"at": args.at} if args.at else {}
    return _describe_claim(args, where, at) if args.resource == "claim" else _describe_pod(args, where, at)


def _describe_claim(args: Namespace, where: tuple[str, str], at: dict[str, str]) -> int:
    try:
        detail = _client(args).get("claims", *where, **at)
    except ClientError as error:
        return _failed(error, "describe", args)
    if args.output == "text":
        sys.stdout.write(described_claim(detail, _moment(args.at), Style.of(sys.stdout, os.environ)))
    else:
        _dump(detail, args.output)
    return 0


def _describe_pod(args: Namespace, where: tuple[str, str], at: dict[str, str]) -> int:
    try:
        client = _client(args)
        detail = client.get("pods", *where, **at)
        verdict = _if_there(client, "pods", *where, "verdict", **at)
        devices = _if_there(client, "pods", *where, "devices", **at)
        negotiation = _if_there(client, "negotiations", *where, **at) if _may_negotiate(verdict) else None
    except ClientError as error:
        return _failed(error, "describe", args)
    if args.output == "text":
        style = Style.of(sys.stdout, os.environ)
        sys.stdout.write(described(detail, verdict, devices, negotiation, _moment(args.at), style))
    else:
        _dump(detail | {"verdict": verdict, "devices": devices, "negotiation": negotiation}, args.output)
    return 0


def _may_negotiate(verdict: Mapping[str, Any] | None) -> bool:
    """With structured parameters alone no driver is asked; a pod of both generations, Unknown, may have a context."""
    return verdict is None or verdict["generation"] != "structured" or verdict["outcome"] == "Unknown"


def _if_there(client: Client, *path: str, **params: str) -> dict[str, Any] | None:
    try:
        return client.get(*path, **params)
    except ClientError as error:
        if error.status == 404:
            return None
        raise


# --- watch -----------------------------------------------------------------------------------------------------------


def watch(args: Namespace) -> int:
    """Until Ctrl-C. What breaks off is taken up again from the last revision, or listed anew when that is too old."""
    try:
        watcher = _Watcher(_client(args), args)
        watcher.begin()
    except ClientError as error:
        return _failed(error, "watch", args)
    while True:
        try:
            watcher.follow()
        except ClientError as error:
            if error.status in (400, 401, 404):
                return _failed(error, "watch", args)
            sys.stderr.write(f"dradash watch: {error}; going on in {_RETRY:g} s\n")
            time.sleep(_RETRY)


class _Watcher:
    def __init__(self, client: Client, args: Namespace) -> None:
        self._client, self._resource, self._params = client, args.resource, _params(args)
        self._output: str = args.output
        self._style = Style.of(sys.stdout, os.environ)
        self._sizes = [len("MODIFIED"), *map(len, titles(self._resource, wide=self._wide))]
        self._revision, self._instance = "", ""
        self._again = False  # the list is told anew with what follows

    @property
    def _wide(self) -> bool:
        return self._output == "wide"

    def begin(self) -> None:
        rows, page = self._client.rows(self._resource, 10_000, **self._params)
        self._revision, self._instance = str(page["revision"]), page["instance"]
        if self._output != "json":
            now = time.time()
            table = [["", *titles(self._resource, wide=self._wide)]]
            table += [["", *cells(self._resource, row, now, wide=self._wide)] for row in rows]
            self._sizes = [max(a, b) for a, b in zip(self._sizes, widths(table), strict=True)]
            sys.stdout.writelines(f"{line(row, self._sizes, self._style)}\n" for row in table)
        else:
            sys.stdout.writelines(
                json.dumps({"type": "ADDED", "object": row, "revision": page["revision"]}) + "\n" for row in rows
            )
        sys.stdout.flush()

    def follow(self) -> None:
        """One stream."""
        if self._again:
            self.begin()
            self._again = False
        params = {k: v for k, v in self._params.items() if k != "sort"}
        try:
            for event in self._client.watch(self._resource, **params, since=self._revision, instance=self._instance):
                self._take(event)
        except ClientError as error:
            self._again = error.status == _GONE
            raise

    def _take(self, event: dict[str, Any]) -> None:
        if event["type"] == "ERROR":
            problem = event.get("problem") or {}
            raise ClientError(str(problem.get("detail", "the watch ended")), int(problem.get("status", 500)))
        self._revision = str(event["revision"])
        if event["type"] == "BOOKMARK":
            return
        if self._output == "json":
            sys.stdout.write(json.dumps(event) + "\n")
        else:
            sys.stdout.write(f"{line(self._cells(event), self._sizes, self._style)}\n")
        sys.stdout.flush()

    def _cells(self, event: dict[str, Any]) -> list[str]:
        row = event.get("object")
        if row is None:
            namespace, _, name = event["key"].rpartition("/")
            row = {"namespace": namespace, "name": name}
        return [event["type"], *cells(self._resource, row, time.time(), wide=self._wide)]
