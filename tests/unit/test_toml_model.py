"""Any TOML file that is read as a model gets the messages of a study."""

from typing import Literal

import pytest
from pydantic import Field

from loadcurve.errors import BadInput
from loadcurve.toml.document import TomlTable, read_toml_model
from support.cases import cases, changed
from support.good_study import write


class Candidate(TomlTable):
    name: str = Field(min_length=1)
    kind: Literal["new", "old"]
    ports: list[int] | None = None


class Entry(TomlTable):
    title: str
    candidates: list[Candidate]
    start: str | list[str]
    seconds: float = Field(ge=0.5)


GOOD = 'title = "t"\nstart = "x"\nseconds = 1.5\n[[candidates]]\nname = "n"\nkind = "old"\n'
PROBLEMS = r"""
seconds = 1.5 -> seconds = 0
    :3: seconds: found 0; expected a number of at least 0.5
start = "x" -> start = 5
    :2: start: found 5; expected a text in quotes or a list, each item a text in quotes
start = "x" -> start = [5]
    :2: start: found [5]; expected a text in quotes or a list, each item a text in quotes
kind = "old" -> kind = "odl"
    :6: candidates.kind: found "odl"; expected "new" or "old"; did you mean "old"?
kind = "old" ->
    :4: candidates.kind: missing; expected "new" or "old"
kind = "old" -> kind = "old"\nports = [1, "2"]
    :7: candidates.ports: found "2"; expected a whole number
kind = "old" -> kind = "old"\nport = 1
    :7: candidates.port: unknown key; expected one of name, kind, ports; did you mean "ports"?
name = "n" -> name = ""
    :5: candidates.name: found ""; expected a text in quotes of at least 1 characters
"""


@pytest.mark.parametrize(("change", "problem"), cases(PROBLEMS))
def test_any_model_gets_the_same_messages(tmp_path, change, problem):
    path = write(tmp_path, GOOD)
    assert read_toml_model(path, Entry).seconds == 1.5
    write(tmp_path, changed(GOOD, change))
    with pytest.raises(BadInput) as raised:
        read_toml_model(path, Entry)
    assert str(raised.value).splitlines() == [str(path) + problem]
