"""Server-side printing: objects as a meta.k8s.io/v1 Table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from dradash.sim.printers import DEFAULT, PRINTERS
from dradash.sim.storage import Stored

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
    printer = PRINTERS.get(plural, DEFAULT)
    columns = [msgspec.to_builtins(c) for c in printer.columns] if with_columns else []
    rows = []
    for stored in items:
        row: dict[str, Any] = {"cells": printer.cells(stored.object, now)}
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
