"""A line on a detail page is a table as well."""

from __future__ import annotations

from django.template.loader import render_to_string
from django.test import Client

from dradash.reader import current
from dradash.web.presenters.charts import spark
from tests import build, pages
from tests.unit import html


def test_the_table_has_each_number_below_its_heading() -> None:
    text = render_to_string("_spark_table.html", {"spark": spark([0.0, 4.0, 2.5], "Pods waiting")})
    assert 'class="num">Pods waiting<' in text
    for number, value in ((1, "0"), (2, "4"), (3, "2.5")):
        assert f'<th scope="row">{number}</th><td class="num">{value}</td>' in text
    assert render_to_string("_spark_table.html", {"spark": None}).strip() == ""


def test_the_page_of_a_class_has_it() -> None:
    scene = pages.scene()
    for step in range(4):  # samples are taken as time goes on
        scene.now += 120.0
        scene.put(build.pod(f"waits-{step}", "ml", claims={"gpu": "train-gpu"}))
        scene.look()
    current.use(scene.web)
    try:
        text = Client().get("/classes/gpu").content.decode()
        assert html.read(text).faults == []
        table = text.partition('<details id="spark-table">')[2].partition("</details>")[0]
        assert 'class="num">Pods waiting<' in table
        assert table.count("<tr data-key") >= 2
    finally:
        current.use(None)
