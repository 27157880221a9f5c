"""The figures as PNG and SVG, opened by a browser: not blank, and servers have the colours of the page."""

import base64
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from loadcurve.report.appearance import appearances
from loadcurve.report.formats.figures import Picture, pictures
from loadcurve.report.section import Report
from support import synthetic_run as synthetic
from support.report_formats import formats_of

SHOWN = {
    *("throughput", "latency-99th-percentile", "throughput-latency", "shapes-bars", "distribution"),
    "time-nginx-connections-200-trial-0",
}
"""One figure of each kind; a unit test looks at all of them."""

TYPES = {".png": "image/png", ".svg": "image/svg+xml"}

COLOURS_OF = """async (address) => {
  const picture = new Image();
  picture.src = address;
  await picture.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [picture.naturalWidth, picture.naturalHeight];
  const paper = canvas.getContext("2d");
  paper.drawImage(picture, 0, 0);
  const { data } = paper.getImageData(0, 0, canvas.width, canvas.height);
  const pixels = new Map();
  for (let at = 0; at < data.length; at += 4) {
    const colour = (data[at] << 16) | (data[at + 1] << 8) | data[at + 2];
    pixels.set(colour, (pixels.get(colour) ?? 0) + 1);
  }
  const named = ([colour, count]) => [`#${colour.toString(16).padStart(6, "0")}`, count];
  const counts = Object.fromEntries([...pixels].map(named));
  return { width: canvas.width, height: canvas.height, counts };
}"""
"""The size of a picture, and how many pixels have which colour."""


@pytest.fixture(scope="module")
def opened(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    def shown(content: Report) -> list[Picture]:
        return [one for one in pictures(content) if one.name in SHOWN]

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("loadcurve.report.formats.pictures.pictures", shown)
        files = formats_of(tmp_path_factory.mktemp("run"), "png", "svg")
    context = browser.new_context(offline=True)
    page = context.new_page()
    found = {}
    for name, data in files.items():
        address = f"data:{TYPES[Path(name).suffix]};base64,{base64.b64encode(data).decode()}"
        found[name] = page.evaluate(COLOURS_OF, address)
    context.close()
    return found


def test_no_picture_is_blank(opened: dict[str, dict[str, Any]]):
    assert set(opened) == {f"report-{name}{suffix}" for name in SHOWN for suffix in TYPES}
    for name, picture in opened.items():
        counts = picture["counts"]
        assert max(counts, key=counts.get) == "#ffffff", name
        # Ink in several tones: of words, axes, grid and the softened edges of lines.
        assert len(counts) > 50, name
        assert counts["#ffffff"] < 0.99 * picture["width"] * picture["height"], name


def test_a_png_is_twice_as_dense_as_its_svg(opened: dict[str, dict[str, Any]]):
    for name, picture in opened.items():
        if name.endswith(".svg"):
            dense = opened[name.replace(".svg", ".png")]
            size = (2 * picture["width"], 2 * picture["height"])
            assert (dense["width"], dense["height"]) == pytest.approx(size, abs=2), name


def test_every_measured_server_has_its_colour_in_every_picture(opened: dict[str, dict[str, Any]]):
    looks = appearances([*synthetic.SERVERS, "absent"])
    # What happened over time is that of one trial, and so of one server.
    of_all = {name: picture for name, picture in opened.items() if not name.startswith("report-time-")}
    assert of_all
    for name, picture in of_all.items():
        for server in synthetic.SERVERS:
            assert picture["counts"].get(looks[server].colour, 0) > 20, (name, server)
        assert looks["absent"].colour not in picture["counts"], name
