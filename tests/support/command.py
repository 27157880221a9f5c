"""The command in the process of the tests: for what starts no server and is not looked at while it runs."""

import contextlib
import subprocess
from pathlib import Path

from typer.testing import CliRunner

from loadcurve.cli.main import app
from loadcurve.errors import LoadcurveError
from loadcurve.redaction import hidden


class Command:
    """Runs the command in a folder."""

    def __init__(self, work: Path) -> None:
        self.work = work

    def write(self, name: str, text: str) -> Path:
        file = self.work / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def run(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        """Run the command; an error that it tells ends it with its code, as `main` does."""
        words = [*map(str, arguments)]
        with contextlib.chdir(self.work):
            result = CliRunner().invoke(app, words)
        code, said = result.exit_code, result.stderr
        if isinstance(result.exception, LoadcurveError):
            code, said = result.exception.exit_code, f"{said}loadcurve: {hidden(str(result.exception))}\n"
        elif result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return subprocess.CompletedProcess(words, code, result.stdout, said)
