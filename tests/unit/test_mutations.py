"""The edits that tests must notice can be made, and what they are made in is whole again after each."""

import pytest
from benches.mutations.checkout import Checkout
from benches.mutations.edits import Edit, read_edits

from loadcurve.errors import BadInput

EDITS = read_edits()


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.name)
def test_the_line_that_an_edit_breaks_stands_in_its_file_once(edit):
    assert edit.problems() == []


def edit_of(old: str, new: str) -> Edit:
    return Edit("name", "python/module.py", old, new, "It is wrong.", ("tests/unit/test_mutations.py",))


@pytest.mark.parametrize("text", ["a = 2\n", "a = 1\na = 1\n"])
def test_a_line_that_is_not_there_or_not_alone_is_not_edited(text):
    with pytest.raises(BadInput, match=r"name: its old text occurs [02] times in python/module.py"):
        edit_of("a = 1", "a = 3").applied_to(text)


def test_an_edit_that_leaves_no_python_is_named():
    broken = Edit("name", "benches/mutations/edits.py", "def read_edits(", "def (", "It is wrong.", ())
    assert broken.problems() == ["with it, benches/mutations/edits.py is not valid Python: invalid syntax"]


def test_a_file_is_broken_inside_the_block_and_whole_again_after_it(tmp_path):
    file = tmp_path / "python" / "module.py"
    file.parent.mkdir()
    file.write_text("a = 1\n")
    seen = []

    def look() -> None:
        seen.append((file.read_text(), int(file.stat().st_mtime)))

    checkout = Checkout(tmp_path, tmp_path / "built", timeout_s=1)
    with checkout.broken(edit_of("a = 1", "a = 2")):
        look()
    look()
    texts, moments = zip(*seen, strict=True)
    assert texts == ("a = 2\n", "a = 1\n")
    assert len(set(moments)) == len(moments), "a compiled module is known by the second of its source"
