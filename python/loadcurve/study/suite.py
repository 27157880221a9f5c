"""A suite: several studies that are run in turn and published side by side, each with its own question."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, ValidationInfo, model_validator

from loadcurve.errors import BadInput
from loadcurve.study.bundled import SUITE_FILE, bundled_suites, study_name
from loadcurve.toml.document import TomlDocument, TomlTable
from loadcurve.toml.expected import Expected, nearest, show
from loadcurve.toml.problems import Problem, own_problems
from loadcurve.toml.values import Text

Names = Annotated[
    list[Text],
    Field(min_length=1),
    Expected('names of studies in the same folder without ".toml", such as ["small-file"]'),
]


class SuiteTable(TomlTable):
    """What the file of a suite says."""

    title: Text
    """What the suite is called."""
    question: Text | None = None
    """What it asks."""
    studies: Names
    """The names of its studies in their order; each is a file NAME.toml in the suite's folder."""
    quick: Names | None = None
    """Those that ``--quick`` measures; all unless they are given."""
    profiles: dict[str, Names] = Field(default_factory=dict)
    """What ``--profile NAME`` measures of them."""

    @model_validator(mode="after")
    def _names_studies_that_are_there(self, info: ValidationInfo) -> Self:
        folder = Path(info.context["folder"] if info.context else "")
        problems = [*self._unusable(folder)]
        if problems:
            raise own_problems(problems)
        return self

    def _unusable(self, folder: Path) -> Iterator[Problem]:
        there = [file.stem for file in sorted(folder.glob("*.toml")) if file.name != SUITE_FILE]
        path = ("studies",)
        for place, name in enumerate(self.studies):
            if name in self.studies[:place]:
                yield Problem(path, f"found {show(name)} again; expected each study once")
            elif name not in there:
                text = f"found {show(name)}; expected a study in this folder{nearest(name, there)}"
                yield Problem(path, text)
        parts: dict[tuple[str, ...], Sequence[str]] = {("quick",): self.quick or []}
        parts |= {("profiles", name): names for name, names in self.profiles.items()}
        for where, names in parts.items():
            for name in names:
                if name not in self.studies:
                    text = f"found {show(name)}; expected one of the studies{nearest(name, self.studies)}"
                    yield Problem(where, text)


@dataclass(frozen=True)
class Suite:
    """A suite with the files of its studies."""

    name: str
    title: str
    question: str | None
    studies: dict[str, Path]
    """The file of each study by its name, in the order in which they are run."""


def find_suite(argument: str) -> Path | None:
    """Return the file of the suite that an argument names; ``None`` where it names none.

    It names a file ``suite.toml``, a folder with one, or a suite that comes with Loadcurve.
    """
    path = Path(argument)
    if path.name == SUITE_FILE and path.is_file():
        return path
    if (path / SUITE_FILE).is_file():
        return path / SUITE_FILE
    if path.exists():
        return None
    return bundled_suites().get(argument.removeprefix("studies/"))


def read_suite(file: Path, *, quick: bool = False, profiles: Sequence[str] = ()) -> Suite:
    """Return a suite, of its short form only the studies that this measures, and only those of ``profiles``.

    Raises ``BadInput``: the file cannot be read as a suite, names a study that is not there, or has no such
    profile.
    """
    table = TomlDocument.read(file).to_model(SuiteTable)
    if unknown := [name for name in profiles if name not in table.profiles]:
        known = f"expected one of {', '.join(table.profiles)}" if table.profiles else "the suite has none"
        raise BadInput(f"--profile {unknown[0]}: {file} has no such profile; {known}")
    of_profiles = {name for profile in profiles for name in table.profiles[profile]}
    of_length = table.quick or table.studies if quick else table.studies
    names = [name for name in of_length if name in of_profiles or not profiles]
    return Suite(
        study_name(file), table.title, table.question, {name: file.parent / f"{name}.toml" for name in names}
    )
