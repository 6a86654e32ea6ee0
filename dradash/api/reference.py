"""The OpenAPI document, and a page on which to read it and to try each resource out."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt

from dradash.api import openapi
from dradash.api.problems import Refusal
from dradash.api.schemas import ROOT
from dradash.api.serving import check_method, problem


@csrf_exempt
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
    operations = [{"path": path, "address": ROOT + path, **of["get"]} for path, of in made["paths"].items()]
    return render(request, "api/page.html", {"info": made["info"], "operations": operations, "section": "api"})
