"""The OpenAPI document is one, tells the truth (Schemathesis asks), and keeps what was released."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, get_args

import msgspec
import pytest
from django.test import Client
from openapi_spec_validator import validate

from dradash import problems
from dradash.api import openapi, urls
from dradash.api.endpoint import Endpoint
from dradash.api.endpoints import ENDPOINTS
from dradash.api.watching import WatchEvent
from dradash.reader import current
from dradash.reader.alertlabels import NAMES
from tests import api_examples, pages
from tests.browser.conftest import _Server

RELEASED: Final = Path(__file__).parent / "data" / "api-v1.json"
THERE: Final[dict[str, Any]] = {
    "pods": ["train", "new", "nobody"],
    "claims": ["held", "train-gpu"],
    "negotiations": ["train"],
    "nodes": ["node-0", "node-1"],
    "classes": ["gpu", "nic"],
    "drivers": ["gpu.example.com"],
    "deviceclasses": ["a100"],
    "pools": {"driver": ["gpu.example.com"], "pool": ["rack/one", "none"]},
    "slices": ["slice-one"],
    "devices": {"driver": ["gpu.example.com"], "pool": ["rack/one"], "device": ["gpu-0", "gone"]},
    "findings": ["claim-not-created.3f82f5c55009"],
}
SPELLINGS: Final = tuple(name for name, ours in NAMES.items() if name != ours and ours in NAMES)
NOT_ASKED: Final = ("watch", "since", "seconds", "instance", "cursor")  # streams, and what only an answer knows


@pytest.fixture(autouse=True)
def scene() -> Iterator[None]:
    made = pages.scene()
    made.look()
    made.web.doctor.look(made.now + 900)
    current.use(made.web)
    yield
    current.use(None)


def _document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(openapi.document())
    return document


# --- the document ----------------------------------------------------------------------------------------------------


def test_it_is_openapi_3_1() -> None:
    validate(_document())
    assert _document()["openapi"] == "3.1.0"


def test_it_is_not_sent_twice_to_who_has_it() -> None:
    client = Client()
    first = client.get("/api/v1/openapi.json")
    again = client.get("/api/v1/openapi.json", headers={"If-None-Match": first.headers["ETag"]})
    assert (first.status_code, again.status_code, again.content) == (200, 304, b"")
    assert client.get("/api/v1/openapi.json", headers={"If-None-Match": '"other"'}).content == first.content


def test_every_address_is_in_it_and_nothing_else() -> None:
    served = {str(p.pattern) for p in urls.urlpatterns} - {"openapi.json", "", "^(?P<path>.*)$"}
    assert served == {urls.route(p) for p in _document()["paths"]}


def test_every_answer_has_an_example_of_the_simulated_cluster_that_fits() -> None:
    assert set(openapi.examples()) == {e.name for e in ENDPOINTS}
    for endpoint in ENDPOINTS:
        msgspec.convert(openapi.examples()[endpoint.name], endpoint.result, strict=True)


def _contents() -> Iterator[tuple[Endpoint, dict[str, Any]]]:
    paths = _document()["paths"]
    return ((e, paths[e.path]["get"]["responses"]["200"]["content"]) for e in ENDPOINTS if e.is_list)


def test_lines_have_examples_that_fit_their_rows_and_watches_theirs() -> None:
    for endpoint, content in _contents():
        examples = content["application/x-ndjson"]["examples"]
        row = get_args(endpoint.result)[0]
        lines = examples["list"]["value"].splitlines()
        assert lines, endpoint.name
        for line in lines:
            msgspec.json.decode(line, type=row, strict=True)
        assert ("watch" in examples) == endpoint.watchable
        if endpoint.watchable:
            _check_watched(row, examples["watch"]["value"].splitlines())


def test_server_sent_events_have_examples_as_they_are_sent() -> None:
    watched = [(e, content) for e, content in _contents() if e.watchable]
    assert len(watched) == 8
    for endpoint, content in watched:
        events = content["text/event-stream"]["example"].removesuffix("\n\n").split("\n\n")
        parts = [dict(line.split(": ", 1) for line in event.splitlines()) for event in events]
        assert [p["event"] for p in parts] == ["modified", "bookmark"]
        assert all(json.loads(p["data"])["revision"] == int(p["id"]) for p in parts)
        _check_watched(get_args(endpoint.result)[0], [p["data"] for p in parts])


def _check_watched(row: Any, lines: list[str]) -> None:
    event, bookmark = (msgspec.json.decode(line, type=WatchEvent, strict=True) for line in lines)
    there = msgspec.convert(event.object, row, strict=True)
    assert there.url is None or event.key.rpartition("/")[2] in there.url
    assert (bookmark.type, bookmark.object) == ("BOOKMARK", None)


def _lost(now: dict[str, Any]) -> list[str]:
    released = json.loads(RELEASED.read_text(encoding="utf-8"))
    return [
        f"{of} {name}"
        for part, groups in released.items()
        for of, members in groups.items()
        for name, type_ in members.items()
        if now[part].get(of, {}).get(name) != type_
    ]


def test_what_was_released_is_still_there_with_its_type() -> None:
    """A field or parameter may come; none may go or change. `python -m tests.contract.release_api` adds new ones."""
    assert _lost(openapi.released()) == []


def test_the_comparison_notices_what_is_lost_or_changed() -> None:
    changed = openapi.released()
    del changed["schemas"]["PodRow"]["outcome"]
    changed["schemas"]["ClaimRow"]["pods"] = '{"type": "string"}'
    del changed["parameters"]["/pods"]["reason"]
    assert set(_lost(changed)) == {"PodRow outcome", "ClaimRow pods", "/pods reason"}


# --- Schemathesis ----------------------------------------------------------------------------------------------------


def _askable() -> dict[str, Any]:
    """The document without what opens a stream, and without cursors: only an answer hands those out.

    Of the spellings of a label one is asked: they are one parameter to the code.

    What is in the path is of the scene: otherwise nearly every answer would be a 404.
    """
    document = _document()
    for path, operation in document["paths"].items():
        known = [p for p in operation["get"]["parameters"] if p["name"] not in (*NOT_ASKED, *SPELLINGS)]
        for parameter in known:
            if parameter["in"] == "path":
                there = THERE[path.split("/")[1]]
                named = there[parameter["name"]] if isinstance(there, dict) else there
                names = ["ml"] if parameter["name"] == "namespace" else named
                parameter["schema"] = {"type": "string", "enum": names}
        operation["get"]["parameters"] = known
    return document


@pytest.fixture
def server() -> Iterator[str]:
    running = _Server()
    running.start()
    yield f"http://127.0.0.1:{running.port}"
    running.stop()


def test_every_request_is_answered_as_the_document_says(server: str, tmp_path: Path) -> None:
    """Valid requests, requests that break the document's rules, other methods: all over HTTP."""
    document = tmp_path / "openapi.json"
    document.write_text(json.dumps(_askable()))
    command: list[str | Path] = [
        Path(sys.executable).with_name("schemathesis"),
        "run",
        document,
        "--url",
        f"{server}/api/v1",
    ]
    options = ["--phases=examples,coverage,fuzzing", "--max-examples=8", "--seed=1", "--generation-database=none"]
    asked = subprocess.run(
        [*command, *options, "--request-timeout=60", "--no-color"],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
        cwd=tmp_path,
    )
    assert asked.returncode == 0, asked.stdout[-6000:] + asked.stderr[-2000:]
    assert re.search(r"\b[1-9]\d* generated", asked.stdout), asked.stdout[-2000:]


# --- docs/api.md -----------------------------------------------------------------------------------------------------


def test_the_docs_name_every_resource_and_every_problem() -> None:
    docs = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")
    assert [e.path for e in ENDPOINTS if f"`{e.path}`" not in docs] == []
    assert [k.slug for k in problems.KINDS if f"`{k.slug}`" not in docs] == []


# --- the examples' own check -----------------------------------------------------------------------------------------


def _kept() -> dict[str, Any]:
    kept: dict[str, Any] = json.loads(openapi.EXAMPLES.read_text(encoding="utf-8"))
    return kept


def test_the_check_of_examples_takes_other_values_for_the_same() -> None:
    found = _kept()
    found["pods"]["items"][0] |= {"name": "another", "nodesFit": 7, "actsNext": None, "claims": []}
    found["negotiation"]["unsuitable"] = {"another-claim": ["node-9"]}
    found["negotiation"]["object"] = {"kind": "Other"}
    assert api_examples.faults(_kept(), found, _document()) == []


def test_the_check_of_examples_finds_other_fields_and_types() -> None:
    def fault(change: Callable[[dict[str, Any]], object]) -> list[str]:
        found = _kept()
        change(found)
        return api_examples.faults(_kept(), found, _document())

    def of_all(change: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, Any]], object]:
        return lambda found: [change(row) for row in found["pods"]["items"]]

    assert fault(of_all(lambda row: row.pop("sentence"))) == ["pods: items[]: field sentence is only on one side"]
    assert fault(of_all(lambda row: row.update(more=1))) == ["pods: items[]: field more is only on one side"]
    assert fault(of_all(lambda row: row.update(nodesFit="1"))) == ["pods: items[].nodesFit: number and string"]
    assert fault(lambda found: found["stats"].pop("revision")) == [
        "stats: the answer: field revision is only on one side"
    ]


def test_the_check_of_examples_misses_none() -> None:
    kept = _kept()
    del kept["pods"]
    kept["gone"] = {}
    assert api_examples.faults(kept, _kept(), _document()) == [
        "pods: there is no example",
        "gone: there is no such endpoint",
    ]


def test_examples_are_not_written_where_an_argument_is_not_known(capsys: pytest.CaptureFixture[str]) -> None:
    before = openapi.EXAMPLES.read_bytes()
    for wrong in ("--chek", "--che", "more"):
        with pytest.raises(SystemExit) as end:
            api_examples.main([wrong])
        assert end.value.code == 2
        assert wrong in capsys.readouterr().err
    assert openapi.EXAMPLES.read_bytes() == before
