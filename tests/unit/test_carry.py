"""What stays in every link: the moment, and the wall screen."""

from __future__ import annotations

import pytest

from dradash.web.carry import carry


@pytest.mark.parametrize(
    ("html", "carried"),
    [
        ('<a href="/pods">', '<a href="/pods?kiosk=1">'),
        ('<a href="/pods?ns=a&amp;q=b">', '<a href="/pods?ns=a&amp;q=b&amp;kiosk=1">'),
        ('<a href="/pods?kiosk=0">', '<a href="/pods?kiosk=0">'),
        ('<a href="/pods#row">', '<a href="/pods?kiosk=1#row">'),
        ('<a href="/static/x.css">', '<a href="/static/x.css">'),
        ('<a href="?sort=x">', '<a href="?sort=x">'),
        ('<a href="https://example.com/">', '<a href="https://example.com/">'),
        ('<a href="//example.com/">', '<a href="//example.com/">'),
        ('<div hx-get="/ns/a/pods/b/nodes">', '<div hx-get="/ns/a/pods/b/nodes?kiosk=1">'),
        ('<form action="/sign-out" method="post">', '<form action="/sign-out" method="post">'),
        ("<code>href=</code>", "<code>href=</code>"),
    ],
)
def test_links_to_our_pages_carry_it_once(html: str, carried: str) -> None:
    assert carry(html, {"kiosk": "1"}) == carried
    assert carry(carried, {"kiosk": "1"}) == carried


def test_forms_carry_it_in_a_hidden_field_once() -> None:
    form = '<form action="/pods" method="get" hx-get="/pods"><input name="q"></form>'
    carried = carry(form, {"at": "2026-11-30T03:12:00+01:00"})
    assert 'method="get" hx-get="/pods"><input type="hidden" name="at" value="2026-11-30T03:12:00+01:00">' in carried
    assert carry(carried, {"at": "2026-11-30T03:12:00+01:00"}) == carried


def test_hostile_values_stay_values() -> None:
    carried = carry('<a href="/pods">', {"at": '"><script>'})
    assert "<script>" not in carried
    assert carry("<p>", {}) == "<p>"
