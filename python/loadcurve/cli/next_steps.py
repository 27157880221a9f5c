"""What to try next: commands that people copy, after a first look at a study."""

import shlex
import shutil
import sys
from pathlib import Path

from rich.text import Text

from loadcurve.runs.study import RunOptions
from loadcurve.study.bundled import bundled_studies


def next_steps(argument: str, study_file: Path, folder: Path, options: RunOptions) -> Text | None:
    """Return the next commands, for a run of ``argument`` whose folder this is.

    No command is broken over lines, so that it can be copied: print them with ``soft_wrap``.

    ``None`` for a whole run of a person's own study, who knows what to do next.
    """
    is_bundled = study_file.resolve() in [file.resolve() for file in bundled_studies().values()]
    if not options.quick and not is_bundled:
        return None
    steps: dict[tuple[str, ...], str] = {("open", str(folder)): "the report in the browser"}
    if options.quick:
        steps["run", argument] = "the full study, with narrower intervals"
    if is_bundled:
        steps["init",] = "a study of your own, for the servers found here"
    program = program_name()
    lines = [Text("\nNext", style="bold")]
    for words, meaning in steps.items():
        lines += [Text(f"  {meaning}:", style="dim"), Text(f"    {shlex.join([program, *words])}")]
    return Text("\n").join(lines)


def program_name() -> str:
    """Return how the command is called from here: by its name where a shell finds it by that."""
    called = Path(sys.argv[0])
    found = shutil.which(called.name)
    if found is not None and called.exists() and Path(found).samefile(called):
        return called.name
    return str(called)
