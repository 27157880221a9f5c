"""One load on one URL."""

import html
import io
from dataclasses import dataclass
from typing import Unpack

from rich.console import Console

from loadcurve.api.command import printed_by, words_of
from loadcurve.api.options import LoadOptions
from loadcurve.api.signature import with_options
from loadcurve.report.load import load_summary
from loadcurve.result.load import LoadResult
from loadcurve.units import number

COLUMNS = 80
TABLE_STYLE = "font-family: monospace; line-height: 1.2; white-space: pre"
"""Not every page that shows a notebook has preformatted text in a font of equal widths."""


@dataclass(frozen=True, repr=False)
class Load:
    """What one load measured; a notebook shows it as the command prints it."""

    result: LoadResult
    """All of it: counts, latencies in ms, the time series, the slowest requests, the verdict."""

    @property
    def requests_per_s(self) -> float | None:
        """The throughput: requests answered per second; ``None`` where it was not measured."""
        return self.result.rate_rps.answered

    @property
    def verdict(self) -> str:
        """``valid``, ``suspect`` or ``invalid``; ``result.verdict`` has the reasons."""
        return self.result.verdict.status

    def __repr__(self) -> str:
        """Return the throughput and the verdict."""
        return f"<Load: {number(self.requests_per_s)} requests/s, {self.verdict}>"

    def __str__(self) -> str:
        """Return the tables that the command prints, of 80 columns."""
        # A notebook asks by its environment for colours, and rich would draw in it by itself.
        console = Console(
            file=io.StringIO(), width=COLUMNS, color_system=None, force_terminal=False, force_jupyter=False
        )
        with console.capture() as capture:
            console.print(load_summary(self.result))
        return capture.get()

    def _repr_html_(self) -> str:
        return f'<pre style="{TABLE_STYLE}">{html.escape(str(self))}</pre>'


@with_options(LoadOptions)
def load(url: str, **options: Unpack[LoadOptions]) -> Load:
    """Put one load on a web server or a database, and return what was measured.

    The options are those of ``loadcurve load --help`` by their long names, such as ``connections=50``,
    ``rate=5000``, ``duration="30s"``; a list gives an option several times.

    Raises:
        BadInput: an option or the URL cannot be used.
        NothingMeasured: the URL leads nowhere, or nothing was answered.
        KeyboardInterrupt: interrupted; the load has ended, too.

    """
    printed = printed_by(["load", *words_of(options), "--json", "--", url])
    return Load(LoadResult.model_validate_json(printed))
