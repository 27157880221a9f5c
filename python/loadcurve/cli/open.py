"""``loadcurve open``: the report of a run in the browser."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from loadcurve.cli.console import new_console
from loadcurve.errors import refusal
from loadcurve.host.own_files import is_own
from loadcurve.result.run_files import REPORT_FILE, has_several_loads

NO_BROWSER = "no browser was found: open this file in a browser, or set the environment variable BROWSER"


def open_command(folder: Path) -> None:
    """Print the path of a run's report, and open it in a browser.

    It is made where it is missing, and made anew where this user's Loadcurve has not written it: a report
    that came with a folder may have scripts of anybody's.

    Raises ``LoadcurveError``: the report cannot be made.
    """
    report = folder / REPORT_FILE
    if not is_own("pages", report):
        report = _made(folder)
    talk = new_console(stderr=True)
    command = browser_command(report.absolute(), os.environ)
    if command is None:
        talk.print(NO_BROWSER, soft_wrap=True)
    elif (problem := _open(command)) is not None:
        talk.print(f"{shlex.join(command[:1])} did not open it: {problem}", soft_wrap=True)
    new_console().print(report, soft_wrap=True)


def browser_command(report: Path, environment: Mapping[str, str]) -> list[str] | None:
    """Return the command that opens a file: the first of ``$BROWSER`` that is there, or else ``xdg-open``.

    A name in ``$BROWSER`` may have arguments, and ``%s`` where the file goes; colons separate several.
    ``None`` where there is none, or no screen for ``xdg-open``.
    """
    for named in environment.get("BROWSER", "").split(os.pathsep):
        words = shlex.split(named)
        if words and shutil.which(words[0]) is not None:
            filled = [word.replace("%s", str(report)) for word in words]
            return filled if filled != words else [*words, str(report)]
    if shutil.which("xdg-open") is not None and _has_screen(environment):
        return ["xdg-open", str(report)]
    return None


def _has_screen(environment: Mapping[str, str]) -> bool:
    return bool(environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"))


def _open(command: list[str]) -> str | None:
    """Start the browser and return what went wrong; on a screen it is not waited for."""
    try:
        if _has_screen(os.environ):
            subprocess.Popen(  # noqa: S603 -- the person's own browser
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            return None
        code = subprocess.run(command, check=False).returncode  # noqa: S603 -- the same
    except OSError as error:
        return refusal(error)
    return None if code == 0 else f"it ended with exit code {code}"


def _made(folder: Path) -> Path:
    if has_several_loads(folder):
        from loadcurve.cli.together import page_of_all

        return page_of_all(folder)
    from loadcurve.analysis.numbers import read_analysed
    from loadcurve.report.html import write_page
    from loadcurve.report.section import Report

    return write_page(Report(*read_analysed(folder, None)))
