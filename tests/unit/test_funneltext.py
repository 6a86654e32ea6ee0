"""`dradash explain -f` on a pod with structured parameters: the funnel as text and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dradash.cli import main as cli
from tests import build
from tests.devicescene import Raw, device, device_class, holder, pool, request, selectors, waiting_pod

ESCAPE = "\x1b[31mred"


def explained(capsys: pytest.CaptureFixture[str], folder: Path, objects: list[Raw], *more: str) -> str:
    file = folder / "dump.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    assert cli.main(["explain", "-f", str(file), "--node", "", *more, "team/train"]) == 1
    return capsys.readouterr().out


def objects(*requests: Raw) -> list[Raw]:
    taint = {"key": "broken", "effect": "NoSchedule"}
    slices = [pool(device("a"), device("b", taints=[taint]), device("c", "l4"), node=f"node-{i}") for i in range(2)]
    held = [holder("a", node=f"node-{i}", name=f"held-{i}", pod=f"user-{i}") for i in range(2)]
    nodes = [build.node("node-0"), build.node("node-1")]
    return [device_class(), *nodes, *slices, *held, *waiting_pod(*requests)]


PICKY = request(selectors=selectors('device.attributes["gpu.example.com"].model == "a100"'))


def test_each_stage_is_told_with_what_it_lost(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = explained(capsys, tmp_path, objects(PICKY))
    assert text[text.index("Devices (") :].startswith(
        """Devices (on 2 of 2 nodes)
  team/claim, gpus: needs 1 of class gpu, too few everywhere
         6 seen
         6 usable pool
         6 class selectors
         4 request selectors (-2)
             2: the request wants model == "a100"; met l4 (2) [node-0/c]
         2 tolerated taints (-2)
             2: taint broken:NoSchedule [node-0/b]
         0 not allocated (-2)
             2: allocated [node-0/a held by team/held-0]
         0 constraints
       2 cannot allocate all claims
What would make it fit
  free a on node-0 (held by pod team/user-0) (gpus; tried)
  tolerate taint broken:NoSchedule (b on node-0) (gpus; tried)
  selector wants model == "a100"; this cluster has l4 (2), and these that it takes: \
a100 (2: allocated), a100 (2: taint broken:NoSchedule) (gpus; tried)
"""
    )


def test_one_node_is_told_of_alone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = explained(capsys, tmp_path, objects(PICKY), "--node", "node-1")
    assert "Devices (on node-1)" in text
    assert "free a (held by pod team/user-1)" in text


def test_what_ends_the_attempt_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    wrong = request(selectors=selectors('device.attributes["gpu.example.com"].nothing == 1'))
    text = explained(capsys, tmp_path, objects(wrong))
    assert "CEL runtime error: no such key: nothing; met nothing (6) [" in text
    assert "(ends the whole attempt)" in text


def test_a_name_from_the_cluster_cannot_colour_the_terminal(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = explained(capsys, tmp_path, objects(request(selectors=selectors(f'"{ESCAPE}" == "x"'))))
    assert "\x1b" not in text


def test_as_json_it_is_what_the_api_answers(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found: Any = json.loads(explained(capsys, tmp_path, objects(PICKY), "-o", "json"))
    assert [s["left"] for s in found["devices"]["requests"][0]["stages"]] == [6, 6, 6, 4, 2, 0, 0]
    assert found["devices"]["hints"][0]["pods"] == ["team/user-0"]
