"""Commands that show an object now. Names from the cluster are quoted for a shell."""

from __future__ import annotations

import shlex
from typing import Final

from dradash.kinds.registry import KINDS

# The plain resource name is ambiguous where a cluster serves several groups with it.
_NAMES: Final = {k.plural: f"{k.singular}.{k.group}" if k.group else k.singular for k in KINDS.values()}


def get(resource: str, namespace: str, name: str) -> str:
    return _command("get", resource, namespace, name, "-o", "yaml")


def describe(resource: str, namespace: str, name: str) -> str:
    return _command("describe", resource, namespace, name)


def _command(verb: str, resource: str, namespace: str, name: str, *options: str) -> str:
    where = ["-n", namespace] if namespace else []
    return shlex.join(["kubectl", *where, verb, _NAMES.get(resource, resource), name, *options])
