"""docker-compose.yml and the Dockerfile cannot be run in the tests; what they name must at least exist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import get_commands

from dradash.conf import BadSetting, from_environ
from dradash.supervisor.plan import Options, plan

ROOT = Path(__file__).parents[2]


def compose() -> dict[str, Any]:
    loaded = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    assert isinstance(loaded, dict)
    return loaded


def after_python(argv: list[str] | tuple[str, ...]) -> list[str]:
    return list(argv)[1:]


def test_the_services_are_those_that_up_starts() -> None:
    assert sorted(compose()["services"]) == ["judge", "redis", "watch", "web"]


@pytest.mark.parametrize("name", ["watch", "judge"])
def test_workers_run_with_the_options_that_up_gives_them(name: str, tmp_path: Path) -> None:
    specs = plan(Options(host="127.0.0.1", port=8000, fd=0), tmp_path, {"REDIS_URL": "redis://x"})
    spec = next(spec for spec in specs if spec.name == name)
    assert compose()["services"][name]["command"][1:] == after_python(spec.argv)


def test_the_web_service_runs_a_command_of_ours() -> None:
    command = compose()["services"]["web"]["command"]
    assert command[:2] == ["python", "manage.py"]
    assert get_commands()[command[2]] == "dradash"


def test_settings_in_the_file_are_settings_that_exist_and_parse() -> None:
    for name, service in compose()["services"].items():
        env = {
            key: re.sub(r"\$\{[^}:]+:[-?]([^}]*)\}", r"\1", value)
            for key, value in service.get("environment", {}).items()
        }
        known = set(re.findall(r'_value\(env, "([A-Z_]+)"', (ROOT / "dradash/conf.py").read_text()))
        assert {key.removeprefix("DRADASH_") for key in env} - {"REDIS_URL"} <= known, name
        try:
            from_environ(env)
        except BadSetting as error:
            pytest.fail(f"{name}: {error}")


def test_the_page_is_behind_a_sign_in_and_only_on_this_machine() -> None:
    web = compose()["services"]["web"]
    assert web["environment"]["DRADASH_AUTH"] == "${DRADASH_AUTH:-token}"
    assert all(port.startswith("127.0.0.1:") for port in web["ports"])


def test_every_service_says_whether_it_is_healthy_and_none_is_root() -> None:
    for name, service in compose()["services"].items():
        assert service["healthcheck"]["test"][0] in ("CMD", "CMD-SHELL"), name
        assert service["cap_drop"] == ["ALL"], name
    assert re.search(r"^USER 1", (ROOT / "Dockerfile").read_text(), re.MULTILINE)


def test_the_kubeconfig_is_mounted_read_only_where_the_watch_worker_looks() -> None:
    watch = compose()["services"]["watch"]
    assert watch["volumes"][0].endswith(f":{watch['environment']['DRADASH_KUBECONFIG']}:ro")


def test_what_the_image_copies_exists() -> None:
    copied = re.findall(r"^COPY (.+) \S+$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    for path in " ".join(copied).split():
        assert (ROOT / path).exists(), path
