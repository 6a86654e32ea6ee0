"""No page links to what is not there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

import pytest
from django.test import Client

from dradash.reader import current
from tests import build, pages
from tests.scene import Scene


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = pages.scene()
    made.put(build.resource_class("driverless", driver=""), build.claim("of-none", "ml", resource_class="driverless"))
    made.look()
    current.use(made.web)
    yield made
    current.use(None)


def links(page: str) -> set[str]:
    found = (unescape(a) for a in re.findall(r'(?:href|action)="(/[^"#]*)', page))
    return {a for a in found if not a.startswith("/static/")}


@pytest.mark.usefixtures("scene")
def test_every_link_of_every_page_leads_somewhere() -> None:
    client, asked = Client(), [*(line.path for line in pages.served()), "/classes/driverless", "/api/v1/"]
    tried: dict[str, int] = {}
    for path in asked:
        for link in links(client.get(path).content.decode()):
            bare = link.partition("?")[0]
            if bare not in tried:
                tried[bare] = client.get(bare).status_code
    assert len(tried) > 50
    assert {link for link, code in tried.items() if code == 404} == set()
    assert not [link for link in tried if "{" in link]
