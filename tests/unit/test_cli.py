"""The `dradash` command: what it prints, how it ends, and that a running dradash is asked through its own API."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import shlex
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.test import Client, override_settings

from dradash.api.endpoints import ENDPOINTS
from dradash.cli import main as cli
from dradash.cli import remote
from dradash.cli.client import Client as RemoteClient
from dradash.cli.completion import SHELLS, commands_of
from dradash.cli.described import _devices
from dradash.cli.style import Style, safe
from dradash.cli.tables import TABLES, age
from dradash.conf import from_environ
from dradash.reader import current
from dradash.reader.moment import show
from dradash.scheduling.states import ACTORS
from dradash.store.memory import MemoryModel
from tests import build
from tests import builddevices as make
from tests.scene import Scene
from tests.unit.test_funneltext import PICKY, objects

TOKEN = "a-long-enough-token"  # noqa: S105 - of a test's own server
TRAIN = build.pod("train", "ml", claims={"gpu": "c"})
LOST = build.pod("lost", "ml", claims={"gpu": "nowhere"})
BOUND = build.pod("bound", "ml", claims={"gpu": "c"}, node="node-0", phase="Running")
OBJECTS = (
    *build.nodes(3),
    build.resource_class(),
    TRAIN,
    LOST,
    build.claim("c", "ml"),
    build.context(TRAIN, potential=["node-1"], selected="node-1"),
)


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    try:
        status = cli.main(args)
    except SystemExit as end:
        status = int(end.code or 0)
    out, err = capsys.readouterr()
    return status, out, err


# --- explain ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "dump.yaml"
    path.write_text(yaml.safe_dump_all([*OBJECTS, BOUND]))
    return str(path)


def test_explain_tells_verdict_who_acts_and_the_negotiation(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "explain", "ml/train", "-f", file)
    assert status == 1
    assert "Pod ml/train: Waiting" in out
    assert "Must act next: driver gpu.example.com: allocate for node node-1" in out
    assert "awaited: gpu.example.com for gpu: allocate for node-1" in out
    assert "\x1b" not in out, "no colours where it is not a terminal"


@pytest.mark.parametrize(("pod", "status"), [("ml/bound", 0), ("ml/train", 1), ("ml/lost", 1), ("ml/none", 2)])
def test_the_exit_status_says_whether_it_is_schedulable(
    file: str, capsys: pytest.CaptureFixture[str], pod: str, status: int
) -> None:
    assert run(capsys, "explain", "-f", file, pod)[0] == status


def test_without_a_pod_every_pod_with_claims_is_explained(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "explain", "-f", file, "-o", "json")
    assert [e["pod"] for e in json.loads(out)["items"]] == ["ml/bound", "ml/lost", "ml/train"]


def test_without_a_pod_there_are_items_also_when_it_is_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    only = tmp_path / "one.json"
    items = [BOUND, build.claim("c", "ml"), build.node("node-0"), build.resource_class()]
    only.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    status, out, _ = run(capsys, "explain", "-f", str(only), "-o", "json")
    assert status == 0
    assert [e["outcome"] for e in json.loads(out)["items"]] == ["Bound"]


def test_a_name_alone_is_enough_where_it_is_the_only_one(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "Pod ml/lost: Blocked" in run(capsys, "explain", "lost", "-f", file)[1]


def test_a_name_behind_the_files_is_a_pod_where_there_is_no_such_file(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "Pod ml/lost: Blocked" in run(capsys, "explain", "-f", file, "lost")[1]
    assert run(capsys, "explain", "-f", file, "archive")[::2] == (
        2,
        "dradash explain: no Pod default/archive in the input (it holds nodes, pods, podschedulingcontexts, "
        "resourceclaims, resourceclasses)\n",
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("-f", "FILE", "a/b/c"), "a/b/c: there is no such file; a pod is NAMESPACE/NAME, or NAME"),
        (("-f", "FILE", "ML/train"), "ML/train: there is no such file; a pod is NAMESPACE/NAME, or NAME"),
        (("a/b/c", "-f", "FILE"), "a/b/c is no pod: a pod is NAMESPACE/NAME, or NAME"),
        (("/train", "-f", "FILE"), "/train is no pod: a pod is NAMESPACE/NAME, or NAME"),
        (("-f", "FILE", "nodes.yaml"), "nodes.yaml: No such file or directory"),
        (("-f", "FILE", "more/nodes.json"), "more/nodes.json: No such file or directory"),
        (("-f", "archive"), "archive: No such file or directory"),
    ],
)
def test_what_is_neither_a_file_nor_a_pod_is_said_to_be_that(
    file: str, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], says: str
) -> None:
    given = [file if a == "FILE" else a for a in arguments]
    assert run(capsys, "explain", *given) == (2, "", f"dradash explain: {says}\n")


# --- explain, of a recording -----------------------------------------------------------------------------------------


def recording(path: Path, *rows: tuple[str, str, Any], ending: str = "\n") -> str:
    lines = [json.dumps({"t": n / 10, "kind": k, "type": t, "object": o}) for n, (k, t, o) in enumerate(rows)]
    text = "\n".join(lines) + ending
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return str(path)


def listed() -> list[tuple[str, str, Any]]:
    """As the API server lists: the items do not say what they are."""
    found: dict[str, list[build.Obj]] = {}
    for obj in OBJECTS:
        found.setdefault(build.PLURALS[obj["kind"]], []).append(obj)
    bare = {k: [{n: v for n, v in o.items() if n not in ("apiVersion", "kind")} for o in of] for k, of in found.items()}
    return [(k, "LIST", {"apiVersion": found[k][0]["apiVersion"], "items": bare[k]}) for k in found]


@pytest.mark.parametrize("name", ["seen.jsonl", "seen.jsonl.gz"])
def test_a_recording_is_judged_as_the_cluster_was_at_its_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    rows = listed()
    early = recording(tmp_path / name, *rows)
    status, out, _ = run(capsys, "explain", "-f", early, "ml/train")
    assert (status, "Pod ml/train: Waiting" in out) == (1, True)
    assert f"{early} is a recording: judged as the cluster was at its end" in out
    bound = build.pod("train", "ml", claims={"gpu": "gpu"}, node="node-1")
    lost = next(o for o in OBJECTS if o["metadata"]["name"] == "lost")
    more = [("pods", "MODIFIED", bound), ("pods", "DELETED", lost), ("pods", "BOOKMARK", {"metadata": {}})]
    late = recording(tmp_path / name, *rows, *more)
    assert run(capsys, "explain", "-f", late, "ml/train")[0] == 0
    assert "no Pod ml/lost in the input" in run(capsys, "explain", "-f", late, "ml/lost")[2]
    relisted = recording(tmp_path / name, *rows, ("pods", "LIST", {"apiVersion": "v1", "items": [bound]}))
    _, out, _ = run(capsys, "explain", "-f", relisted, "-o", "json")
    assert [(e["pod"], e["outcome"]) for e in json.loads(out)["items"]] == [("ml/train", "Bound")]


def test_a_recording_that_breaks_off_is_used_up_to_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = recording(tmp_path / "cut.jsonl", *listed(), ending='\n{"t": 9, "kind": "pods", "ty')
    _, out, _ = run(capsys, "explain", "-f", file, "ml/train")
    assert "Pod ml/train: Waiting" in out
    assert f"the recording breaks off in line {len(listed()) + 1}; what came before is used" in out


def test_a_line_that_is_no_row_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "odd.jsonl"
    first = json.dumps({"t": 0, "kind": "pods", "type": "LIST", "object": {"items": []}})
    for line, says in (("[1]", "line 2 is no row of a recording"), ("{oops", "line 2: ")):
        file.write_text(f"{first}\n{line}\n{first}\n")
        status, _, err = run(capsys, "explain", "-f", str(file), "ml/train")
        assert status == 2
        assert err.startswith(f"dradash explain: {file}: {says}")


def test_vectors_are_said_to_be_that(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "explain", "-f", "tests/parity/data/classic.jsonl.gz")
    assert status == 2
    assert err.endswith("it is no Kubernetes object; it looks like vectors (`parity` reads them)\n")


def test_json_and_yaml_say_the_same(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    as_json = json.loads(run(capsys, "explain", "ml/train", "-f", file, "-o", "json")[1])
    as_yaml = yaml.safe_load(run(capsys, "explain", "ml/train", "-f", file, "-o", "yaml")[1])
    assert as_json == as_yaml
    assert as_json["outcome"] == "Waiting"
    assert as_json["groups"][0]["nodes"] == ["node-0", "node-1", "node-2"]


def test_bad_input_is_named_on_standard_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("No resources found")
    status, out, err = run(capsys, "explain", "-f", str(bad))
    assert (status, out) == (2, "")
    assert err.startswith(f"dradash explain: {bad}: ")
    assert "Traceback" not in err


def test_an_unreadable_file_within_a_directory_is_left_out_and_said(
    tmp_path: Path, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(file).with_name("bad.yaml").write_text("a: [1")
    status, out, _ = run(capsys, "explain", "-f", str(tmp_path), "ml/train")
    assert status == 1
    assert "left out:" in out


def test_a_cut_off_file_of_objects_within_a_directory_leaves_the_verdict_undecided(
    tmp_path: Path, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = Path(file).with_name("cut.yaml")
    cut.write_text("apiVersion: v1\nkind: List\nitems: [{apiVersion: resource.k8s.io/v1al")
    status, out, _ = run(capsys, "explain", "-f", str(tmp_path), "ml/train")
    assert status == 2
    assert f"{cut} cannot be read: cannot decide" in out


def test_what_is_missing_ends_with_two_and_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    only = tmp_path / "pods.json"
    items = [TRAIN, build.claim("c", "ml"), build.node("n")]
    only.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    status, out, _ = run(capsys, "explain", "ml/train", "-f", str(only))
    assert status == 2
    assert "no ResourceClass in the input: cannot decide" in out


def test_an_input_without_the_pod_says_what_it_holds(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no Pod ml/trian in the input" in run(capsys, "explain", "-f", file, "ml/trian")[2]


def test_names_from_a_cluster_cannot_write_on_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evil = tmp_path / "evil.json"
    pod = build.pod("p", "ml", claims={"gpu": "\x1b]0;owned\x07\u202e"})
    evil.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [pod, *OBJECTS]}))
    _, out, _ = run(capsys, "explain", "ml/p", "-f", str(evil))
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert safe("a\ud800\x9bb") == "a??b"


def test_explain_needs_neither_django_nor_redis_and_reads_standard_input(file: str) -> None:
    code = (
        "import sys; from dradash.cli.main import main; status = main(['explain', '-f', '-', 'ml/train']);"
        "heavy = {'django', 'redis', 'celery', 'channels', 'kubernetes'} & set(sys.modules);"
        "sys.exit(str(heavy) if heavy else status)"
    )
    done = subprocess.run([sys.executable, "-c", code], input=Path(file).read_bytes(), capture_output=True, check=False)
    assert done.returncode == 1, done.stderr
    assert b"Pod ml/train: Waiting" in done.stdout


def test_a_broken_pod_is_named_with_what_is_wrong_and_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "broken.yaml"
    broken = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train", "namespace": "ml"}}
    path.write_text(yaml.safe_dump(broken | {"spec": {"resourceClaims": 7}}))
    wrong = f"{path}: Pod ml/train cannot be read: Expected `array`, got `int` - at `$.spec.resourceClaims`\n"
    assert run(capsys, "explain", "-f", str(path), "ml/train") == (2, "", f"dradash explain: {wrong}")
    nothing = f"dradash explain: no pod that can be read uses claims (spec.resourceClaims): {wrong}"
    assert run(capsys, "explain", "-f", str(path)) == (2, "", nothing)
    path.write_text(yaml.safe_dump_all([build.node("node-0"), broken | {"metadata": {}}]))
    for pod in ((), ("ml/train",)):
        status, _, err = run(capsys, "explain", "-f", str(path), *pod)
        assert status == 2
        assert f"{path}: object 2, a Pod without a name, is left out" in err
        assert "empty" not in err


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "utf-32"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_what_powershell_writes_is_read(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], encoding: str, newline: str
) -> None:
    path = tmp_path / "dump.yaml"
    mark = "\ufeff" if encoding.endswith("e") else ""
    path.write_bytes((mark + Path(file).read_text().replace("\n", newline)).encode(encoding))
    told = run(capsys, "explain", "-f", file)
    assert run(capsys, "explain", "-f", str(path)) == told
    assert run(capsys, "explain", "-f", str(tmp_path)) == told
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*OBJECTS, BOUND]}), encoding="utf-16")
    assert run(capsys, "explain", "-f", str(path)) == told


def test_a_cut_off_file_in_utf_16_is_said_to_be_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": []})[:-3], "utf-16")
    assert "was it cut off?" in run(capsys, "explain", "-f", str(tmp_path / "a.json"))[2]
    (tmp_path / "a.json").write_bytes(b"\xff\xfea")
    assert "begins as UTF-16-LE does, and is not" in run(capsys, "explain", "-f", str(tmp_path / "a.json"))[2]


# --- output that cannot be written -----------------------------------------------------------------------------------


@pytest.fixture
def commands(tmp_path: Path, file: str) -> list[list[str]]:
    """Each kind of command that tells something without a cluster and a running dradash."""
    vectors = tmp_path / "vectors.jsonl"
    with gzip.open("tests/parity/data/classic.jsonl.gz", "rt", encoding="utf-8") as given:
        vectors.write_text("".join(islice(given, 2)))
    recording = "tests/parity/data/classic-1.30.jsonl"
    found = (
        ("explain", "-f", file),
        ("explain", "-f", file, "-o", "yaml"),
        ("parity", str(vectors)),
        ("agreement", recording),
        ("completion", "bash"),
        ("help",),
        ("help", "explain"),
    )
    return [list(command) for command in found]


def _ended(command: list[str], redirection: str) -> tuple[int, str]:
    shell = f"{sys.executable} manage.py {shlex.join(command)} {redirection}; exit ${{PIPESTATUS[0]}}"
    environ = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False, env=environ)
    return done.returncode, done.stderr


def test_a_full_disk_is_one_line_and_a_status_of_its_own(commands: list[list[str]]) -> None:
    for command in commands:
        told = f"dradash {command[0]}: the output cannot be written: No space left on device\n"
        assert _ended(command, "> /dev/full") == (3, told)


def test_a_closed_output_is_one_line_and_the_same_status(commands: list[list[str]]) -> None:
    for command in commands:
        assert _ended(command, ">&-") == (3, f"dradash {command[0]}: standard output is closed\n")


def test_a_reader_that_has_seen_enough_is_told_by_the_status_alone(commands: list[list[str]]) -> None:
    for command in commands:
        # The reader has gone before anything is written.
        assert _ended(command, "| exec 0<&-") == (141, "")


def test_a_simulated_cluster_that_cannot_tell_its_address_ends_with_one_line(tmp_path: Path) -> None:
    command = ["sim", "--kubeconfig", str(tmp_path / "config")]
    assert _ended(command, "> /dev/full") == (1, "sim: error: [Errno 28] No space left on device\n")


@pytest.mark.parametrize(
    "args", [("get", "pods"), ("get", "pods", "-o", "json"), ("describe", "pod", "ml/train"), ("watch", "pods")]
)
def test_questions_to_a_running_dradash_end_so_too(bridge: Bridge, args: tuple[str, ...]) -> None:
    bridge.canned["/api/v1/pods"] = [_event("MODIFIED", 9, "ml/train", object={"namespace": "ml", "name": "train"})]
    told = f"dradash {args[0]}: the output cannot be written: No space left on device\n"
    assert _ended(list(args), "> /dev/full") == (3, told)
    assert _ended(list(args), "| exec 0<&-") == (141, "")


def test_manage_py_passes_the_arguments_on(file: str) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "explain", "-f", file, "ml/bound", "-o", "json"], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["schedulable"] is True


# --- colours, help, completion ---------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colours_are_for_terminals_and_no_color_is_respected() -> None:
    assert Style.of(Terminal(), {})("bad", "x") == "\x1b[31mx\x1b[0m"
    for out, environ in ((Terminal(), {"NO_COLOR": "1"}), (Terminal(), {"TERM": "dumb"}), (io.StringIO(), {})):
        assert Style.of(out, environ)("bad", "x") == "x"


def test_the_installed_command_is_the_one_of_this_package() -> None:
    scripts = tomllib.loads(Path("pyproject.toml").read_text())["project"]["scripts"]
    assert scripts == {"dradash": "dradash.cli.main:run"}
    assert callable(cli.run)


def test_help_lists_every_command_also_those_of_django(capsys: pytest.CaptureFixture[str]) -> None:
    for args in (("help",), ("--help",)):
        status, out, _ = run(capsys, *args)
        assert status == 0
        for name in ("explain", "get", "describe", "watch", "completion", *cli.MANAGEMENT):
            assert f"  {name}" in out


def test_help_says_which_commands_need_a_checkout(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "--help")
    assert [line.split()[0] for line in out.splitlines() if "(in a checkout only)" in line] == ["up", "web"]


def test_each_management_command_that_help_names_exists() -> None:
    own = {p.stem for p in Path("dradash/management/commands").glob("[a-z]*.py")}
    assert set(cli.MANAGEMENT) - {"check"} <= own


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_knows_every_command_and_option(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "completion", shell)
    assert status == 0
    for command in commands_of(cli.parser()):
        assert command.name in out
        for option in command.options:
            longest = max(option.names, key=len)
            assert longest.lstrip("-") in out, (command.name, option.names)


def _typed(script: Path, *words: str) -> list[str]:
    """What bash offers for the last of the words, one a line."""
    typed = " ".join(shlex.quote(w) for w in words)
    asked = f"COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}"
    code = f'source {script}; {asked}; _dradash; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", code], capture_output=True, check=True)
    return done.stdout.decode().splitlines()


def test_bash_completes_every_command_and_the_values_that_the_api_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "completion.bash"
    script.write_text(run(capsys, "completion", "bash")[1])
    assert set(_typed(script, "dradash", "")) == {*cli._COMMANDS, *cli.MANAGEMENT, "help"}
    assert _typed(script, "dradash", "rec") == ["record"]
    assert "agreement" in _typed(script, "dradash", "help", "")
    assert _typed(script, "dradash", "get", "--who", "cl") == ["claim\\ controller"]
    assert _typed(script, "dradash", "get", "--who", "claim\\ c") == ["claim\\ controller"]
    choices = {p.name: set(p.allowed) for e in ENDPOINTS for p in e.params if p.allowed}
    assert set(_typed(script, "dradash", "get", "--outcome", "")) == choices["outcome"]
    assert set(_typed(script, "dradash", "get", "--severity", "")) == choices["severity"]
    actors = {who for who, _, _ in ACTORS} | {"person"}
    assert {w.replace("\\ ", " ") for w in _typed(script, "dradash", "watch", "--who", "")} == actors


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_completes_the_commands_of_django_too(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "completion", shell)
    for name, text in cli.MANAGEMENT.items():
        assert name in out
        assert shell == "bash" or text.replace("'", "") in out.replace("\\'", "").replace("'\"'\"'", "")
    assert "Unschedulable" in out
    assert ("claim controller" if shell == "bash" else "claim\\") in out


def _completed(script: Path, *words: str) -> set[str]:
    typed = " ".join(words)
    code = f'source {script}; COMP_WORDS=({typed} ""); COMP_CWORD={len(words)}; _dradash; echo "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", code], capture_output=True, check=True)
    return set(done.stdout.decode().split())


def test_bash_completes_commands_resources_and_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "completion.bash"
    script.write_text(run(capsys, "completion", "bash")[1])
    assert _completed(script, "dradash") >= {"explain", "get", "describe", "watch", "completion"}
    assert _completed(script, "dradash", "get") >= {"pods", "claims", "negotiations", "findings", "--namespace"}
    assert _completed(script, "dradash", "get", "pods", "-o") == {"table", "wide", "json", "yaml"}


# --- a running dradash -----------------------------------------------------------------------------------------------


class Bridge:
    """The real API on a real address: each request is handed to Django. canned: answers for a path, in turn."""

    def __init__(self) -> None:
        self.canned: dict[str, list[bytes]] = {}
        self.asked: list[str] = []
        bridge = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                bridge.asked.append(self.path)
                answers = bridge.canned.get(self.path.partition("?")[0], [])
                if answers and "watch=1" in self.path:
                    self._answer(200, answers.pop(0), "application/x-ndjson")
                    return
                given = Client(raise_request_exception=False).get(self.path, headers=dict(self.headers))
                body = given.getvalue() if given.streaming else given.content
                self._answer(given.status_code, body, given.headers["Content-Type"])

            def _answer(self, status: int, body: bytes, content_type: str) -> None:
                self.send_response(status)
                self.send_header("Content-Type", content_type)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: Any) -> None:
                """Quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def bridge(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bridge]:
    scene = Scene(*OBJECTS)
    scene.look()
    scene.web.doctor.look(scene.now + 3600)
    current.use(scene.web)
    made = Bridge()
    monkeypatch.setenv("DRADASH_URL", made.url)
    monkeypatch.setenv("DRADASH_TOKEN", TOKEN)
    thread = threading.Thread(target=made.server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    guarded = from_environ({"DRADASH_AUTH": "token", "DRADASH_AUTH_TOKEN": TOKEN})
    with override_settings(DRADASH=guarded, ALLOWED_HOSTS=["127.0.0.1"]):
        yield made
    made.server.shutdown()
    made.server.server_close()
    thread.join()
    current.use(None)


@pytest.mark.parametrize(
    ("resource", "first", "words"),
    [
        ("pods", "NAMESPACE", ("ml", "train", "Waiting", "driver gpu.example.com", "ClaimNotFound")),
        ("claims", "NAMESPACE", ("Pending", "gpu.example.com")),
        ("negotiations", "NAMESPACE", ("train", "node-1", "gpu.example.com")),
        ("findings", "SEVERITY", ("claim-missing", "pods/ml/lost")),
    ],
)
@pytest.mark.usefixtures("bridge")
def test_get_prints_a_table(
    capsys: pytest.CaptureFixture[str], resource: str, first: str, words: tuple[str, ...]
) -> None:
    status, out, err = run(capsys, "get", resource)
    assert status == 0, err
    assert out.startswith(first)
    for word in words:
        assert word in out


DEVICES = (
    make.resource_slice(make.device("gpu-0"), make.device("gpu-1", taints=[{"key": "k", "effect": "NoExecute"}])),
    make.resource_slice(make.device("half"), node="node-1", count=2),
    make.device_class("a100", f'device.driver == "{make.DRIVER}"', extendedResourceName="example.com/a100"),
    make.claim("held", "ml", make.request("gpu", "a100"), devices=[make.result("gpu-0")], reserved_for=[TRAIN]),
)


@pytest.mark.parametrize(
    ("asked", "row", "wide"),
    [
        (("deviceclasses",), ("a100", "2/2", "1", "0", "1 Reserved", "0", "example.com/a100"), ("device.driver ==",)),
        (("pools", "--state", "incomplete"), (make.DRIVER, "node-1", "incomplete", "1", "1/2", "0/1"), ("node-1",)),
        (("devices", "--state", "held"), (make.DRIVER, "node-0", "gpu-0", "held", "usable", "ml/held"), ("ml/train",)),
        (("devices", "--state", "tainted"), ("gpu-1", "free", "usable", "-", "k:NoExecute"), ("model=a100",)),
        (("devices", "--pool", "node-1"), ("half", "free", "incomplete"), ("node-1",)),
        (("drivers", "-q", "a100"), (make.DRIVER, "1 usable,1 incomplete", "1/3"), ("gpu,a100",)),
    ],
)
@pytest.mark.usefixtures("bridge")
def test_get_tells_of_devices(
    capsys: pytest.CaptureFixture[str], asked: tuple[str, ...], row: tuple[str, ...], wide: tuple[str, ...]
) -> None:
    scene = Scene(*OBJECTS, *DEVICES)
    scene.look()
    current.use(scene.web)
    status, out, err = run(capsys, "get", *asked)
    assert status == 0, err
    (line,) = out.splitlines()[1:]
    cells = re.split(r" {3,}", line)
    for cell in row:
        assert cell in cells
    _, out, _ = run(capsys, "get", *asked, "-o", "wide")
    for words in wide:
        assert words in out.splitlines()[1]


@pytest.mark.usefixtures("bridge")
def test_describe_claim_tells_what_it_asked_for_and_what_it_got(capsys: pytest.CaptureFixture[str]) -> None:
    subs = [{"name": "big", **make.exactly("a100", 2)}, {"name": "small", **make.exactly("a100", 1, ["true"])}]
    hot = {"type": "Cool", "status": "False", "reason": "Hot", "message": "", "lastTransitionTime": build.CREATED}
    status = {"devices": [{"driver": make.DRIVER, "pool": "node-0", "device": "gpu-0", "conditions": [hot]}]}
    result = make.result("gpu-0", request="gpu/small", bindingConditions=["Attached"])
    lost = make.result("lost", request="gpu/small")
    asked = {"name": "gpu", "firstAvailable": subs}
    held = make.claim("held", "ml", asked, devices=[result, lost], reserved_for=[TRAIN], status=status)
    scene = Scene(*OBJECTS, *DEVICES[:3], held, make.claim("too", "ml", devices=[make.result("gpu-0")]))
    scene.look()
    current.use(scene.web)
    code, out, err = run(capsys, "describe", "claim", "ml/held")
    assert code == 0, err
    for line in (
        "Claim ml/held: Reserved (allocated, reserved, waits for binding conditions)",
        "  Reserved for: pods train",
        "  gpu/big: 2 x a100",
        "  gpu/small: 1 x a100 (chosen)",
        "    true",
        f"  {make.DRIVER}/node-0/gpu-0 for gpu/small",
        "    model a100",
        "    awaited: Attached",
        "    Cool is False for ",
        "    shared with ml/too",
        "    its pool does not publish it",
    ):
        assert line in out
    assert [
        d["device"] for d in json.loads(run(capsys, "describe", "claim", "ml/held", "-o", "json")[1])["devices"]
    ] == [
        "gpu-0",
        "lost",
    ]
    assert "Claim ml/c: Pending" in run(capsys, "describe", "claim", "ml/c")[1]
    assert run(capsys, "describe", "claim", "ml/none")[0] == 1


@pytest.mark.usefixtures("bridge")
def test_get_wide_shows_more_and_json_and_yaml_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert "SENTENCE" in run(capsys, "get", "pods", "-o", "wide")[1]
    as_json = json.loads(run(capsys, "get", "pods", "-o", "json")[1])
    as_yaml = yaml.safe_load(run(capsys, "get", "pods", "-o", "yaml")[1])
    assert as_json == as_yaml
    assert {row["name"] for row in as_json["items"]} == {"train", "lost"}


@pytest.mark.usefixtures("bridge")
def test_ages_of_a_past_moment_count_to_it(capsys: pytest.CaptureFixture[str]) -> None:
    at = show(build.NOW + 100)
    for words in (("get", "pods"), ("describe", "pod", "ml/train")):
        status, out, err = run(capsys, *words, "--at", at)
        assert status == 0, err
        assert not re.search(r"\b\d+[hd]\b", out)  # the scene's time is long over


def test_filters_are_the_apis_own(bridge: Bridge, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(run(capsys, "get", "pods", "-A")[1].splitlines()) == 3
    _, out, _ = run(capsys, "get", "pods", "-n", "ml", "--reason", "ClaimNotFound")
    assert "lost" in out
    assert "train" not in out
    assert "namespace=ml" in bridge.asked[-1]
    status, _, err = run(capsys, "get", "pods", "--severity", "error")
    assert status == 1
    assert "severity" in err
    assert "allowed:" in err


@pytest.mark.parametrize("resource", TABLES)
def test_every_filter_of_the_api_is_an_option(resource: str) -> None:
    endpoint = next(e for e in ENDPOINTS if e.name == resource)
    options = {param.name: f"--{param.name}" for param in endpoint.filters} | {"q": "-q"}
    arguments = [word for option in options.values() for word in (option, "x")]
    args = cli.parser().parse_args(["get", resource, *arguments])
    assert remote._params(args) == dict.fromkeys(options, "x")


@pytest.mark.parametrize("resource", ["pods", "negotiations"])
def test_what_has_waited_for_long_is_got(bridge: Bridge, capsys: pytest.CaptureFixture[str], resource: str) -> None:
    status, out, _ = run(capsys, "get", resource, "--waiting", "1s")
    assert status == 0
    assert "train" in out
    assert "waiting=1s" in bridge.asked[-1]
    assert run(capsys, "get", resource, "--waiting", "999999999d")[1] == ""
    status, _, err = run(capsys, "get", resource, "--waiting", "soon")
    assert status == 1
    assert "a duration such as 90, 90s, 15m, 2h or 1d" in err


def test_more_rows_than_one_page_holds_are_fetched(
    bridge: Bridge, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dradash.cli.client.PAGE", 1)
    assert len(run(capsys, "get", "pods")[1].splitlines()) == 3
    assert sum("cursor=" in path for path in bridge.asked) == 1
    _, out, err = run(capsys, "get", "pods", "--limit", "1")
    assert len(out.splitlines()) == 2
    assert "1 of 2 shown" in err


def test_a_list_of_several_pages_is_of_the_revision_of_its_first_one(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dradash.cli.client.PAGE", 1)
    pages: list[dict[str, Any]] = [
        {"items": [{"name": "a"}], "next": "c", "revision": 7},
        {"items": [{"name": "b"}], "next": None, "revision": 9},
    ]
    answers = iter(pages)
    client = RemoteClient(bridge.url, TOKEN)
    monkeypatch.setattr(client, "get", lambda *_, **__: next(answers))
    rows, page = client.rows("pods", 10)
    assert ([row["name"] for row in rows], page) == (["a", "b"], {"next": None, "revision": 7})


@pytest.mark.usefixtures("bridge")
def test_describe_tells_verdict_steps_and_negotiation(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "describe", "pod", "ml/train")
    assert status == 0, err
    assert "Pod ml/train: Waiting" in out
    assert "PreBind" in out
    assert "Negotiation" in out
    detail = json.loads(run(capsys, "describe", "pod", "ml/lost", "-o", "json")[1])
    assert detail["verdict"]["outcome"] == "Blocked"
    assert detail["negotiation"] is None


@pytest.mark.usefixtures("bridge")
def test_describe_tells_the_devices_as_explain_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gathered = objects(PICKY)
    scene = Scene(*gathered)
    scene.look()
    current.use(scene.web)
    path = tmp_path / "dump.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": gathered}))
    _, explained, _ = run(capsys, "explain", "-f", str(path), "team/train")
    status, told, err = run(capsys, "describe", "pod", "team/train")
    assert (status, err) == (0, "")
    funnel = re.compile(r"Devices \(on 2 of 2 nodes\)\n.*\n  selector wants [^\n]*\n", re.DOTALL)
    (ours,), (theirs,) = funnel.findall(told), funnel.findall(explained)
    assert ours == theirs
    assert "             2: allocated [node-0/a held by team/held-0]" in ours
    devices = json.loads(run(capsys, "describe", "pod", "team/train", "-o", "json")[1])["devices"]
    assert [s["left"] for s in devices["requests"][0]["stages"]] == [6, 6, 6, 4, 2, 0, 0]


@pytest.mark.usefixtures("bridge")
def test_describe_asks_for_no_negotiation_that_there_cannot_be(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    both = build.pod("both", "ml", claims={"old": "c", "new": "newer"})
    scene = Scene(*OBJECTS, *objects(PICKY), make.claim("newer", "ml", make.request()), both)
    scene.look()
    current.use(scene.web)
    asked: list[str] = []
    get = RemoteClient.get

    def noted(client: RemoteClient, *path: str, **params: str) -> dict[str, Any]:
        asked.append(path[0])
        return get(client, *path, **params)

    monkeypatch.setattr(RemoteClient, "get", noted)
    found = {}
    for pod in ("team/train", "ml/train", "ml/both"):
        asked.clear()
        assert run(capsys, "describe", "pod", pod)[0] == 0
        found[pod] = "negotiations" in asked
    assert found == {"team/train": False, "ml/train": True, "ml/both": True}


@pytest.mark.usefixtures("bridge")
def test_describe_says_nothing_of_devices_where_nobody_looks_for_any(capsys: pytest.CaptureFixture[str]) -> None:
    assert "Devices" not in run(capsys, "describe", "pod", "ml/train")[1]


def test_devices_as_another_version_tells_them_are_left_out_with_a_word() -> None:
    (line,) = _devices({"requests": [{"claim": "x"}]}, Style(False))
    assert line.startswith("Devices: not told, the server is of another version: Object missing required field")


@pytest.mark.usefixtures("bridge")
def test_a_pod_that_is_not_there_and_a_wrong_token_end_with_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    status, _, err = run(capsys, "describe", "pod", "ml/nobody")
    assert status == 1
    assert "ml/nobody" in err
    status, _, err = run(capsys, "get", "pods", "--token", "wrong")
    assert (status, "the token does not fit" in err) == (1, True)
    monkeypatch.delenv("DRADASH_TOKEN")
    assert "set --token or DRADASH_TOKEN" in run(capsys, "get", "pods")[2]


@pytest.mark.parametrize("token", ["s3c\nret", "s3c\rret", "s3c\x1bret", "s3c\x7fret", "s3c\u20acret", "s3c\u2028ret"])
@pytest.mark.parametrize("command", [("get", "pods"), ("describe", "pod", "ml/train"), ("watch", "pods")])
def test_a_token_that_cannot_be_sent_is_not_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], token: str, command: tuple[str, ...]
) -> None:
    monkeypatch.setenv("DRADASH_TOKEN", token)
    status, out, err = run(capsys, *command, "--url", "http://127.0.0.1:9")
    assert (status, out) == (2, "")
    assert "the token cannot be sent" in err
    assert "s3c" not in err
    assert "cannot be reached" not in err


def test_a_dradash_that_has_never_watched_a_cluster_says_so_and_names_no_number(
    bridge: Bridge, capsys: pytest.CaptureFixture[str]
) -> None:
    here = current.build(MemoryModel())
    here.follower.step()
    current.use(here)
    for command in (("get", "pods"), ("get", "findings", "-o", "json"), ("watch", "claims")):
        status, out, err = run(capsys, *command, "--url", bridge.url)
        assert (status, out) == (1, "")
        assert "no cluster has been watched yet" in err


@pytest.mark.usefixtures("bridge")
def test_white_space_around_a_token_is_not_part_of_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DRADASH_TOKEN", f" {TOKEN}\n")
    assert run(capsys, "get", "pods")[0] == 0


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "ftp://x", "nonsense"])
def test_a_dradash_that_cannot_be_reached_ends_with_two(capsys: pytest.CaptureFixture[str], url: str) -> None:
    status, _, err = run(capsys, "get", "pods", "--url", url)
    assert status == 2
    assert "Traceback" not in err


def _event(type_: str, revision: int, key: str = "", **more: Any) -> bytes:
    event = {"type": type_, "revision": revision, "key": key, "object": None, "problem": None} | more
    return json.dumps(event).encode() + b"\n"


def test_watch_lists_then_tells_changes_and_goes_on_from_the_last_revision(
    bridge: Bridge, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {"namespace": "ml", "name": "late", "outcome": "Blocked", "reasonCodes": ["ClaimNotFound"]}
    gone = {"status": 410, "detail": "too old: list again"}
    bridge.canned["/api/v1/pods"] = [
        _event("ADDED", 901, "ml/late", object=row) + _event("BOOKMARK", 905),
        _event("DELETED", 907, "ml/late"),
        _event("ERROR", 907, problem=gone),
        _event("ERROR", 907, problem={"status": 401, "detail": "enough"}),
    ]
    monkeypatch.setattr(remote, "_RETRY", 0.0)
    status, out, err = run(capsys, "watch", "pods")
    assert status == 1
    watches = [p for p in bridge.asked if "watch=1" in p]
    assert "since=905" in watches[1]
    lines = out.splitlines()
    assert sum("train" in text for text in lines) == 2, "listed again after 410"
    assert any(text.startswith("ADDED") and "late" in text and "Blocked" in text for text in lines)
    assert any(text.startswith("DELETED") and "late" in text for text in lines)
    assert "list again; going on in 0 s" in err


@pytest.mark.parametrize("option", ["--severity", "--code"])
def test_watch_has_no_options_of_what_cannot_be_watched(capsys: pytest.CaptureFixture[str], option: str) -> None:
    status, _, err = run(capsys, "watch", "pods", option, "x")
    assert status == 2
    assert f"unrecognized arguments: {option} x" in err


@pytest.mark.parametrize("resource", ["pods", "claims", "negotiations"])
def test_every_filter_of_what_is_watched_is_an_option_of_watch_and_no_other(resource: str) -> None:
    endpoint = next(e for e in ENDPOINTS if e.name == resource)
    arguments = [word for p in endpoint.filters for word in ("-q" if p.name == "q" else f"--{p.name}", "x")]
    assert vars(cli.parser().parse_args(["watch", resource, *arguments]))["resource"] == resource
    watched = {p.name for e in ENDPOINTS if e.name in ("pods", "claims", "negotiations") for p in e.filters}
    given = vars(cli.parser().parse_args(["watch", resource]))
    assert {name.removeprefix("filter_") for name in given if name.startswith("filter_")} | {"namespace"} == watched


@pytest.mark.usefixtures("bridge")
def test_a_parameter_that_is_refused_is_answered_with_the_options_that_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, _, err = run(capsys, "watch", "claims", "--outcome", "Waiting")
    assert status == 1
    options = "--namespace, --state, --class, --driver, -q, --sort"
    assert err.endswith(f"“outcome” is no parameter of this resource (allowed: {options})\n")
    _, _, err = run(capsys, "get", "claims", "--outcome", "Waiting")
    assert err.endswith(f"(allowed: {options}, --limit, --at)\n")
    _, _, err = run(capsys, "get", "claims", "--state", "nonsense")
    assert "state: one of the allowed values (allowed: ImmediateUnallocated, Pending" in err


def test_ages_are_told_as_kubectl_tells_them() -> None:
    now = build.NOW
    told = [age("2026-11-30T03:59:30Z", now), age("2026-11-30T03:50:00Z", now), age("2026-11-28T01:00:00Z", now)]
    assert told == ["30s", "10m", "2d"]
    assert age(None, now) == "-"
