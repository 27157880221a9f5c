"""``loadcurve studies``: the studies that come with Loadcurve, and how long a study takes."""

from rich.table import Table
from rich.text import Text

from loadcurve.cli.console import new_console
from loadcurve.cli.display import clock
from loadcurve.study.bundled import bundled_studies
from loadcurve.study.estimate import estimated_duration_s
from loadcurve.study.find import find_study
from loadcurve.study.model import Study
from loadcurve.toml.document import read_toml_model

UNKNOWN = "only a run shows it"


def list_command() -> None:
    """Print the studies that come with Loadcurve, with what they ask."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("study", no_wrap=True)
    table.add_column("question")
    for name, file in bundled_studies().items():
        study = read_toml_model(file, Study)
        table.add_row(name, Text(study.question or study.title))
    new_console().print(table)


def check_command(argument: str) -> None:
    """Read a study as a run would, and print what it would measure and for how long; measure nothing.

    Raises ``BadInput``: the study cannot be used.
    """
    file = find_study(argument)
    study = read_toml_model(file, Study)
    out = new_console()
    out.print(Text(f"{file}: {study.title}"), soft_wrap=True)
    for words, one in (("in full", study), ("with --quick", study.quick())):
        trials = dict.fromkeys(one.arms, one.trials.most)
        duration_s = estimated_duration_s(one, trials)
        size = f"{len(one.arms)} servers, {len(one.points())} points, {one.trials.most} trials of each"
        out.print(f"{words}: {size}; {UNKNOWN if duration_s is None else f'about {clock(duration_s)}'}")
