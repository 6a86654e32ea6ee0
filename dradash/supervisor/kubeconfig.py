"""Which cluster `up` will watch, found before anything is started so that "none" is one clear line.

Only names are read here; the Kubernetes client reads the files again, with the credentials, in the watch worker.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from dradash.supervisor.errors import StartError

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")
HOW: Final = "give one with --kubeconfig FILE or KUBECONFIG, or look at a simulated cluster with --demo"


@dataclass(frozen=True)
class Target:
    kubeconfig: str  # "" is the client's default search
    context: str
    name: str  # of the cluster, on pages and in Redis keys


def choose(kubeconfig: str, context: str, env: Mapping[str, str], service_account: Path = SERVICE_ACCOUNT) -> Target:
    """Raises StartError when there is no such file or context."""
    if kubeconfig:
        paths = [Path(kubeconfig).expanduser().absolute()]
        if not paths[0].is_file():
            raise StartError(f"there is no kubeconfig {kubeconfig}: {HOW}")
    else:
        paths = [path for path in _default_search(env) if path.is_file()]
    if not paths:
        if env.get("KUBERNETES_SERVICE_HOST") and service_account.is_file():
            return Target("", "", "in-cluster")
        raise StartError(f"there is no kubeconfig ({', '.join(map(str, _default_search(env)))}): {HOW}")
    chosen = _context(paths, context)
    return Target(str(paths[0]) if kubeconfig else "", context, chosen)


def _default_search(env: Mapping[str, str]) -> list[Path]:
    named = [Path(part) for part in env.get("KUBECONFIG", "").split(os.pathsep) if part]
    return named or [Path(env.get("HOME", "~")).expanduser() / ".kube" / "config"]


def _context(paths: Iterable[Path], context: str) -> str:
    """The context's name, as the client will choose it: the first file that names one wins, contexts are joined."""
    current = ""
    known: list[str] = []
    for path in paths:
        config = _read(path)
        current = current or str(config.get("current-context") or "")
        contexts = config.get("contexts")
        entries = contexts if isinstance(contexts, list) else []
        known += [str(entry["name"]) for entry in entries if isinstance(entry, dict) and "name" in entry]
    wanted = context or current
    if not wanted:
        raise StartError(f"the kubeconfig names no current context: give one with --context ({_listed(known)})")
    if wanted not in known:
        raise StartError(f"the kubeconfig has no context {wanted!r}: it has {_listed(known)}")
    return wanted


def _listed(names: list[str]) -> str:
    return ", ".join(names) if names else "none"


def _read(path: Path) -> dict[str, Any]:
    try:
        config = yaml.safe_load(path.read_bytes())
    except OSError as error:
        raise StartError(f"the kubeconfig {path} cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise StartError(f"the kubeconfig {path} is not valid YAML: {' '.join(str(error).split())[:200]}") from error
    if not isinstance(config, dict):
        raise StartError(f"the kubeconfig {path} is empty or not a kubeconfig: {HOW}")
    return config
