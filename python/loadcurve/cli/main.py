"""The command ``loadcurve``: its subcommands, and the exit code of every way in which they end.

What a subcommand needs is imported when it runs, so that ``--help`` answers at once.
"""

import shutil
import sys
import textwrap
from collections.abc import Callable
from typing import Annotated

import typer

from loadcurve.cli import completion
from loadcurve.cli.commands import inventory, measure, results
from loadcurve.cli.commands.gate import gate
from loadcurve.cli.commands.history import history
from loadcurve.cli.commands.load import load
from loadcurve.cli.commands.publish import publish
from loadcurve.cli.interrupts import end_on_interrupts
from loadcurve.cli.output import results_on_stdout
from loadcurve.cli.parsing import Command, CommandGroup
from loadcurve.cli.report_packages import INSTALL, OF_REPORTS
from loadcurve.errors import NO_MEMORY, BadInput, LoadcurveError, refusal, sentence
from loadcurve.exit_codes import EXIT_INTERRUPTED
from loadcurve.steering import WITHOUT_STEERING

NATIVE_PART = "loadcurve._engine"

app = typer.Typer(
    name="loadcurve",
    cls=CommandGroup,
    help="Puts real servers under load and returns the curve, with an interval on every number.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
SUBCOMMANDS: dict[str, Callable[..., None]] = {
    "run": measure.run,
    "rerun": measure.rerun,
    "init": measure.init,
    "capacity": measure.capacity,
    "load": load,
    "studies": inventory.studies,
    "machines": inventory.machines,
    "import": results.import_files,
    "servers": inventory.servers,
    "gate": gate,
    "crosscheck": measure.crosscheck,
    "generators": inventory.generators,
    "report": results.report,
    "open": results.open_report,
    "watch": results.watch,
    "runs": results.runs,
    "pack": results.pack,
    "compare": results.compare,
    "history": history,
    "publish": publish,
    "doctor": inventory.doctor,
}
"""In the order of the help."""

for _name, _function in SUBCOMMANDS.items():
    app.command(_name, cls=Command)(_function)


def version_callback(asked: bool) -> None:  # noqa: FBT001 -- typer hands it over so
    """Print the version and end."""
    if asked:
        from loadcurve.version import VERSION

        typer.echo(f"loadcurve {VERSION}")
        raise typer.Exit


@app.callback()
def root(
    _version: Annotated[
        bool, typer.Option("--version", callback=version_callback, is_eager=True, help="Show the version.")
    ] = False,
    _install: completion.InstallOption = False,
    _show: completion.ShowOption = False,
) -> None:
    """Puts real servers under load and returns the curve, with an interval on every number."""


def main() -> None:
    """Run the command and end the process with the contract's exit code."""
    # An exception in the middle of an import may be lost or turned into another one by native code. Until the
    # imports are done there is nothing to clean up, so that an interrupt may end the process at once.
    end_on_interrupts()
    try:
        with results_on_stdout():
            app()
    except LoadcurveError as error:
        from loadcurve.redaction import hidden

        _say(f"loadcurve: {hidden(str(error))}")
        sys.exit(error.exit_code)
    except OSError as error:
        _say(f"loadcurve: the system refused an operation that the command requires: {refusal(error)}")
        sys.exit(LoadcurveError.exit_code)
    except MemoryError:
        _say(f"loadcurve: {NO_MEMORY}")
        sys.exit(LoadcurveError.exit_code)
    except ModuleNotFoundError as error:
        if (missing := str(error.name).partition(".")[0]) in OF_REPORTS:
            _say(
                f"loadcurve: this installation runs loads only, because it lacks {missing}. Studies, reports "
                f"and imports require more packages; install them with: {INSTALL}"
            )
            sys.exit(BadInput.exit_code)
        _say(f"loadcurve: this installation is incomplete: {sentence(str(error))} Install Loadcurve again")
        sys.exit(LoadcurveError.exit_code)
    except ImportError as error:
        if error.name == NATIVE_PART:
            _say(
                f"loadcurve: its native part was built from other sources: {sentence(str(error))} "
                "Install Loadcurve again; in a checkout: make setup"
            )
            sys.exit(LoadcurveError.exit_code)
        _say(f"loadcurve: a part of the program cannot be loaded, possibly for lack of memory: {error}")
        sys.exit(LoadcurveError.exit_code)
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)


def _say(text: str) -> None:
    """Print sentences on stderr; a terminal breaks their lines between words."""
    lines = text.translate(WITHOUT_STEERING).splitlines()
    if sys.stderr.isatty():
        columns = shutil.get_terminal_size().columns
        lines = [
            textwrap.fill(line, columns, break_long_words=False, break_on_hyphens=False) for line in lines
        ]
    sys.stderr.write("\n".join([*lines, ""]))
