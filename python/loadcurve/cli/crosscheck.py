"""``loadcurve crosscheck``: a study under several generators, and where they differ."""

import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from loadcurve.cli.console import new_console
from loadcurve.cli.output import one_object_on_stdout
from loadcurve.cli.run import run_command
from loadcurve.errors import BadInput
from loadcurve.exit_codes import EXIT_INTERRUPTED
from loadcurve.loads.values import ENGINE_NAME
from loadcurve.result.run_files import RUN_FILE, STUDY_FILE, new_folder
from loadcurve.runs.generators import require_exact_at
from loadcurve.runs.study import RunOptions
from loadcurve.server.catalog import Catalog, catalogs_of, load_catalog
from loadcurve.server.found import MissingServer, find_server
from loadcurve.study.bundled import study_name
from loadcurve.study.find import find_study
from loadcurve.study.model import Study
from loadcurve.toml.document import TomlDocument
from loadcurve.tools.catalog import driven_tools, tool_named
from loadcurve.tools.driver import Refused

_STUDY = "quickstart"
_SERVERS = ("nginx", "limit")
"""Of that study the first that is installed is measured where no other study is given."""


def crosscheck_command(argument: str | None, options: RunOptions, *, json_output: bool) -> int:
    """Run a study under our engine and other generators, or read such a run; print where they differ.

    Without a study one server of a bundled one is measured.

    Raises:
        BadInput: the study cannot be used, no other generator can send its load, or an option says how a run
            that is read were to be measured.
        LoadcurveError: as a run does.

    """
    code = 0
    if argument is None:
        argument = _STUDY
        options = replace(options, only=options.only or (_first_installed(options.catalogs),))
    folder = Path(argument)
    is_read = (folder / RUN_FILE).exists()
    if is_read:
        _require_no_option(folder, options)
    else:
        with one_object_on_stdout(is_asked=json_output):
            folder, code = _run(argument, options)
        if code == EXIT_INTERRUPTED:
            return code
    from loadcurve.analysis.numbers import analysis_of
    from loadcurve.cli.damage import fail_where_left_out, tell_damage
    from loadcurve.report.crosscheck import crosscheck_json, crosscheck_lines

    analysis = analysis_of(folder)
    tell_damage(analysis)
    checked = analysis.crosschecks
    if not checked:
        fail_where_left_out(analysis.not_computed)
        under_others = (
            _again(folder)
            if is_read
            else "give --generator, or a server with the same settings and load = { generator = … }"
        )
        raise BadInput(
            f"{folder}: no server was measured under our engine and under another generator. To measure it "
            f"so: {under_others}"
        )
    if json_output:
        sys.stdout.write(json.dumps(crosscheck_json(checked), indent=2) + "\n")
    else:
        out = new_console()
        out.print()
        out.print(crosscheck_lines(checked))
    fail_where_left_out(analysis.not_computed)
    return code


def _require_no_option(folder: Path, options: RunOptions) -> None:
    """Raise ``BadInput`` where a run is to be read and an option says how it were to be measured."""
    if options != RunOptions():
        raise BadInput(
            f"{folder} is a run folder, of which crosscheck reads the figures: expected no option but "
            f"--json. To measure its study again: {_again(folder)}"
        )


def _again(folder: Path) -> str:
    """Return the command that measures the study of a run under another generator, too."""
    study = folder / STUDY_FILE
    # A run of other tools' files has none.
    named = shlex.quote(str(study)) if study.exists() else "STUDY"
    return f"loadcurve crosscheck {named} --generator NAME"


def _first_installed(catalogs: Sequence[Path]) -> str:
    catalog = load_catalog(catalogs)
    found = (name for name in _SERVERS if not isinstance(find_server(catalog[name], {}), MissingServer))
    return next(found, _SERVERS[-1])


def _run(argument: str, options: RunOptions) -> tuple[Path, int]:
    study_file = find_study(argument)
    document = TomlDocument.read(study_file)
    study = document.to_model(Study)
    generators = options.generators
    if not generators and not _names_tools(study):
        catalog = load_catalog([*catalogs_of(document), *options.catalogs])
        generators = _usable(study, catalog, options.only)
    folder = options.out or new_folder(study_name(study_file))
    changed = replace(options, generators=tuple(generators), out=folder)
    return folder, run_command(argument, changed)


def _names_tools(study: Study) -> bool:
    return any(arm.load.generator != ENGINE_NAME for arm in study.arms.values())


def _usable(study: Study, catalog: Catalog, only: Sequence[str]) -> Sequence[str]:
    """Return the installed tools that can send the loads of a study, or some; say why not of others."""
    talk = new_console(stderr=True)
    arms = [arm for name, arm in study.arms.items() if not only or name in only]
    known = driven_tools(study.kind)
    found = []
    for name, tool in known.items():
        if tool.program is None:
            continue
        try:
            for arm in arms:
                for point in study.points():
                    require_exact_at(point, tool, arm, catalog)
        except Refused as refused:
            talk.print(f"without {name}: {refused.key}: {refused}", soft_wrap=True)
            continue
        found.append(name)
    if not found:
        names = ", ".join(known)
        raise BadInput(f"none of {names} is installed and can send this load; see: loadcurve generators")
    return found


def checked_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return names of tools; raises ``BadInput`` where one is none, or given twice."""
    for name in names:
        tool_named(name)
    return tuple(dict.fromkeys(names))
