"""The colours and shapes of servers can be seen on every paper, and be told apart by everybody."""

import re
from importlib.resources import files
from itertools import combinations

import pytest

from loadcurve.report.appearance import COLOURS, SHAPES, appearances
from support.colours import SIGHTS, contrast, difference

LEAST_CONTRAST = 3
"""WCAG 2.2, success criterion 1.4.11, level AA, for what is drawn."""

LEAST_DIFFERENCE = 15
"""More than six times what is just noticeable: lines are thin."""


def papers() -> list[str]:
    """The page's paper in the light and in the dark, and the white of pictures, workbooks and print."""
    style = (files("loadcurve.report") / "templates" / "report.css").read_text(encoding="utf-8")
    of_the_page = re.findall(r"--paper: (#[0-9a-f]{6});", style)
    assert len(of_the_page) == 2
    return [*of_the_page, "#ffffff"]


def test_black_on_white_has_the_contrast_that_the_standard_gives_it():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("rgb(119, 119, 119)", "#ffffff") == pytest.approx(4.48, abs=0.005)


def test_white_is_a_hundred_steps_of_lightness_from_black():
    assert difference("#000000", "#ffffff", "usual") == pytest.approx(100, abs=0.01)


def test_who_sees_no_red_takes_red_for_a_dark_yellow():
    assert difference("#ff0000", "#00ff00", "protanopia") < difference("#ff0000", "#00ff00", "usual") / 2


@pytest.mark.parametrize("colour", COLOURS)
def test_every_colour_stands_out_from_every_paper(colour: str):
    for paper in papers():
        assert contrast(colour, paper) >= LEAST_CONTRAST, paper


@pytest.mark.parametrize("sight", SIGHTS)
def test_any_two_colours_are_told_apart_with_every_sight(sight: str):
    for one, other in combinations(COLOURS, 2):
        assert difference(one, other, sight) >= LEAST_DIFFERENCE, (one, other)


def test_as_many_servers_as_colours_times_shapes_look_different():
    servers = [f"server {place}" for place in range(len(COLOURS) * len(SHAPES))]
    assert len(set(appearances(servers).values())) == len(servers)
