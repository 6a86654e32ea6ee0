"""Addresses behind /api/v1/, made from the table of endpoints."""

from __future__ import annotations

import re
from typing import Final

from django.urls import path, re_path

from dradash.api import reference, serving
from dradash.api.endpoints import ENDPOINTS

CONVERTERS: Final = {"pool": "path"}


def route(template: str) -> str:
    """The name of a pool may have slashes."""
    return re.sub(r"\{(\w+)\}", lambda m: f"<{CONVERTERS.get(m[1], 'str')}:{m[1]}>", template.lstrip("/"))


urlpatterns: Final = [
    path("openapi.json", reference.document, name="api-openapi"),
    path("", reference.page, name="api"),
    *(path(route(e.path), serving.view_of(e), name=f"api-{e.name}") for e in ENDPOINTS),
    re_path(r"^(?P<path>.*)$", serving.nothing_here),
]
