"""Each guide shows a picture of a real report, which is small and says in words what it shows."""

import re
import struct

import pytest
from docs.pictures.guides import BYTES_MAX, GUIDES, PICTURES, WIDTH
from docs.pictures.make import HERE

NAMES = sorted(page.stem for page in GUIDES.glob("*.md"))
PNG = b"\x89PNG\r\n\x1a\n"


def test_there_is_a_picture_for_each_guide_and_no_other():
    assert sorted(PICTURES) == NAMES
    assert sorted(file.stem for file in HERE.glob("guide-*")) == [f"guide-{name}" for name in NAMES]


@pytest.mark.parametrize("name", NAMES)
def test_a_guide_shows_its_picture_and_says_what_it_shows(name: str):
    text = (GUIDES / f"{name}.md").read_text(encoding="utf-8")
    [words] = re.findall(rf"^!\[(.+)\]\(\.\./pictures/guide-{name}\.png\)$", text, re.MULTILINE)
    assert len(words.split()) >= 5


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_is_small_and_as_wide_as_its_window(name: str):
    picture = (HERE / f"guide-{name}.png").read_bytes()
    assert picture.startswith(PNG)
    assert len(picture) <= BYTES_MAX
    width, height = struct.unpack(">II", picture[16:24])
    assert width == WIDTH
    assert 60 <= height <= 600
