"""Report pages as a reader has them: in a headless Chromium, light and dark, wide and narrow, and on paper.

Needs chromium, chromedriver and selenium, so it is no part of the default run: `python -m pytest tests/browser`.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pages
import pytest
from selenium import webdriver

# As pages.kinds makes them: tests are named before there are pages.
KINDS = ["converted", "sequences", "wide", "subgraphs", "untouched", "refused", "dry-run", "unusable", "hostile", "inexact"]
LEAST_CONTRAST = 4.5
"""Of text, by WCAG 2.2, 1.4.3."""


@pytest.fixture(scope="session")
def driver() -> Iterator[webdriver.Chrome]:
    browser, service = shutil.which("chromium"), shutil.which("chromedriver")
    assert browser and service, "this needs chromium and chromedriver (Debian: apt-get install chromium chromium-driver)"
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(service))
    yield driver
    driver.quit()


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    for name, text in pages.kinds(folder).items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    assert {path.stem for path in folder.glob("*.html")} - {"report"} == set(KINDS)
    return folder


@pytest.fixture
def show(driver: webdriver.Chrome, folder: Path):
    def load(kind: str, scheme: str = "light", width: int = 1200, media: str = "screen") -> webdriver.Chrome:
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        driver.get((folder / f"{kind}.html").as_uri())
        driver.execute_script("for (const part of document.querySelectorAll('details')) part.open = true")
        return driver

    return load


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_logged_and_nothing_is_fetched(show, kind: str) -> None:
    driver: webdriver.Chrome = show(kind)
    driver.get_log("performance")
    driver.get_log("browser")
    driver.refresh()
    messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    asked = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    assert [url for url in asked if url not in (driver.current_url, "data:,")] == []
    assert driver.current_url in asked, "the log is of this page"
    assert driver.get_log("browser") == []


_TEXTS = """
const found = []
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement
  if (!walker.currentNode.data.trim() || ['TITLE', 'DESC', 'title', 'desc'].includes(element.tagName)) continue
  const box = element.getBoundingClientRect()
  const backs = []
  for (let one = element; one; one = one.parentElement) {
    const rect = one.tagName == 'g' ? one.querySelector(':scope > rect') : null
    backs.push(rect ? getComputedStyle(rect).fill : getComputedStyle(one).backgroundColor)
  }
  const style = getComputedStyle(element)
  const color = element instanceof SVGElement ? style.fill : style.color
  found.push([walker.currentNode.data.trim(), color, backs, box.width * box.height, parseFloat(style.fontSize)])
}
return found
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", KINDS)
def test_text_can_be_seen(show, kind: str, scheme: str) -> None:
    texts = show(kind, scheme).execute_script(_TEXTS)
    assert len(texts) >= 10
    weak = [(text, color, backs) for text, color, backs, _, _ in texts if _contrast(color, backs) < LEAST_CONTRAST]
    assert weak == []
    assert [text for text, _, _, area, size in texts if area == 0 or size < 10.5] == []


def test_light_is_light_and_dark_is_dark(show) -> None:
    lightness = {}
    for scheme in ("light", "dark"):
        back = show("converted", scheme).execute_script("return getComputedStyle(document.body).backgroundColor")
        lightness[scheme] = _luminance(_channels(back))
    assert lightness["light"] > 0.8 and lightness["dark"] < 0.05


@pytest.mark.parametrize("width", [400, 1200])
@pytest.mark.parametrize("kind", KINDS)
def test_the_page_is_as_wide_as_the_screen(show, kind: str, width: int) -> None:
    driver = show(kind, width=width)
    assert driver.execute_script(_OVERFLOW) <= 0
    script = """
    return [...document.querySelectorAll('body *')].filter(e => !e.closest('.table, .scroll, title'))
        .filter(e => e.getBoundingClientRect().right > innerWidth + 0.5).map(e => e.outerHTML.slice(0, 80))"""
    assert driver.execute_script(script) == []


_OVERFLOW = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
_DRAWINGS = """
const box = element => { const r = element.getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom] }
return [...document.querySelectorAll('svg.graph')].map(svg => ({
  frame: box(svg),
  boxes: [...svg.querySelectorAll('rect')].map(box),
  texts: [...svg.querySelectorAll('g > text')].map(t => [box(t), box(t.parentElement.querySelector('rect'))]),
  edges: [...svg.querySelectorAll('.edge path')].map(box),
}))
"""


@pytest.mark.parametrize("width", [400, 1200])
@pytest.mark.parametrize("kind", ["converted", "sequences", "wide", "subgraphs", "hostile", "inexact"])
def test_drawings(show, kind: str, width: int) -> None:
    """Boxes and edges lie within their drawing, texts within their boxes, and no box covers another."""
    drawings = show(kind, width=width).execute_script(_DRAWINGS)
    assert drawings
    for drawing in drawings:
        frame, boxes = drawing["frame"], drawing["boxes"]
        assert boxes and all(_is_within(box, frame) for box in [*boxes, *drawing["edges"]])
        assert all(_is_within(text, box) for text, box in drawing["texts"])
        for index, one in enumerate(boxes):
            assert not any(_overlap(one, other) for other in boxes[:index])


def test_on_paper(show) -> None:
    driver = show("wide", media="print", width=700)
    assert driver.execute_script(_OVERFLOW) <= 0
    drawings = driver.execute_script(_DRAWINGS)
    assert all(drawing["frame"][2] <= 700 for drawing in drawings)


def _is_within(inner: list[float], outer: list[float]) -> bool:
    return all(inner[side] >= outer[side] - 1 for side in (0, 1)) and all(inner[side] <= outer[side] + 1 for side in (2, 3))


def _overlap(one: list[float], other: list[float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _channels(color: str) -> list[float]:
    """ "rgb(1, 2, 3)" or "rgba(1, 2, 3, 0.5)" as [1, 2, 3, opacity]."""
    numbers = [float(number) for number in color[color.index("(") + 1 : -1].split(",")]
    return numbers if len(numbers) == 4 else [*numbers, 1.0]


def _luminance(channels: list[float]) -> float:
    """The relative luminance of WCAG."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (value / 255 for value in channels[:3])]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(color: str, backs: list[Any]) -> float:
    """Between a colour and the first opaque one behind it."""
    back = next(channels for channels in map(_channels, backs) if channels[3] == 1)
    light, dark = sorted((_luminance(_channels(color)), _luminance(back)), reverse=True)
    return (light + 0.05) / (dark + 0.05)
