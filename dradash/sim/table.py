"""Server-side printing: objects as a meta.k8s.io/v1 Table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from dradash.kinds.registry import CLASSIC
from dradash.sim.printers import printer
from dradash.sim.resources import DRA
from dradash.sim.storage import Stored

_CLASSIC: Final = ("v1", f"{DRA}/{CLASSIC}")
INCLUDE: Final = ("None", "Metadata", "Object")  # what a row carries beside its cells


def table(
    plural: str,
    api_version: str,
    kind: str,
    items: Iterable[Stored],
    metadata: dict[str, Any],
    now: float,
    *,
    include: str = "Metadata",
    with_columns: bool = True,
) -> bytes:
    """JSON of the Table; in a watch only the first one has the column definitions."""
    how = printer(plural, structured=api_version not in _CLASSIC)
    columns = [msgspec.to_builtins(c) for c in how.columns] if with_columns else []
    rows = []
    for stored in items:
        row: dict[str, Any] = {"cells": how.cells(stored.object, now)}
        if include == "Object":
            row["object"] = {"kind": kind, "apiVersion": api_version, **stored.object}
        elif include != "None":
            row["object"] = {
                "kind": "PartialObjectMetadata",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": stored.metadata,
            }
        rows.append(row)
    body = {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": columns,
        "rows": rows,
    }
    return msgspec.json.encode(body)
