"""``loadcurve machines``: other machines, as a study names them or ssh leads to them."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import ValidationError
from rich.table import Table
from rich.text import Text

from loadcurve.cli.console import new_console
from loadcurve.errors import BadInput, NothingMeasured
from loadcurve.machines.clock import compared_over
from loadcurve.machines.ssh import SshMachine
from loadcurve.machines.table import MachineTable
from loadcurve.report.column import WORDS, Column
from loadcurve.report.terminal_tables import column_table, facts_table
from loadcurve.result.link import LinkRecord
from loadcurve.runs.machines import reached
from loadcurve.study.find import find_study
from loadcurve.study.several import studies_in
from loadcurve.toml.expected import nearest
from loadcurve.toml.problems import problems_of
from loadcurve.units import BITS_PER_MBIT

NS_PER_MS = 1e6
MIB_BITS = 20


def list_command(named: Sequence[str]) -> None:
    """Print the machines that studies name, and destinations as they are; none is reached."""
    columns: list[Column[SshMachine]] = [
        Column("machine", lambda one: one.name, WORDS),
        Column("ssh", lambda one: one.table.ssh, WORDS),
        Column("address", lambda one: one.table.address or "the address that ssh connects to", WORDS),
    ]
    new_console().print(column_table(machines_of(named), columns))


def check_command(named: Sequence[str]) -> None:
    """Reach each machine as a run would, bring what it lacks, and try the way for the load.

    Raises ``NothingMeasured``: at least one is not fit; the others are shown.
    """
    failures = []
    out = new_console()
    for machine in machines_of(named):
        try:
            out.print(_checked(machine))
        except (BadInput, NothingMeasured) as failure:
            failures.append(str(failure))
    if failures:
        raise NothingMeasured("\n".join(failures))


def remove_command(named: Sequence[str]) -> None:
    """Take away from each machine what was brought there.

    Raises ``NothingMeasured``: at least one was not reached; from the others it is removed.
    """
    failures = []
    out = new_console()
    for machine in machines_of(named):
        try:
            folder, names = machine.remove()
        except NothingMeasured as failure:
            failures.append(str(failure))
            continue
        done = f"removed {folder}" if names else f"nothing in {folder}"
        out.print(Text(f"{machine.name}: {done}"), soft_wrap=True)
    if failures:
        raise NothingMeasured("\n".join(failures))


def machines_of(named: Sequence[str]) -> Iterator[SshMachine]:
    """Yield the machines of studies, which are files, and those that destinations of ssh lead to.

    Raises ``BadInput``: a study cannot be used, or names no machine, or this is no destination.
    """
    for one in named:
        if Path(one).suffix != ".toml":
            yield SshMachine(one, table_of(one))
            continue
        for name, table in tables_of_study(one).items():
            yield SshMachine(name, table)


def tables_of_study(study: str) -> dict[str, MachineTable]:
    """Return the tables of the machines that a study names; raises BadInput where it names none."""
    file = find_study(study)
    found = {name: table for study in studies_in(file) for name, table in study.machines.items()}
    if not found:
        raise BadInput(f"{file} defines no machine: expected a table such as [machines.web]")
    return found


def table_of(destination: str, study: str | None = None) -> MachineTable:
    """Return the table of a machine: that of this name in a study, or one of a destination of ssh.

    Raises ``BadInput``: the study cannot be used, or has no such table, or this is no destination.
    """
    if study is not None:
        tables = tables_of_study(study)
        if destination not in tables:
            known = f"expected a name from its [machines]: {', '.join(tables)}"
            raise BadInput(f"{study} has no machine {destination}; {known}{nearest(destination, [*tables])}")
        return tables[destination]
    try:
        return MachineTable(ssh=destination)
    except ValidationError as error:
        texts = [problem.text for problem in problems_of(error, MachineTable)]
        raise BadInput("; ".join(texts)) from None


def _checked(machine: SshMachine) -> Table:
    """Return what there is to say of a machine that a run could use."""
    there = reached(machine.name, machine.table)
    try:
        clock = compared_over(there.channel())
        facts = there.facts
        error_ms = clock.error_ns / NS_PER_MS
        round_trip = f"the shortest round trip takes {2 * error_ms:.3g} ms"
        notes = [*there.notes, *(f"another run is in progress there: {one}" for one in there.others)]
        return facts_table(
            [
                ("machine", machine.name),
                ("address", f"{there.address}, reached from here"),
                ("system", ", ".join(filter(None, (facts.operating_system, f"Linux {facts.kernel}")))),
                ("CPUs", f"{len(there.cpus)} of {facts.cpu_model or 'an unknown model'}"),
                ("memory", f"{facts.memory_bytes >> MIB_BITS:,} MiB"),
                ("Python", there.channel().greeting.python),
                ("link", _link_in_words(there.link)),
                ("clock", f"known to ± {error_ms:.3g} ms: {round_trip}"),
                *(("note", text) for text in notes),
            ]
        )
    finally:
        there.close()


def _link_in_words(link: LinkRecord) -> str:
    """Return what is known of the way to a machine, for its row."""
    words = []
    for where, end in (("here", link.here), ("there", link.there)):
        if end is not None:
            speed = end.speed_bits_per_s
            at_speed = "of unknown speed" if speed is None else f"of {speed / BITS_PER_MBIT:,.6g} Mbit/s"
            words.append(f"{end.name} {where}, {at_speed}, MTU {end.mtu_bytes or 'unknown'}")
    if link.round_trip_ms is not None:
        times = link.round_trip_ms
        words.append(f"a round trip takes {times.min:.3g} ms, {times.median:.3g} ms in the median")
    return "; ".join(words) or "unknown"
