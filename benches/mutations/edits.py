"""The edits as data: which line is broken, what that breaks, and which tests are to notice it."""

import ast
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from loadcurve.errors import BadInput

ROOT = Path(__file__).parents[2]
TABLES = sorted(Path(__file__).parent.glob("*.toml"))


@dataclass(frozen=True)
class Edit:
    """One row of a table."""

    name: str
    file: str
    """The edited file, from the root of the repository."""
    old: str
    """A text that occurs exactly once in the file."""
    new: str
    breaks: str
    """What is wrong with the product then, in a sentence."""
    noticed_by: tuple[str, ...]
    """Tests that should notice it, the cheapest first: a file of Python tests by its path, or what follows
    ``cargo test --package``, such as ``loadcurve-engine --lib``."""

    @cached_property
    def path(self) -> Path:
        """The edited file in this checkout."""
        return ROOT / self.file

    @property
    def is_rust(self) -> bool:
        """Whether it has to be compiled."""
        return self.path.suffix == ".rs"

    def applied_to(self, text: str) -> str:
        """Return the text of the file with the edit.

        Raises ``BadInput``: the old text does not occur there exactly once.
        """
        count = text.count(self.old)
        if count != 1:
            raise BadInput(
                f"{self.name}: its old text occurs {count} times in {self.file}, not once; if the line "
                "was changed on purpose, update `old` in the edit"
            )
        return text.replace(self.old, self.new)

    def problems(self) -> list[str]:
        """Say why the row cannot be tried in this checkout."""
        found = [f"{test} does not exist" for test in self.noticed_by if not _exists(test)]
        if self.old == self.new:
            found.append("it changes nothing")
        try:
            edited = self.applied_to(self.path.read_text(encoding="utf-8"))
            if not self.is_rust:
                ast.parse(edited)
        except (BadInput, OSError) as error:
            found.append(str(error))
        except SyntaxError as error:
            found.append(f"with it, {self.file} is not valid Python: {error.msg}")
        return found


def read_edits() -> list[Edit]:
    """Return the edits of all tables, each under a different name.

    Raises ``BadInput``: two have the same name.
    """
    edits = [_edit(row) for table in TABLES for row in _rows(table)]
    names = [edit.name for edit in edits]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise BadInput(f"several edits have the name {', '.join(repeated)}")
    return edits


def _rows(table: Path) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = tomllib.loads(table.read_text(encoding="utf-8"))["edit"]
    return rows


def _edit(row: dict[str, str]) -> Edit:
    return Edit(**{**row, "noticed_by": tuple(row["noticed_by"])})  # type: ignore[arg-type]


def is_python_test(test: str) -> bool:
    """Say whether a test is a file of Python tests, and no package of Rust."""
    return test.endswith(".py")


def _exists(test: str) -> bool:
    if is_python_test(test):
        return (ROOT / test).is_file()
    return (ROOT / "crates" / test.split(maxsplit=1)[0].removeprefix("loadcurve-")).is_dir()
