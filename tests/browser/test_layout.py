"""Layout on a phone and on a small screen: nothing is cut, names stay whole, the current section is to be seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests import build, builddevices, pages
from tests.browser.conftest import Site
from tests.scene import Scene

Show = Callable[[Scene], Site]
TRAIN = build.pod("train", "ml", claims={"gpu": "gpu"})
LONG = "accelerators.of.a.far.example.com"
PAGES = (
    "/",
    "/claims",
    "/negotiations",
    "/nodes",
    "/nodes/node-1",
    "/classes",
    "/drivers",
    "/ns/ml/negotiations/train",
)

# What sticks out of its scrolling box, or out of the page.
OUTSIDE = """() => [...document.querySelectorAll('.scroll'), document.documentElement]
  .filter(e => e.checkVisibility())
  .map(e => e.scrollWidth - e.clientWidth).filter(over => over > 1)"""
# The innermost elements that reach over the page's right edge, as the test's message names them.
STICKS_OUT = """() => [...document.querySelectorAll('body *')].filter(e => e.checkVisibility()
  && e.getBoundingClientRect().right > innerWidth + 1
  && ![...e.children].some(c => c.getBoundingClientRect().right > innerWidth + 1)
  && !e.closest('.scroll, .sections'))
  .slice(0, 5).map(e => `${e.parentElement.className} > ${e.tagName} ${e.className}`)"""
# Names that are on more than one line.
CUT = """() => [...document.querySelectorAll('.fits > a')]
  .filter(a => new Set([...a.getClientRects()].map(box => Math.round(box.top))).size > 1).map(a => a.textContent)"""
# Words that go on in the next line: all in heads, elsewhere what is neither a name nor longer than English words are.
BROKEN = r"""() => {
  const found = [], texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    const at = text.parentElement
    if (!at.checkVisibility() || at.closest('.sr, script, svg, pre')) continue
    for (const word of text.data.matchAll(/\S+/g)) {
      if (!at.closest('thead, .sections, .point h3') && !/^[("]?[A-Za-z]{1,13}[)",.:;]*$/.test(word[0])) continue
      const range = document.createRange()
      range.setStart(text, word.index)
      range.setEnd(text, word.index + word[0].length)
      const tops = [...range.getClientRects()].filter(box => box.width).map(box => Math.round(box.top))
      if (new Set(tops).size > 1) found.push(word[0])
    }
  }
  return found
}"""
# A section that has a line of the navigation for itself (on a phone they are one line that scrolls).
ALONE = """() => Object.values(Object.groupBy(document.querySelectorAll('.sections a'),
  a => Math.round(a.getBoundingClientRect().top))).filter(line => line.length === 1).map(([a]) => a.textContent)"""
# Pieces of a name, between the places where it may be broken, that are on more than one line.
PIECES = """() => [...document.querySelectorAll('.rows tbody th a')].flatMap(a => [...a.childNodes]).filter(piece => {
  const range = document.createRange()
  range.selectNodeContents(piece)
  return range.getClientRects().length > 1
}).map(piece => piece.textContent)"""
# Cells whose label lies over their text, or touches it.
COVERED = """() => [...document.querySelectorAll('.rows td[data-label]')].filter(cell => {
  const label = getComputedStyle(cell, '::before')
  return label.position === 'absolute' && label.display !== 'none'
    && parseFloat(label.width) > parseFloat(getComputedStyle(cell).paddingLeft) - 4
}).map(cell => cell.dataset.label)"""


def make_scene() -> Scene:
    scene = Scene(
        *build.nodes(3),
        build.resource_class(),
        build.resource_class("gpu.example.com", driver="gpu.example.com"),
        build.resource_class(LONG, driver=LONG),
        TRAIN,
        build.claim("gpu", "ml", resource_class="gpu.example.com"),
        build.claim("far", "ml", resource_class=LONG, allocation=build.allocation("node-1"), driver=LONG),
    )
    scene.put(build.context(TRAIN, potential=["node-0", "node-1"], selected="node-0"))
    return scene


@pytest.fixture(params=[390, 1280, 1366], ids=lambda width: f"{width}px")
def site(request: pytest.FixtureRequest, browser: Browser, show: Show) -> Iterator[tuple[Site, Page]]:
    made = show(make_scene())
    page = made.open(browser, "/", viewport={"width": request.param, "height": 800})
    yield made, page
    page.close()


def test_nothing_sticks_out_and_no_short_name_is_broken(site: tuple[Site, Page]) -> None:
    made, page = site
    for path in PAGES:
        page.goto(made.url + path)
        looks = {"out": OUTSIDE, "cut": CUT, "over": COVERED, "broken": BROKEN, "alone": ALONE}
        found = {what: page.evaluate(script) for what, script in looks.items()}
        assert found == {what: [] for what in looks}, path
        assert page.locator("h1, .totals").count(), path


PODS = ("coordinator7d9f8c6b5xx-0", "inference-server-7d9f8c6b5-4xk2p", "pre.processing-2024-11-30-0123456789")


@pytest.mark.parametrize("width", [390, 1366])
def test_a_pods_name_goes_on_a_new_line_only_where_a_word_of_it_ends(browser: Browser, show: Show, width: int) -> None:
    claims = {f"accelerator-{n}": f"nowhere-{n}-of-this-training" for n in range(3)}
    scene = Scene(*build.nodes(2), *(build.pod(name, "research-and-training", claims=claims) for name in PODS))
    site = show(scene)
    page = site.open(browser, "/pods", viewport={"width": width, "height": 800})
    names = page.locator(".pods tbody th a")
    assert set(names.all_text_contents()) == set(PODS)
    assert page.evaluate(PIECES) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()


def test_a_drivers_name_is_not_cut_on_a_phone(browser: Browser, show: Show) -> None:
    one_piece = "acceleratorsofafarvendor" * 2
    site = show(Scene(*build.nodes(1), *(build.resource_class(n, driver=n) for n in (LONG, one_piece))))
    page = site.open(browser, "/drivers", viewport={"width": 390, "height": 800})
    for name in (LONG, one_piece):
        box = page.locator(".drivers tbody th").get_by_role("link", name=name).bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= 390 - 12, name
    page.close()


# What reaches over the right edge of its row, by pixels.
OVERHANGS = """() => [...document.querySelectorAll('.rows tbody :is(a, code, .chip, .tag, .muted, time)')].map(e => [
  e.textContent, Math.round(Math.max(...[...e.getClientRects()].map(box => box.right))
    - e.closest('tr').getBoundingClientRect().right + parseFloat(getComputedStyle(e.closest('tr')).paddingRight)),
]).filter(([, over]) => over > 0)"""
ORDINARY = ("cache.driver.example.com", "gpu.driver.example.com", "fpga-team-a.example.com", "a" * 24)


@pytest.mark.parametrize("width", [390, 320])
def test_no_ordinary_name_reaches_over_its_row_on_a_phone(browser: Browser, show: Show, width: int) -> None:
    holder = build.pod("inference-server-7d9f8c6", "research-and-training", claims={"gpu": "gpu"})
    scene = Scene(
        *(build.node(name) for name in ("gpu-pool-a-7d9f8c6-x4k2p", "ip-10-20-30-40.internal", "b" * 24)),
        *(build.resource_class(name, driver=name) for name in ORDINARY),
        *(
            build.claim(f"{name[:20]}-{i}", "ml", resource_class=name, allocation=build.allocation(), driver=name)
            for i, name in enumerate(ORDINARY)
        ),
        build.claim("gpu", "research-and-training", resource_class=ORDINARY[0], reserved_for=[holder]),
        holder,
        builddevices.device_class("a100-large.example.com", "true"),
        builddevices.resource_slice(builddevices.device("accelerator-of-rack-0001"), node="b" * 24, name="c" * 24),
    )
    scene.put(build.context(holder, potential=["b" * 24], selected="gpu-pool-a-7d9f8c6-x4k2p"))
    made = show(scene)
    page = made.open(browser, "/drivers", viewport={"width": width, "height": 800})
    for section in ("drivers", "classes", "claims", "nodes", "pods", "negotiations", "devices", "slices", "pools"):
        page.goto(f"{made.url}/{section}")
        assert page.locator(".rows tbody tr").count(), section
        assert page.evaluate(OVERHANGS) == [], section
        assert page.evaluate(OUTSIDE) == [], section
    page.goto(f"{made.url}/deviceclasses")
    assert page.evaluate(OVERHANGS) == []
    page.close()


def long(what: str, dots: bool = True) -> str:
    """The longest valid name: 253 characters, with or without a place to break it."""
    return (what + "x" * 253)[:60] + (("." + "x" * 48) * 4)[:193] if dots else (what + "x" * 253)[:253]


def make_long_scene(*, dots: bool) -> Scene:
    """Every name as long as the API server lets it be; a negotiation with two claims that are awaited."""
    ns = "n" * 63
    far, cls, other = long("driver", dots), long("class", dots), long("other", dots)
    node = build.node(long("node", dots), labels={f"{long('label')}/{'l' * 63}": "v" * 63})
    pod = build.pod(long("pod", dots), ns, claims={"a" * 63: long("claim", dots), "b" * 63: long("second", dots)})
    node["spec"]["taints"] = [{"key": f"{long('taint')}/{'t' * 63}", "value": "v" * 63, "effect": "NoSchedule"}]
    held = build.claim(
        long("held", dots),
        ns,
        resource_class=other,
        allocation=build.allocation(long("node", dots)),
        reserved_for=[pod],
        driver=far,
        finalizers=[f"{long('finalizer')}/{'f' * 63}"],
    )
    scene = Scene(
        node,
        build.node("second"),
        build.resource_class(cls, driver=far, suitable=build.with_labels(zone="a")),
        build.resource_class(other, driver=far),
        pod,
        held,
        *(build.claim(c, ns, resource_class=other) for c in (long("claim", dots), long("second", dots))),
        build.claim("astray", ns, resource_class=long("absent", dots)),
        build.pod(long("blocked", dots), ns, templates={"a" * 63: long("template", dots)}),
    )
    nodes = [long("node", dots), "second"]
    scene.put(build.context(pod, potential=nodes))
    scene.put(build.context(pod, potential=nodes, unsuitable={"a" * 63: [long("node", dots)]}))
    scene.put(build.context(pod, potential=nodes, selected=nodes[0], unsuitable={"a" * 63: ["second"]}))
    return scene


def long_pages(dots: bool) -> tuple[str, ...]:
    ns, pod, claim, node = "n" * 63, long("pod", dots), long("claim", dots), long("node", dots)
    cls, far = long("class", dots), long("driver", dots)
    return (
        *("/", "/pods", "/claims", "/negotiations", "/nodes", "/classes", "/drivers", "/doctor", "/changes"),
        *(f"/ns/{ns}/pods/{pod}", f"/ns/{ns}/pods/{pod}/nodes", f"/ns/{ns}/pods/{long('blocked', dots)}"),
        *(f"/ns/{ns}/claims/{claim}", f"/ns/{ns}/claims/{long('held', dots)}", f"/ns/{ns}/negotiations/{pod}"),
        *(f"/nodes/{node}", f"/classes/{cls}", f"/drivers/{far}", f"/ns/{ns}/pods/{long('nobody', dots)}"),
        *(f"/search?q={pod[:20]}", "/about"),
    )


@pytest.mark.parametrize("dots", [True, False], ids=["dotted", "in one piece"])
@pytest.mark.parametrize("width", [390, 1366])
def test_the_longest_names_stay_on_the_page(browser: Browser, show: Show, width: int, dots: bool) -> None:
    site = show(make_long_scene(dots=dots))
    page = site.open(browser, "/", viewport={"width": width, "height": 800})
    wide = {}
    for path in long_pages(dots):
        page.goto(site.url + path)
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
        assert page.locator("h1, .totals").count(), path
        over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        if over > 1:
            wide["/".join(part[:9] for part in path.split("/"))] = page.evaluate(STICKS_OUT)
    assert not wide, wide
    page.close()


def make_structured_scene() -> Scene:
    """Both generations are served; a pod that the devices do not suffice for, and the scheduler's words on it."""
    scene = pages.scene()
    pod = build.pod("short", "ml", claims={"gpu": "too-many"})
    scene.put(builddevices.claim("too-many", "ml", builddevices.request("gpu", "a100", count=8)), pod)
    said = "0/8 nodes are available: 8 cannot allocate all claims. preemption: not helpful for scheduling."
    scene.put(build.event(pod, said))
    return scene


@pytest.mark.parametrize("width", [390, 1366])
def test_no_word_is_broken_on_any_page(browser: Browser, show: Show, width: int) -> None:
    site = show(make_structured_scene())
    page = site.open(browser, "/", viewport={"width": width, "height": 800})
    broken = {}
    for path in (*(line.path for line in pages.served()), "/ns/ml/pods/short"):
        page.goto(site.url + path)
        if words := page.evaluate(BROKEN):
            broken[path] = words
    assert broken == {}
    assert page.locator(".clauses tbody th").count() == 1
    page.close()


def test_all_sections_of_both_generations_are_in_sight_and_reached_by_tab(browser: Browser, show: Show) -> None:
    site = show(make_structured_scene())
    page = site.open(browser, "/pods", viewport={"width": 1366, "height": 800})
    links = page.locator(".sections a")
    assert links.count() == 12
    for width in (761, 1024, 1366, 1920):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.locator(".sections").evaluate("e => e.scrollWidth - e.clientWidth") <= 0, width
        for link in links.all():
            expect(link).to_be_in_viewport(ratio=1)
    page.set_viewport_size({"width": 1366, "height": 800})
    assert len({link.bounding_box()["y"] for link in links.all()}) == 1  # type: ignore[index]  # they are visible
    links.first.focus()
    for label in links.all_text_contents():
        assert page.evaluate("document.activeElement.textContent") == label
        page.keyboard.press("Tab")
    page.close()


def many_of_everything() -> Scene:
    """Watches whose states, ages and counts are as wide as they get."""
    scene = make_scene()
    scene.put(*(build.node(f"many-{i}") for i in range(1200)))
    for kind in ("resourceclaims", "podschedulingcontexts"):
        scene.sync(kind, "stale")
    for kind in ("deviceclasses", "resourceslices"):
        scene.sync(kind, "notServed")
    return scene


@pytest.mark.parametrize("width", [761, 1101, 1280, 1366])
def test_the_watched_kinds_and_the_sections_fit(browser: Browser, show: Show, width: int) -> None:
    site = show(many_of_everything())
    page = site.open(browser, "/", viewport={"width": width, "height": 800})
    assert page.locator(".kinds tr").count() > 8
    for script in (OUTSIDE, ALONE, STICKS_OUT):
        assert page.evaluate(script) == [], width
    top, last = page.locator(".top-end").bounding_box(), page.locator(".sections a").last.bounding_box()
    assert top is not None
    assert last is not None
    assert top["x"] + top["width"] <= width - 12
    assert last["x"] + last["width"] <= (top["x"] if last["y"] < top["y"] + top["height"] else width)
    page.close()


def test_the_columns_of_a_claims_page_begin_at_one_height(browser: Browser, show: Show) -> None:
    """A claim of v1alpha2 has no requests: their block is there, and empty."""
    site = show(make_scene())
    page = site.open(browser, "/ns/ml/claims/far", viewport={"width": 1280, "height": 800})
    cards = page.locator(".columns > div").evaluate_all(
        "columns => columns.map(c => c.querySelector('.card').getBoundingClientRect().top)"
    )
    assert len(cards) == 2
    assert cards[0] == cards[1]
    page.close()


def test_all_sections_are_links_that_are_in_sight_without_javascript(browser: Browser, show: Show) -> None:
    site = show(make_structured_scene())
    page = browser.new_context(java_script_enabled=False, viewport={"width": 1366, "height": 800}).new_page()
    page.goto(f"{site.url}/pods")
    page.locator(".sections a").last.click()
    expect(page).to_have_url(f"{site.url}/changes")
    page.context.close()


@pytest.mark.parametrize("pod", ["train", "short"])
def test_all_extension_points_are_in_one_row(browser: Browser, show: Show, pod: str) -> None:
    site = show(make_structured_scene())
    page = site.open(browser, f"/ns/ml/pods/{pod}", viewport={"width": 1366, "height": 800})
    points = page.locator(".point")
    assert points.count() == {"train": 9, "short": 10}[pod]
    assert len({point.bounding_box()["y"] for point in points.all()}) == 1  # type: ignore[index]  # they are visible
    assert page.locator(".pipeline").evaluate("e => e.scrollWidth - e.clientWidth") <= 0
    page.close()


def test_the_current_section_is_to_be_seen(browser: Browser, show: Show) -> None:
    site = show(make_scene())
    page = site.open(browser, "/changes", viewport={"width": 390, "height": 800})
    current = page.locator(".sections [aria-current]").bounding_box()
    assert current is not None
    assert current["x"] >= 0
    assert current["x"] + current["width"] <= 390
    page.close()


def test_everything_on_a_wall_screen_grows_alike(browser: Browser, show: Show) -> None:
    site = show(make_scene())
    page = site.open(browser, "/pods", viewport={"width": 1366, "height": 800})
    sizes = """() => ['.chip', '.rows td', '.sentence']
      .map(s => parseFloat(getComputedStyle(document.querySelector(s)).fontSize))"""
    plain = page.evaluate(sizes)
    page.goto(f"{site.url}/pods?kiosk=1")
    assert page.evaluate(sizes) == [size * 1.25 for size in plain]
    assert page.evaluate(OUTSIDE) == []
    page.close()


def test_a_chosen_theme_and_the_systems_are_the_same_colours_and_paper_is_white(browser: Browser, show: Show) -> None:
    site = show(make_scene())
    page = site.open(browser, "/claims", viewport={"width": 1366, "height": 800})
    colours = """() => ['body', '.card', '.chip', '.rows a'].map(s => getComputedStyle(document.querySelector(s)))
      .flatMap(style => [style.color, style.backgroundColor])"""
    seen = {}
    for theme, other in (("light", "dark"), ("dark", "light")):
        page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]  # one of its literals
        page.evaluate("delete document.documentElement.dataset.theme")
        seen[theme] = page.evaluate(colours)
        page.emulate_media(color_scheme=other)  # type: ignore[arg-type]
        page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
        assert page.evaluate(colours) == seen[theme], theme
    assert not set(seen["light"]) & (set(seen["dark"]) - {"rgba(0, 0, 0, 0)"})
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.close()


# How far each paint moved what was already to be seen, as the browser counts it; and where the content begins.
SHIFTS = """() => new PerformanceObserver(list => {
  window.shifts = (window.shifts || []).concat(list.getEntries().map(entry => entry.value))
}).observe({type: 'layout-shift', buffered: true})"""
PAINTED = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
TOP = "() => document.getElementById('main').getBoundingClientRect().top"
# What the script says of the connection (dradash.js), each in its turn.
SAID = ("not live", "connecting", "live", "connected, old data", "not live, reconnecting")
SAY = "said => { document.querySelector('[data-live-text]').textContent = said }"


@pytest.mark.parametrize("width", [390, 412])
@pytest.mark.parametrize("path", ["/", "/pods"])
def test_the_page_stays_where_it_is_when_the_socket_connects(
    browser: Browser, show: Show, width: int, path: str
) -> None:
    site = show(make_scene())
    page = browser.new_page(viewport={"width": width, "height": 800})
    held: list[Route] = []

    def hold(route: Route) -> None:  # until the first paint is over
        held.append(route)

    page.route("**/dradash.js*", hold)
    page.goto(site.url + path, wait_until="commit")
    page.wait_for_selector("#main", state="attached")
    page.evaluate(PAINTED)
    expect(page.locator("#live-state")).to_have_text("not live")
    page.evaluate(SHIFTS)
    before = page.evaluate(TOP)
    held[0].continue_()
    page.wait_for_selector('#live-state[data-state="live"]')
    page.evaluate(PAINTED)
    assert page.evaluate(TOP) == before
    assert sum(page.evaluate("() => window.shifts || []")) < 0.001  # a row of the header is 0.03
    tops = {}
    for said in SAID:
        page.evaluate(SAY, said)
        tops[said] = page.evaluate(TOP)
    assert tops == dict.fromkeys(SAID, before)
    page.close()
