"""``loadcurve doctor``: whether this machine is fit to measure, and the rig's ceiling and noise."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.text import Text

from loadcurve.cli.console import new_console
from loadcurve.cli.display import RunDisplay, shown
from loadcurve.cli.machines import table_of
from loadcurve.cli.watched_load import machines_named
from loadcurve.errors import BadInput
from loadcurve.exit_codes import EXIT_DONE, EXIT_INVALID
from loadcurve.host.cpus import CpuDivision, divide_cpus
from loadcurve.host.facts import host_facts
from loadcurve.host.fitness import Check, check_host
from loadcurve.loads.values import ENGINE_NAME
from loadcurve.protocol import has_streams
from loadcurve.report.doctor import (
    Programs,
    ceiling_tables,
    check_lines,
    machines_ceiling_table,
    noise_table,
    programs_lines,
)
from loadcurve.result.rig import Ceiling, Noise, Spoken
from loadcurve.runs.ceiling import (
    RUNS,
    SPOKEN,
    SPOKEN_IN_MESSAGES,
    CeilingLoad,
    measure_ceiling,
    spoken_by,
)
from loadcurve.runs.machines import reached
from loadcurve.runs.machines_ceiling import measure_machines_ceiling
from loadcurve.runs.noise import measure_noise
from loadcurve.runs.rig_cache import keep
from loadcurve.server.catalog import load_catalog
from loadcurve.server.check import catalog_rows
from loadcurve.server.settings import unknown_name
from loadcurve.tools.catalog import Tool, tool_named, tools

FORMAT = "loadcurve-doctor/1"
RUNS_QUICK = 1
NOT_SAVED_AFTER_QUICK = (
    "not saved for later runs, because --quick measures it once at each load, over {title} only"
)

DISTURBING = ("steal", "other load")
"""Checks that show whether other work used a part of the machine."""


def doctor_command(
    connection_rate_cps: float | None,
    *,
    with_ceiling: bool,
    noise_of: str | None,
    generator: str | None,
    messages: str | None,
    quick: bool,
    json_output: bool,
) -> int:
    """Check the machine, measure the ceiling and the noise of a server and keep them; return the exit code.

    The ceiling is that of ``generator``; ``None`` for Loadcurve's own engine. It is that of loads of
    ``messages`` of this kind; ``None`` for requests.

    Raises:
        BadInput: the catalogue has no server of this name, ``quick`` is given with it, or there is no such
            generator, or it has no ceiling.
        NothingMeasured: the noise was asked for and could not be measured.

    """
    if noise_of is not None and noise_of not in (catalog := load_catalog()):
        raise BadInput(
            unknown_name(
                f"--noise-server {noise_of}: not in the catalogue",
                noise_of,
                [entry.name for entry in catalog],
            )
        )
    if noise_of is not None and quick:
        raise BadInput(
            "--quick: given together with --noise, which requires all of its trials; keep one of the two"
        )
    tool = None if generator is None or generator == ENGINE_NAME else tool_named(generator)
    if tool is not None:
        # One without a ceiling is refused before anything is observed.
        spoken_by(tool)
    spoken: Sequence[Spoken] = SPOKEN if messages is None else SPOKEN_IN_MESSAGES[messages]
    # The others take most of the time.
    runs, spoken = (RUNS_QUICK, spoken[:1]) if quick else (RUNS, spoken)
    cpus = divide_cpus(None, None)
    talk = new_console(stderr=True)
    if json_output:
        talk.print("observing the machine for one second …")
        checks = list(check_host(cpus, connection_rate_cps))
        ceiling = _measured(cpus, talk, tool, runs, spoken) if with_ceiling else None
        noise = _noise(cpus, noise_of, talk)
        sys.stdout.write(json.dumps(_as_json(checks, ceiling, noise), indent=2) + "\n")
    else:
        out = new_console()
        checks = []
        for check in check_host(cpus, connection_rate_cps):
            checks.append(check)
            out.print(check_lines(check))
        _print_programs(out)
        ceiling = _measured(cpus, talk, tool, runs, spoken) if with_ceiling else None
        if ceiling is not None:
            out.print()
            who = "this generator" if tool is None else tool.name
            out.print(Text(f"the rig's ceiling: {who} against a server that does nothing", "bold"))
            out.print(ceiling_tables(ceiling))
        noise = _noise(cpus, noise_of, talk)
        if noise is not None:
            out.print()
            out.print(
                Text(f"the rig's noise: the smallest difference detectable with {noise.server}", "bold")
            )
            out.print(noise_table(noise))
    for measured, what in ((ceiling, "the ceiling"), (noise, "the noise")):
        if measured is not None:
            unsaved = NOT_SAVED_AFTER_QUICK.format(title=spoken[0].title)
            kept = unsaved if quick else _keep(measured, checks)
            talk.print(Text(f"{what} is {kept}", style="dim"))
    return EXIT_INVALID if any(check.fitness == "bad" for check in checks) else EXIT_DONE


def machine_doctor(name: str, study: str | None, others: Sequence[str], *, json_output: bool) -> int:
    """Check another machine as one that is to have servers; return the exit code.

    It is one of ``study``, or else a destination of ssh. ``others`` are options that were given and concern
    this machine alone.

    Raises:
        BadInput: there are such options, there is no such machine, or its address is not known.
        NothingMeasured: it cannot be reached, or cannot run servers for a load from here.

    """
    if others:
        raise BadInput(f"{others[0]}: for this machine, but --machine names another; remove one of the two")
    machine = reached(name, table_of(name, study))
    try:
        checks = machine.fitness()
        facts = machine.recorded_facts
    finally:
        machine.close()
    if json_output:
        found = {"format": FORMAT, "host": facts, "checks": [asdict(check) for check in checks]}
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
    else:
        out = new_console()
        for check in checks:
            out.print(check_lines(check))
    return EXIT_INVALID if any(check.fitness == "bad" for check in checks) else EXIT_DONE


def machines_doctor(
    machines: str, server_machine: str | None, study: str | None, others: Sequence[str], *, json_output: bool
) -> int:
    """Measure what more and more load machines reach, against a server here or on another machine.

    The machines are those of ``study``, or else destinations of ssh. ``others`` are options that were given
    and concern this machine alone.

    Raises:
        BadInput: there are such options, a name is no machine's, or a machine cannot reach the server.
        NothingMeasured: a machine cannot be reached or is lost, or a load got no answer.

    """
    if others:
        raise BadInput(f"{others[0]}: for this machine, but --machines names others; remove one of the two")
    talk = new_console(stderr=True)
    place = None if server_machine is None else reached(server_machine, table_of(server_machine, study))
    try:
        with machines_named(machines, "--machines", study) as load_machines:
            ceiling = measure_machines_ceiling(
                load_machines,
                place,
                divide_cpus(None, None),
                lambda names: talk.print(Text(f"measuring the load of {', '.join(names)} …")),
            )
    finally:
        if place is not None:
            place.close()
    if json_output:
        sys.stdout.write(ceiling.model_dump_json(indent=2) + "\n")
    else:
        new_console().print(machines_ceiling_table(ceiling))
    return EXIT_DONE


def _measured(
    cpus: CpuDivision, talk: Console, tool: Tool | None, runs: int, spoken: Sequence[Spoken]
) -> Ceiling:
    return measure_ceiling(cpus, lambda load: talk.print(_progress(load)), runs, spoken, tool)


def _progress(load: CeilingLoad) -> str:
    streams = f", streams: {load.streams:,}" if has_streams(load.spoken.http) else ""
    sender = "" if load.tool is None else f"{load.tool.name} over "
    return (
        f"measuring the ceiling of {sender}{load.spoken.title}, connections: {load.connections:,}{streams} …"
    )


def _noise(cpus: CpuDivision, server: str | None, talk: Console) -> Noise | None:
    if server is None:
        return None
    talk.print(f"measuring the noise: {server} against itself …")
    with shown(RunDisplay(talk, live=talk.is_terminal), talk) as display:
        return measure_noise(cpus, server, display)


def _keep(measured: Ceiling | Noise, checks: Sequence[Check]) -> str:
    """Keep what nothing has disturbed, and say what was done."""
    disturbances = [check.topic for check in checks if check.topic in DISTURBING and check.fitness != "good"]
    if disturbances:
        return f"not saved for later runs, because the machine was not idle: {', '.join(disturbances)}"
    return f"saved for later runs in {keep(measured)}"


def _print_programs(out: Console) -> None:
    rows = catalog_rows(load_catalog())
    servers = Programs(
        title="servers",
        why="a study measures its installed servers and lists the missing ones",
        present=[f"{row.name} {row.version}" for row in rows if row.version is not None],
        absent={row.name: row.install for row in rows if row.version is None},
    )
    others = Programs(
        title="other load generators",
        why="a result confirmed by two independent load generators is more reliable",
        present=[name for name, tool in tools().items() if tool.program is not None],
        absent={name: tool.install for name, tool in tools().items() if tool.program is None},
    )
    for programs in (servers, others):
        out.print(programs_lines(programs))


def _as_json(checks: Sequence[Check], ceiling: Ceiling | None, noise: Noise | None) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "host": host_facts(),
        "checks": [asdict(check) for check in checks],
        "servers": [
            {"name": row.name, "version": row.version, "install": row.install}
            for row in catalog_rows(load_catalog())
        ],
        "tools": {name: tool.program and str(tool.program) for name, tool in tools().items()},
        "ceiling": None if ceiling is None else ceiling.model_dump(mode="json"),
        "noise": None if noise is None else noise.model_dump(mode="json"),
    }
