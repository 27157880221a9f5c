"""Whether a page can be read by everybody: what the tests of each page look for."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from support.colours import contrast
from support.opened_report import DESK, PHONE, Opened

PAPER = 718
"""A page of A4 between margins of one centimetre, in CSS pixels of 1/96 inch."""

LEAST_CONTRAST = 4.5
"""WCAG 2.2, success criterion 1.4.3, level AA, for text that is not large."""

_NEXT_BY_TAB = """() => {
  const at = document.activeElement;
  const style = getComputedStyle(at);
  return at === document.body ? null : {
    place: stops.indexOf(at),
    outlined: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0,
    html: at.outerHTML.slice(0, 120),
  };
}"""


def looked_at(*settings: tuple[int, str], without: tuple[int, str] | None = None) -> pytest.MarkDecorator:
    """Widths of the window with colours, of which the short form of the tests takes these.

    One that another test looks at may be left out.
    """
    every = [(width, colours) for width in (PHONE, DESK) for colours in ("light", "dark")]
    every = [one for one in every if one != without]
    return pytest.mark.parametrize(
        ("width", "colour_scheme"),
        [pytest.param(*one, marks=[] if one in settings else pytest.mark.long) for one in every],
    )


def lay_open(opened: Opened) -> None:
    """Have everything drawn, and open everything that is folded but the menus of the figures."""
    opened.figures()
    opened.page.evaluate(
        "document.querySelectorAll('details').forEach((one) => { one.open ||= !one.closest('.chart'); })"
    )


def serious_violations(opened: Opened) -> list[str]:
    """What axe finds in the page, as it is now, that is serious or worse."""
    return [
        f"{one['id']}: {one['help']}: {node['html']}"
        for one in Axe().run(opened.page).response["violations"]
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]


def sticking_out(opened: Opened, width: int, but_within: str = "svg, .scroller") -> list[str]:
    """What reaches beyond the sides of the page; tables may do so within frames that scroll."""
    found: list[str] = opened.page.evaluate(
        """([width, butWithin]) => [...document.querySelectorAll("body *")]
          .filter((one) => !one.parentElement.closest(butWithin) && one.checkVisibility())
          .filter((one) => {
            const box = one.getBoundingClientRect();
            return box.left < -0.5 || box.right > width + 0.5;
          })
          .map((one) => one.outerHTML.slice(0, 100))""",
        [width, but_within],
    )
    return found


def scrolls_sideways(opened: Opened, width: int) -> bool:
    """Whether the page is wider than its window."""
    return bool(opened.page.evaluate("document.documentElement.scrollWidth") > width)


def lay_on_paper(opened: Opened) -> None:
    """Show the page, with everything drawn, as it is printed."""
    opened.figures()
    opened.page.emulate_media(media="print")
    opened.page.set_viewport_size({"width": PAPER, "height": 1000})


def cut_off(opened: Opened) -> list[str]:
    """What could be scrolled on the screen: on paper it must lie open, for paper does not scroll."""
    found: list[str] = opened.page.evaluate(
        """() => [...document.querySelectorAll("body *")]
          .filter((one) => getComputedStyle(one).overflowX !== "visible" && !one.closest("svg"))
          .filter((one) => one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 1)
          .filter((one) => one.checkVisibility())
          .map((one) => one.outerHTML.slice(0, 100))"""
    )
    return found


def pale_words(opened: Opened, *selectors: str, paper: str = "rgb(255, 255, 255)") -> list[str]:
    """The selectors whose first words do not stand out from the paper; browsers print no backgrounds."""
    return [
        words
        for words in selectors
        if contrast(
            opened.page.locator(words).first.evaluate(
                "(one) => getComputedStyle(one)[one.closest('svg') ? 'fill' : 'color']"
            ),
            paper,
        )
        < LEAST_CONTRAST
    ]


def walk_by_tab(opened: Opened) -> None:
    """Fail unless the Tab key reaches everything once, in the order of reading, with an outline around it."""
    opened.figures()
    opened.page.evaluate(
        """() => {
          // Of the radio buttons of a group, the Tab key reaches the chosen one, and arrows the others.
          const inputs = "input:not([type='radio']), input:checked";
          const wanted = `a[href], button, select, ${inputs}, summary, [tabindex='0']`;
          window.stops = [...document.querySelectorAll(wanted)].filter((one) => one.checkVisibility());
        }"""
    )
    count = opened.page.evaluate("stops.length")
    assert count > 0
    reached = []
    for _ in range(count):
        opened.page.keyboard.press("Tab")
        reached.append(opened.page.evaluate(_NEXT_BY_TAB))
    assert [one["place"] for one in reached] == list(range(count))
    assert [one["html"] for one in reached if not one["outlined"]] == []
