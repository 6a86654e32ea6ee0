"""A kubeconfig for the simulated API server."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import yaml


def kubeconfig(url: str, token: str | None, name: str = "dradash-sim") -> dict[str, Any]:
    """The token is in the user's part, and in the URL because kubectl sends none over plain HTTP."""
    user: dict[str, Any] = {"token": token} if token is not None else {}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": f"{url}/{token}" if token is not None else url}}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": "default"}}],
        "current-context": name,
    }


def write(path: Path, url: str, token: str | None) -> None:
    """Write it readable for its owner only: it holds the token. The file is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.unlink(missing_ok=True)
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        yaml.safe_dump(kubeconfig(url, token), file, sort_keys=False)
    partial.replace(path)
