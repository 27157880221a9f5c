"""Every campaign against harmful servers, files and machines: `python -m benches.campaigns [--short] [NAME]`.

Each is a benchmark of its own that tries many harmful inputs and ends with 1 where one of them did harm. They
run one after the other; the table has the last line that each printed. `--short` tries a few of each, to see
that all of them work. What they print goes to files in `--out`. The long form keeps each row, with its date,
in docs/campaigns.md.
"""

import argparse
import datetime
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from benches.rig import machine
from loadcurve import version

RESULT_WIDTH = 60
RECORD = Path(__file__).parents[1] / "docs" / "campaigns.md"
CELLS = re.compile(r"^\| `(?P<name>\w+)` \|")
"""The beginning of a campaign's row in the record."""


@dataclass(frozen=True)
class Campaign:
    """One benchmark: its module, and its options in the long and in the short form."""

    module: str
    against: str
    long: tuple[str, ...] = ()
    short: tuple[str, ...] = ()


CAMPAIGNS: Sequence[Campaign] = (
    Campaign("named_faults", "servers with one fault each", ("--trials", "20"), ("--trials", "1")),
    Campaign("hostile_servers", "servers that do harm, with and without TLS", (), ("--only", "drips a")),
    Campaign("hostile_http2", "servers that do harm over HTTP/2", (), ("--only", "goes away")),
    Campaign("hostile_http3", "servers that do harm over HTTP/3 and QUIC", (), ("--only", "goes away")),
    Campaign("malformed_http3", "a server of HTTP/3, by Cloudflare's h3i"),
    Campaign("hostile_grpc", "servers that do harm over gRPC", (), ("--only", "compressed")),
    Campaign("hostile_messages", "servers that do harm by WebSockets and events", (), ("--only", "forever")),
    Campaign("hostile_folders", "run folders that were made to do harm", (), ("--only", "hard link")),
    Campaign("bit_flips", "run folders with a bit flipped", (), ("--points", "2", "--every", "97")),
    Campaign(
        "mutated_imports", "damaged files of other generators", ("--trials", "10000"), ("--trials", "20")
    ),
    Campaign("credentials", "credentials that may show", ("--count", "700"), ("--count", "40")),
    Campaign("killed_runs", "runs that are killed", (), ("--kills", "10")),
    Campaign("lost_machines", "machines whose connection ends", (), ("--tries", "2")),
    Campaign(
        "http3_counts",
        "the logs of servers of HTTP/3",
        (),
        ("--requests", "1000", "--only", "caddy 1 KiB"),
    ),
)


@dataclass(frozen=True)
class Outcome:
    """How one campaign ended."""

    campaign: Campaign
    exit_code: int
    took_s: float
    last_line: str


def run(campaign: Campaign, folder: Path, *, is_short: bool) -> Outcome:
    """Run a campaign, with what it prints in a file of the folder."""
    options = campaign.short if is_short else campaign.long
    log = folder / f"{campaign.module}.txt"
    began_s = time.monotonic()
    with log.open("w") as out:
        words = [sys.executable, "-m", f"benches.{campaign.module}", *options]
        code = subprocess.run(words, stdout=out, stderr=subprocess.STDOUT, check=False).returncode
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return Outcome(campaign, code, time.monotonic() - began_s, lines[-1].strip() if lines else "")


def table_of(outcomes: Sequence[Outcome]) -> Table:
    """Return the table of all campaigns."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("campaign", "against", "", "minutes", "its last line"):
        table.add_column(title, overflow="fold")
    for one in outcomes:
        table.add_row(
            one.campaign.module,
            one.campaign.against,
            Text("passed" if one.exit_code == 0 else f"exit code {one.exit_code}"),
            f"{one.took_s / 60:.1f}",
            Text(one.last_line[:RESULT_WIDTH]),
        )
    return table


def recorded(page: str, outcome: Outcome, today: datetime.date) -> str:
    """Return the page of results with the campaign's row replaced."""
    result = "passed" if outcome.exit_code == 0 else f"exit code {outcome.exit_code}"
    cells = (
        f"`{outcome.campaign.module}`",
        outcome.campaign.against,
        str(today),
        f"{outcome.took_s / 60:.1f}",
        result,
        outcome.last_line.replace("|", "/"),
        version.VERSION,
    )
    row = f"| {' | '.join(cells)} |"
    return "".join(
        f"{row}\n" if (found := CELLS.match(line)) and found["name"] == outcome.campaign.module else line
        for line in page.splitlines(keepends=True)
    )


def main() -> None:
    """Print the table; end with 1 where a campaign found something."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these")
    parser.add_argument("--short", action="store_true", help="a few of each")
    parser.add_argument("--out", type=Path, default=Path("target/campaigns"), metavar="DIR")
    arguments = parser.parse_args()
    known = {campaign.module: campaign for campaign in CAMPAIGNS}
    if unknown := sorted(set(arguments.names) - known.keys()):
        parser.error(f"no such campaign: {', '.join(unknown)}; known are {', '.join(known)}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    asked = [known[name] for name in arguments.names or known]
    out = Console()
    today = datetime.datetime.now(tz=datetime.UTC).date()
    out.print(f"{today}, Loadcurve {version.VERSION}, {machine()}", highlight=False)
    outcomes = []
    for campaign in asked:
        outcomes.append(run(campaign, arguments.out, is_short=arguments.short))
        if not arguments.short:
            page = recorded(RECORD.read_text(encoding="utf-8"), outcomes[-1], today)
            RECORD.write_text(page, encoding="utf-8")
        out.print(f"{campaign.module}: exit code {outcomes[-1].exit_code}", highlight=False)
    out.print(table_of(outcomes))
    sys.exit(1 if any(one.exit_code for one in outcomes) else 0)


if __name__ == "__main__":
    main()
