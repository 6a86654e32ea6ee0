"""The supervisor with small children of its own making; tests/acceptance runs the real ones."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from dradash.supervisor.child import Spec
from dradash.supervisor.errors import StartError
from dradash.supervisor.output import Output, printable
from dradash.supervisor.probes import Probe, at_once, file_written, http_answers
from dradash.supervisor.run import Supervisor
from dradash.supervisor.workdir import LOCK, PREFIX, private_directory, sweep
from tests.patience import PATIENCE

SLEEPER = "import time; time.sleep(600)"


async def never() -> bool:
    return False


def python(name: str, code: str, ready: Probe = at_once, **more: object) -> Spec:
    return Spec(name=name, argv=(sys.executable, "-c", code), ready=ready, **more)  # type: ignore[arg-type]  # test sugar


class Run:
    """Runs a supervisor until `announce`, then calls `then`."""

    def __init__(self, specs: Sequence[Spec], **options: float) -> None:
        self.log = io.StringIO()
        names = ["up", *(spec.name for spec in specs)]
        self.supervisor = Supervisor(specs, Output(self.log, names, {}), Path("/"), **options)
        self.announced = 0

    async def until_told(self) -> None:
        def announce() -> None:
            self.announced += 1
            os.kill(os.getpid(), signal.SIGTERM)

        await self.supervisor.run(announce)


def pids_with(marker: str) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if marker.encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return [pid for pid in found if pid != os.getpid()]


async def test_sigterm_stops_all_children_in_order_of_their_rank(tmp_path: Path) -> None:
    def leaves_a_note(name: str) -> str:
        ready, note = tmp_path / f"{name}.ready", tmp_path / "order"
        return (
            "import signal, sys, pathlib, time\n"
            f"def end(*_):\n    open({str(note)!r}, 'a').write('{name} '); sys.exit()\n"
            f"signal.signal(signal.SIGTERM, end); pathlib.Path({str(ready)!r}).write_text('x'); time.sleep(600)"
        )

    run = Run(
        [
            python("store", leaves_a_note("store"), file_written(tmp_path / "store.ready"), stop_rank=2),
            python("user", leaves_a_note("user"), file_written(tmp_path / "user.ready"), after=("store",)),
            python("cluster", leaves_a_note("cluster"), file_written(tmp_path / "cluster.ready"), stop_rank=1),
        ]
    )
    await run.until_told()
    assert (tmp_path / "order").read_text().split() == ["user", "cluster", "store"]
    assert run.announced == 1


async def test_a_child_starts_only_when_what_it_needs_is_ready(tmp_path: Path) -> None:
    run = Run(
        [
            python("needs", f"assert open({str(tmp_path / 'made')!r}).read()\n{SLEEPER}", after=("makes",)),
            python(
                "makes", f"open({str(tmp_path / 'made')!r}, 'w').write('x')\n{SLEEPER}", file_written(tmp_path / "made")
            ),
        ]
    )
    await run.until_told()
    assert run.announced == 1
    assert run.log.getvalue().index("makes is ready") < run.log.getvalue().index("needs is ready")


async def test_a_crash_is_one_line_with_name_exit_code_last_words_and_advice() -> None:
    crashing = python("judge", "print('no such queue'); raise SystemExit(3)", never, advice="Do this.")
    run = Run([python("redis", SLEEPER), crashing])
    with pytest.raises(StartError) as caught:
        await run.supervisor.run(lambda: None)
    assert str(caught.value) == (
        "judge ended by itself before it was ready (exit code 3), so everything was stopped. "
        "Its last words: no such queue. Do this."
    )
    assert "judge | no such queue" in run.log.getvalue()


async def test_a_log_line_never_comes_between_a_printed_line_and_its_end() -> None:
    code = (
        "import sys\n"
        "for n in range(200):\n"
        "    sys.stdout.write('said'); sys.stdout.flush(); sys.stderr.write('logged\\n'); sys.stderr.flush()\n"
        "    sys.stdout.write('\\n'); sys.stdout.flush()\n"
    )
    run = Run([python("cluster", code)])
    with pytest.raises(StartError):
        await run.supervisor.run(lambda: None)
    lines = [line for line in run.log.getvalue().splitlines() if line.startswith("cluster")]
    assert sorted(lines) == ["cluster | logged"] * 200 + ["cluster | said"] * 200


async def test_a_child_that_is_killed_while_running_is_named_with_the_signal() -> None:
    run = Run([python("redis", f"import os; os.kill(os.getpid(), 9)\n{SLEEPER}")])
    with pytest.raises(StartError, match=r"redis ended by itself .* \(killed by SIGKILL\)"):
        await run.supervisor.run(lambda: None)


async def test_a_child_that_is_never_ready_ends_the_start() -> None:
    run = Run([python("web", SLEEPER, never)], ready_timeout=0.2)
    with pytest.raises(StartError, match="web is not ready after 0 s"):
        await run.supervisor.run(lambda: None)
    assert run.announced == 0


async def test_a_program_that_does_not_exist_is_named() -> None:
    run = Run([Spec(name="redis", argv=("/no/such/redis-server",), ready=at_once)])
    with pytest.raises(StartError, match=r"redis cannot be started: .*No such file"):
        await run.supervisor.run(lambda: None)


async def test_what_a_child_started_goes_with_it(tmp_path: Path) -> None:
    marker = f"marker-{os.getpid()}-{tmp_path.name}"
    code = (
        "import subprocess, sys, time\n"
        f"subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)', {marker!r}])\n"
        f"open({str(tmp_path / 'ready')!r}, 'w').write('x'); time.sleep(600)"
    )
    run = Run([python("web", code, file_written(tmp_path / "ready"))])
    await run.until_told()
    assert pids_with(marker) == []


async def test_readiness_is_what_the_child_says(tmp_path: Path) -> None:
    said = tmp_path / "said"
    say = f"open({str(said)!r}, 'w').write('x'); assert notify_ready()"
    code = f"from dradash.lifecycle import notify_ready; {say}\n{SLEEPER}"
    env = {"PYTHONPATH": str(Path(__file__).parents[2])}
    silent = Run([python("web", SLEEPER, notify=tmp_path / "1.notify")], ready_timeout=0.2)
    with pytest.raises(StartError, match="web is not ready"):
        await silent.supervisor.run(lambda: None)
    run = Run([python("web", code, env=env, notify=tmp_path / "2.notify")])
    await run.until_told()
    assert said.exists()
    assert run.announced == 1


def test_a_process_that_has_nothing_left_to_do_ends_with_its_last_words_and_frees_nothing() -> None:
    code = """
import atexit
from dradash import lifecycle
class Heap:
    def __del__(self):
        print("freed")
heap = Heap()
atexit.register(print, "freed")
print("last words")
lifecycle.end()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True
    )
    assert done.stdout == "last words\n"
    assert done.stderr == ""


def test_children_die_with_a_supervisor_that_is_killed(tmp_path: Path) -> None:
    marker = f"marker-{os.getpid()}-{tmp_path.name}"
    ready = tmp_path / "ready"
    code = f"""
import asyncio, io, sys
from pathlib import Path
from dradash.supervisor.child import Spec
from dradash.supervisor.output import Output
from dradash.supervisor.run import Supervisor
async def at_once():
    return True
child = Spec(name="web", argv=(sys.executable, "-c", "import time; time.sleep(600)", {marker!r}), ready=at_once)
run = Supervisor([child], Output(io.StringIO(), [], {{}}), Path("/"))
asyncio.run(run.run(lambda: Path({str(ready)!r}).touch()))
"""
    with subprocess.Popen([sys.executable, "-c", code], cwd=Path(__file__).parents[2]) as supervisor:
        deadline(ready.exists)
        assert [pid for pid in pids_with(marker) if pid != supervisor.pid]
        supervisor.kill()
    deadline(lambda: not pids_with(marker))


def deadline(condition: object) -> None:
    asyncio.run(_until(condition))


async def _until(condition: object) -> None:
    assert callable(condition)
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - other processes give no event
            await asyncio.sleep(0.02)


async def test_a_server_error_is_not_readiness() -> None:
    answers = [b"HTTP/1.1 503 Service Unavailable\r\n\r\n", b"HTTP/1.1 302 Found\r\n\r\n"]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(answers.pop(0))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    probe = http_answers("127.0.0.1", server.sockets[0].getsockname()[1], "/")
    async with server:
        assert not await probe()
        assert await probe()
    assert not await probe()


def test_names_of_processes_are_aligned_and_text_cannot_drive_the_terminal() -> None:
    log = io.StringIO()
    output = Output(log, ["up", "cluster"], {})
    output.line("up", "one\x1b[2Jtwo\ttab")
    output.line("cluster", "three")
    assert log.getvalue() == "up      | one\\x1b[2Jtwo\ttab\ncluster | three\n"


def test_colours_are_for_terminals_that_want_them() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    coloured, plain = Terminal(), Terminal()
    Output(coloured, ["web"], {"TERM": "xterm"}).line("web", "x")
    Output(plain, ["web"], {"TERM": "xterm", "NO_COLOR": "1"}).line("web", "x")
    assert "\x1b[" in coloured.getvalue()
    assert plain.getvalue() == "web | x\n"
    assert printable("a\x9bb") == "a\\x9bb"


def test_the_private_directory_is_nobody_elses_and_is_removed() -> None:
    with private_directory() as path:
        assert path.stat().st_mode & 0o777 == 0o700
        (path / "redis.sock").touch()
    assert not path.exists()


def test_a_directory_left_behind_by_a_kill_is_swept_and_one_in_use_is_not(tmp_path: Path) -> None:
    left = tmp_path / f"{PREFIX}left"
    left.mkdir()
    (left / LOCK).touch()
    foreign = tmp_path / "other"
    foreign.mkdir()
    with private_directory() as used:
        sweep(used.parent)
        sweep(tmp_path)
        assert used.exists()
    assert not left.exists()
    assert foreign.exists()
