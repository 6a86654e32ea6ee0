"""What a request that Django refuses leaves in the log: one line, whatever was wrong with it."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT = Path(__file__).parents[2]
# A process of its own: logging is configured once for all of it.
_PROGRAM: Final = """
import sys
import django
from dradash import log
django.setup()
log.configure()
from django.test import Client
FORM = "application/x-www-form-urlencoded"
client = Client(enforce_csrf_checks=False, headers={"host": "localhost"})
strict = Client(enforce_csrf_checks=True, headers={"host": "localhost"})
for ask in (
    lambda: Client(headers={"host": "evil.example"}).get("/"),
    lambda: client.post("/sign-in", b"x" * 3_000_000, content_type=FORM),
    lambda: client.post("/sign-in", b"a=1&" * 2000, content_type=FORM),
    lambda: client.post("/sign-in", b"nonsense", content_type="multipart/form-data"),
    lambda: strict.post("/sign-in", {}),
):
    print(ask().status_code, file=sys.stderr)
"""
_SAID: Final = (
    "Invalid HTTP_HOST header: 'evil.example'",
    "exceeded",
    "exceeded",
    "Unable to parse request body",
    "Forbidden",
)


def test_a_refused_request_is_one_line_in_the_log() -> None:
    environ = {**os.environ, "DJANGO_SETTINGS_MODULE": "dradash.settings"}
    environ |= {"DRADASH_AUTH": "token", "DRADASH_AUTH_TOKEN": secrets.token_hex(20)}
    line = [sys.executable, "-c", _PROGRAM]

    ran = subprocess.run(line, cwd=ROOT, env=environ, capture_output=True, text=True, check=True)

    lines = ran.stderr.splitlines()
    assert lines[1::2] == ["400", "400", "400", "400", "403"], ran.stderr
    for said, logged in zip(_SAID, lines[::2], strict=True):
        assert said in logged
