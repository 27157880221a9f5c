"""Where keys are in a TOML document."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadcurve import _engine


def places(text):
    return {".".join(path): (line, column) for path, line, column in _engine.toml_positions(text)}


def test_keys_of_nested_tables_have_their_own_lines():
    text = '# a comment\ntitle = "x"\n\n[servers.nginx]\nworkers = 1\n[servers."two words"]\n'
    assert places(text) == {
        "title": (2, 1),
        "servers": (4, 2),
        "servers.nginx": (4, 10),
        "servers.nginx.workers": (5, 1),
        "servers.two words": (6, 10),
    }


def test_each_part_of_a_dotted_key_has_its_own_column():
    assert places("a.b.c = 1\n  a.d = 2") == {"a": (1, 1), "a.b": (1, 3), "a.b.c": (1, 5), "a.d": (2, 5)}


def test_elements_of_arrays_have_the_place_of_their_value():
    assert places('x = [10,\n  "y", [2]]') == {
        "x": (1, 1),
        "x.0": (1, 6),
        "x.1": (2, 3),
        "x.2": (2, 8),
        "x.2.0": (2, 9),
    }


def test_keys_of_inline_tables_and_of_arrays_of_tables_are_found():
    found = places("a = { b = { c = 1 } }\n[[p]]\nx = 1\n[[p]]\nx = 2\n")
    assert found["a.b.c"] == (1, 13)
    assert found["p.0.x"] == (3, 1)
    assert found["p.1.x"] == (5, 1)
    assert found["p.0"][0] == 2
    assert found["p.1"][0] == 4


def test_columns_count_characters_and_lines_may_end_in_carriage_return_and_newline():
    assert places('a = { "é" = 1, ü = 2 }\r\nb = 1\r\n'.replace("ü", '"ü"')) == {
        "a": (1, 1),
        "a.é": (1, 7),
        "a.ü": (1, 16),
        "b": (2, 1),
    }


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("a = ", 1, 5),
        ("a = 1\nb = é", 2, 5),
        ("a = 1\n\na = 2", 3, 1),
        ("[x\n", 1, 3),
        ("a = 1\n[t]\n[t]\n", 3, 2),
    ],
)
def test_what_is_not_toml_is_reported_with_its_place(text, line, column):
    with pytest.raises(ValueError, match=r"\w") as raised:
        _engine.toml_positions(text)
    message, *place = raised.value.args
    assert isinstance(message, str)
    assert place == [line, column]


@given(st.text(alphabet='ab.=[]{}"\n\r, 1é#'))
def test_any_text_gives_either_the_keys_that_python_reads_or_a_place(text):
    try:
        found = {tuple(path) for path, _, _ in _engine.toml_positions(text)}
    except ValueError as error:
        _, line, column = error.args
        assert 1 <= line <= text.count("\n") + 1
        assert column >= 1
        return
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    assert found == set(paths_of(data, ()))


def paths_of(value, path):
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, element in inside:
        yield (*path, str(key))
        yield from paths_of(element, (*path, str(key)))
