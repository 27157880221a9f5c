"""``loadcurve studies``: the studies that come with Loadcurve, and how long a study takes."""

from rich.table import Table
from rich.text import Text

from loadcurve.cli.console import new_console
from loadcurve.cli.display import clock
from loadcurve.study.bundled import bundled_studies
from loadcurve.study.estimate import estimated_total_s
from loadcurve.study.find import find_study
from loadcurve.study.several import studies_in

UNKNOWN = "only a run shows it"


def list_command() -> None:
    """Print the studies that come with Loadcurve, with what they ask."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("study", no_wrap=True)
    table.add_column("question")
    for name, file in bundled_studies().items():
        study = studies_in(file)[0]
        table.add_row(name, Text(study.question or study.title))
    new_console().print(table)


def check_command(argument: str) -> None:
    """Read a study as a run would, and print what it would measure and for how long; measure nothing.

    Raises ``BadInput``: the study cannot be used.
    """
    file = find_study(argument)
    studies = studies_in(file)
    out = new_console()
    out.print(Text(f"{file}: {studies[0].title}"), soft_wrap=True)
    for words, shown in (("in full", studies), ("with --quick", [one.quick() for one in studies])):
        points, trials = len(shown[0].points()), shown[0].trials.most
        size = f"{sum(len(one.servers) for one in shown)} servers"
        if len(shown) > 1:
            size = f"{len(shown)} loads alone and together"
        # The start of all servers of several loads counts once.
        arms = [*shown[0].arms, *(next(iter(one.arms)) for one in shown[1:])]
        duration_s = estimated_total_s(shown, dict.fromkeys(arms, trials))
        length = UNKNOWN if duration_s is None else f"about {clock(duration_s)}"
        out.print(f"{words}: {size}, {points} points, {trials} trials of each; {length}")
