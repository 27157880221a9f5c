"""The programs that a study itself names: their commands, folders and variables."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, ValidationInfo

from loadcurve.redaction import is_secret_variable, remember
from loadcurve.study.limits import LimitsTable
from loadcurve.toml.document import TomlTable
from loadcurve.toml.expected import Expected, show
from loadcurve.toml.problems import Problem, own_problem, own_problems
from loadcurve.toml.secret import Secret, SecretText
from loadcurve.toml.values import StudyPath, Text


def existing_folder(folder: Path) -> Path:
    """Return a folder without links in its path; refuse one that is not there."""
    if not folder.is_dir():
        raise own_problem(f'no such folder: "{folder}"; the path is relative to the folder of this file')
    return folder.resolve()


def _in_the_studys_folder(words: list[str], info: ValidationInfo) -> list[str]:
    """Fill in ``{study}``, and make a program that is named by a relative path an absolute one.

    It is in the study's folder, or else in the one where it works, as in a command that a terminal there has.
    """
    study = Path(info.context["folder"] if info.context else "").absolute()
    folder = _as_it_is(study)
    program, *arguments = (word.replace("{study}", folder) for word in words)
    if "/" in program and not program.startswith(("/", "{")):
        cwd: Path = info.data.get("cwd") or study
        is_there = not (study / program).exists() and (cwd / program).is_file()
        program = f"{_as_it_is(cwd) if is_there else folder}/{program}"
    return [program, *arguments]


def _as_it_is(folder: Path) -> str:
    """Return a folder with the braces in its name doubled, as placeholders are filled in later."""
    return str(folder).replace("{", "{{").replace("}", "}}")


SHELL_CHARACTERS = "|&;<>$`\n"
"""What a shell would act on in a command: none is between the command and the program."""


_VARIABLE = re.compile(r"([A-Za-z_]\w*)=")


def _words_of(command: object) -> object:
    """Divide a command that is one text as a shell does, which is not asked for anything else."""
    if not isinstance(command, str):
        return command
    try:
        parts = shlex.shlex(command, posix=True, punctuation_chars=SHELL_CHARACTERS)
        parts.whitespace_split, parts.commenters = True, ""
        words = list(parts)
    except ValueError as error:
        raise own_problem(f"found {show(command)}, which is not a command: {error}".lower()) from None
    if words and (variable := _VARIABLE.match(words[0])):
        raise own_problem(
            f"found {variable[0]}… in front of the program: no shell sets it; expected the program first, "
            f'and environment = {{ {variable[1]} = "…" }} beside start'
        )
    for word in words:
        if word and all(character in SHELL_CHARACTERS for character in word):
            raise own_problem(
                f"found {show(word)} in {show(command)}: no shell runs it; expected one program and its "
                'arguments, or a shell that is named, such as ["sh", "-c", "…"]'
            )
    return words


StudyCommand = Annotated[
    list[Text],
    Field(min_length=1),
    BeforeValidator(_words_of),
    AfterValidator(_in_the_studys_folder),
    Expected('a program and its arguments, as a text or a list of texts, such as "server --port {port}"'),
]


def _usable_variables(variables: dict[str, SecretText]) -> dict[str, SecretText]:
    for name, value in variables.items():
        if name.startswith(_OUR_OWN_VARIABLES):
            raise own_problem(f"found {show(name)}, which Loadcurve sets itself; remove it")
        if "\0" in value.text:
            raise own_problem(f"{name} contains a NUL character, which environment variables cannot contain")
        if is_secret_variable(name):
            remember(value.text)
    return variables


def _recorded_variables(variables: dict[str, SecretText]) -> dict[str, str | dict[str, str]]:
    """Return what records have of variables: where they came from, or their value where it is no secret."""
    return {
        name: value.recorded if value.source is not None or is_secret_variable(name) else value.text
        for name, value in variables.items()
    }


_OUR_OWN_VARIABLES = ("LOADCURVE_", "LC_ALL")
Variables = Annotated[
    dict[
        Annotated[str, Field(pattern="^[A-Za-z_][A-Za-z0-9_]*$"), Expected("the name of a variable")],
        Secret,
    ],
    AfterValidator(_usable_variables),
    PlainSerializer(_recorded_variables),
    Expected('a table of variables, such as { MODE = "fast", TOKEN = { env = "TOKEN" } }'),
]


Folder = Annotated[StudyPath, AfterValidator(existing_folder)]
"""A folder that exists."""
AskedPath = Annotated[Text, Field(pattern="^/"), Expected('a path, such as "/health"')]
"""What a server is asked for until it is ready."""
Filled = Callable[[str], str]
"""Fills settings of a server into a text."""


def filled_variables(variables: dict[str, SecretText], filled: Filled) -> dict[str, SecretText]:
    """Return variables with settings filled in, but for values that came from elsewhere."""
    return {
        name: given if given.source is not None else SecretText(filled(given.text))
        for name, given in variables.items()
    }


class ProgramTable(TomlTable):
    """One of several programs that are a server together, such as a database, an application and a proxy."""

    name: Annotated[
        Text,
        Field(pattern="^[A-Za-z][A-Za-z0-9_]{0,14}$"),
        Expected('a name of at most 15 letters, digits and underscores, such as "app"'),
    ]
    """By which reports call it, and the commands of the others: `{app.port}` is the port of `app`."""
    # Known before ``start`` is read, whose program may lie there.
    cwd: Folder | None = None
    """The folder in which it works: `cwd` of the server, or the folder of the study, unless set."""
    start: StudyCommand
    """Its command, with the same placeholders as `start` of a server."""
    environment: Variables = Field(default_factory=dict)
    """Its environment variables, besides those of the server."""
    ready: AskedPath | None = None
    """The path whose answer, of a status below 400, shows that it is ready. Unless this is set, the one that
    serves is ready when it answers the load's first request with a status below 500, another one when it
    accepts a connection on its port, or, without one, when it has run for half a second.
    """
    port: Annotated[int, Field(ge=1, le=65535), Expected("a port, from 1 to 65535")] | None = None
    """The port on which it listens, if that cannot be given as `{port}`."""
    limits: LimitsTable | None = None
    """Limits that control groups set for it alone."""
    serves: bool = False
    """Whether the load goes to it; to the last program, unless one says so."""

    def with_settings_filled_in(self, filled: Filled) -> Self:
        """Return the same with settings of the server in its command and its variables."""
        variables = filled_variables(self.environment, filled)
        return self.model_copy(update={"start": list(map(filled, self.start)), "environment": variables})


def usable_programs(programs: list[ProgramTable]) -> list[ProgramTable]:
    """Refuse programs of one name, and several that the load would go to."""
    names = [one.name for one in programs]
    again = [
        Problem((str(place), "name"), f"found {show(name)} again; expected another name")
        for place, name in enumerate(names)
        if name in names[:place]
    ]
    serving = [place for place, one in enumerate(programs) if one.serves]
    more = [
        Problem((str(place), "serves"), "found true again; expected one program that the load goes to")
        for place in serving[1:]
    ]
    if again or more:
        raise own_problems([*again, *more])
    return programs
