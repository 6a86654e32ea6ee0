"""The OpenAPI document, and a page on which to read it and to try each resource out."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import etag

from dradash.api import openapi
from dradash.api.schemas import ROOT
from dradash.api.serving import check_method, problem
from dradash.problems import Refusal


def _tag(_request: HttpRequest) -> str:
    return openapi.tag()


@csrf_exempt
@etag(_tag)
def document(request: HttpRequest) -> HttpResponse:
    try:
        check_method(request)
    except Refusal as refusal:
        return problem(refusal)
    return HttpResponse(openapi.document(), content_type="application/json")


@csrf_exempt
def page(request: HttpRequest) -> HttpResponse:
    """Plain HTML made from the document; static/api.js sends the forms without leaving the page."""
    try:
        check_method(request)
    except Refusal as refusal:
        return problem(refusal)
    made = openapi.build()
    operations = [_plain(of["get"]) | {"path": path, "address": ROOT + path} for path, of in made["paths"].items()]
    context = {"info": made["info"], "about": _bare(made["info"]["description"]), "operations": operations}
    return render(request, "api/page.html", context)


def _plain(operation: dict[str, Any]) -> dict[str, Any]:
    parameters = [p | {"description": _bare(p["description"])} for p in operation["parameters"]]
    return operation | {"parameters": parameters}


def _bare(text: str) -> str:
    """The document's Markdown as text: only backticks are in it."""
    return text.replace("`", "")
