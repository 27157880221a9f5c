"""What is looked through in linear time finds what the one pattern that says it finds."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as some

from loadcurve.redaction import _without_its_user, without_passwords
from loadcurve.result.differences import with_placeholders
from loadcurve.tools.errors import errors_of
from loadcurve.tools.process import thrown_in

URL = re.compile(r"[A-Za-z][\w+.-]*://\S+")
EXCEPTION = re.compile(r"\b(?:[a-z]\w*\.)+\w*(?:Exception|Error)\b.*", re.ASCII)
CONTENT = re.compile(r"[^\s\"';=]*/loadcurve-content-[^\s\"';/]+")
FOLDER = re.compile(r"[^\s\"';=]*/loadcurve-[^\s\"';/]+")


def texts_of(*parts: str) -> some.SearchStrategy[str]:
    """Texts of these parts, in any order."""
    return some.lists(some.sampled_from(parts), max_size=12).map("".join)


@settings(max_examples=300)
@given(
    texts_of(
        "a", "Z", "1", ".", "-", "://", ":", "/", "@", " ", "ü", "http", "ssh", "postgresql", '"', ",", "\n"
    )
)
@example("x1http://u:p@h ://a 9://b a://")
def test_urls_lose_their_users(text: str):
    if not text.startswith("postgresql://"):
        assert without_passwords(text) == URL.sub(lambda found: _without_its_user(found[0]), text)


@settings(max_examples=300)
@given(texts_of("a", "B", "_", "1", ".", "java", "Exception", "Error", " ", "\n", "é", ":"))
def test_the_first_exception_is_found_with_its_message(text: str):
    found = EXCEPTION.search(text)
    assert thrown_in(text) == (None if found is None else found[0])


@settings(max_examples=300)
@given(
    texts_of(
        "/", "loadcurve-", "content-", "a", "=", '"', ";", " ", "/loadcurve-content-x", "/loadcurve-y", "\n"
    )
)
def test_folders_of_a_start_are_placeholders(text: str):
    expected = "".join(
        FOLDER.sub("{folder}", CONTENT.sub("{content}", line)) for line in text.splitlines(keepends=True)
    )
    assert with_placeholders(text) == expected


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Get http://x/: dial tcp 10.0.0.1:80: i/o timeout", "connect_timeout"),
        ("Dial " + "x" * 100_000 + " I/O timeout", "connect_timeout"),
        ("dial\ni/o timeout", "timeout"),
        ("read tcp 10.0.0.1:80: i/o timeout", "timeout"),
        ("x" * 100_000 + ": connection refused", "connect_refused"),
        ("connection refused: " + "x" * 100_000, "connect_refused"),
        ("nothing known", None),
    ],
    ids=["dialled", "long", "of two lines", "read", "at the end", "at the start", "none"],
)
def test_what_tools_say_of_a_failure_has_its_class(text: str, name: str | None):
    assert {one: count for one, count in errors_of({text: 7}).items() if count} == ({name: 7} if name else {})
