"""The command, run in a separate process.

A measurement so shares no thread and no memory with the notebook that asks for it, and an error in one does
not end the other. The CPUs are shared unless the load is bound to some of them.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import IO

from loadcurve.errors import BadInput, LoadcurveError, NothingMeasured
from loadcurve.exit_codes import EXIT_DONE, EXIT_INVALID, EXIT_UNDECIDED
from loadcurve.server.spawn import ends_with_parent

ENDED_WELL = frozenset({EXIT_DONE, EXIT_INVALID, EXIT_UNDECIDED})
"""An invalid result is a result: its verdict says why it is invalid. So is an answer that is not decided."""
PROGRAM = "from loadcurve.cli.given_words import main; main()"
PREFIX = "loadcurve: "
Progress = Callable[[str], object]
"""Is called with each line that the command says of what it does, in another thread."""
ERRORS = {error.exit_code: error for error in (LoadcurveError, BadInput, NothingMeasured)}


def words_of(options: Mapping[str, object]) -> list[str]:
    """Return options as they are given on the command line.

    ``connections=50`` is ``--connections=50``, ``quick=True`` is ``--quick``, and a list gives its option
    once for each value. ``None`` and ``False`` leave an option out. ``from_`` is ``--from``: Python reserves
    that name.
    """
    words: list[str] = []
    for name, given in options.items():
        option = "--" + name.removesuffix("_").replace("_", "-")
        if given is True:
            words.append(option)
        elif isinstance(given, list | tuple):
            words += [f"{option}={value}" for value in given]
        elif given is not None and given is not False:
            words.append(f"{option}={given}")
    return words


def printed_by(words: Sequence[str], progress: Progress | None = None) -> str:
    """Run the command to its end and return what it has printed on stdout.

    ``progress`` is called with what it says meanwhile, line by line, such as how many points are measured.

    The words go through a pipe: headers, bodies and passwords may be among them, and the arguments of a
    process are shown to every user of the machine.

    Raises:
        BadInput: an argument cannot be used.
        NothingMeasured: nothing could be measured.
        LoadcurveError: the fault is Loadcurve's.
        KeyboardInterrupt: interrupted; the command has ended, too, and a run folder keeps what was measured.

    """
    process = subprocess.Popen(  # noqa: S603 -- this package's own command
        [*ends_with_parent(), sys.executable, "-P", "-c", PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # An interrupt of this process is passed on below, exactly once.
        start_new_session=True,
    )
    try:
        results, said = _communicate(process, json.dumps([*words]), progress)
    except KeyboardInterrupt:
        process.send_signal(signal.SIGINT)
        process.communicate()
        raise
    if process.returncode in ENDED_WELL:
        return results
    raise ERRORS.get(process.returncode, LoadcurveError)(_error_in(said))


def _error_in(said: str) -> str:
    """Return what a command says last, behind its name; all that it has said where it says no such thing."""
    _, _, error = f"\n{said}".rpartition(f"\n{PREFIX}")
    return error.strip()


def _communicate(process: subprocess.Popen[str], given: str, progress: Progress | None) -> tuple[str, str]:
    """Return what a process prints and what it says, having handed on what it says line by line."""
    if progress is None:
        return process.communicate(given)
    assert process.stderr is not None, "asked for"  # noqa: S101
    said = process.stderr
    # It is read in the thread alone.
    process.stderr = None
    with said, ThreadPoolExecutor(1) as reader:
        lines = reader.submit(_handed_on, said, progress)
        results, _ = process.communicate(given)
        return results, lines.result()


def _handed_on(said: IO[str], progress: Progress) -> str:
    lines = []
    for line in said:
        lines.append(line)
        progress(line.rstrip())
    return "".join(lines)
