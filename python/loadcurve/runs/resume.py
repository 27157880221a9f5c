"""Resuming an interrupted run: what may be resumed, and what must be as it was."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from loadcurve.analysis.ending import ending
from loadcurve.errors import BadInput
from loadcurve.redaction import study_without_secrets
from loadcurve.result.differences import DIGESTS, WITHOUT_INFLUENCE, Difference, differences, server_facts
from loadcurve.result.folder import Run, RunFolder, read_run
from loadcurve.result.inputs import CATALOG_OPTION, digests_of
from loadcurve.result.records import FORMAT, RunRecord, ServerRecord
from loadcurve.result.run_files import STUDY_FILE, has_several_loads
from loadcurve.result.several import read_loads
from loadcurve.runs.inputs import RunInputs
from loadcurve.runs.own_runs import has_begun
from loadcurve.study.find import find_study
from loadcurve.toml.document import TomlDocument
from loadcurve.toml.text_file import read_text
from loadcurve.version import VERSION

LONGEST_SHOWN = 60
"""A longer value, such as a configuration, is only named."""
MOST_SHOWN = 10
_KNOWN_WHEN_TRIED = re.compile(r"servers\..+\.(settings|configuration)\.")


@dataclass(frozen=True)
class InterruptedRun:
    """A run that can be resumed, as far as its folder and its study show."""

    folder: RunFolder
    """Open, and so locked."""
    run: Run
    study_file: Path
    first_block: int
    """The first block that is not whole; it begins anew."""
    is_complete: bool = False


@dataclass(frozen=True)
class InterruptedRuns:
    """The run folders of an interrupted run: one, or one for each of several loads."""

    folder: Path
    runs: list[InterruptedRun]
    study_file: Path
    is_own: bool
    """Whether this user has begun it here; the options of another one's record are not followed blindly."""

    @property
    def first_block(self) -> int:
        """The first block that is not whole in all of them; it begins anew."""
        return self.runs[0].first_block


def interrupted_run(path: Path, study: str | None) -> InterruptedRuns:
    """Return the interrupted run in a folder, with ``study`` for its study where that lies elsewhere now.

    Where this user has not begun the run, its record does not say what is run, and ``study`` is required.

    Raises:
        BadInput: the folder cannot be read as a run, or written; the run is still under way, has ended or
            cannot be resumed; its study is gone or has changed, or must be named.

    """
    folders = [path / load.name for load in read_loads(path).loads] if has_several_loads(path) else [path]
    is_own = all(map(has_begun, folders))
    found = [_run_to_resume(folder, study, is_own=is_own) for folder in folders]
    if all(one.is_complete for one in found):
        raise BadInput(
            f"the run in {path} is complete: there is nothing to resume. Its report: loadcurve report {path}"
        )
    for one in found:
        _refuse_lasting_credits(path, one.run)
    # A block that any of them lacks begins anew in all of them.
    block = min(one.first_block for one in found)
    return InterruptedRuns(
        path,
        [replace(one, first_block=block) for one in found],
        next(one.study_file for one in found if not one.is_complete),
        is_own,
    )


def is_complete(path: Path) -> bool:
    """Say whether the run in a folder, of a single load, has come to its end.

    Raises ``BadInput`` where the folder cannot be read as a run.
    """
    return ending(read_run(path)).reason != "unfinished"


def _run_to_resume(path: Path, study: str | None, *, is_own: bool) -> InterruptedRun:
    """Return the run in a folder, which may be complete where it is one of several."""
    folder = RunFolder.reopen(path)
    run = read_run(path)
    if run.damage:
        raise BadInput(
            f"the run in {path} cannot be resumed: {run.damage[0]} To report what is intact: loadcurve "
            f"report {path}"
        )
    if run.run.imported is not None:
        raise BadInput(f"the run in {path} was imported: there is nothing to resume; import all files again")
    if run.run.search is not None:
        raise BadInput(
            f"{path} is a search for a capacity, in which each load depends on those before it: it cannot "
            f"be resumed. Start it again: loadcurve capacity {path / STUDY_FILE}"
        )
    if run.run.gate is not None:
        raise BadInput(
            f"{path} is a gate, whose error rate holds for one uninterrupted run: it cannot be resumed. "
            "Start it again by loadcurve gate; what was measured is kept"
        )
    if run.run.loadcurve_version != VERSION or run.run.format != FORMAT:
        raise BadInput(
            f"{path} was started by version {run.run.loadcurve_version} of Loadcurve with the format "
            f"{run.run.format}, and this is version {VERSION} with {FORMAT}: blocks of two versions cannot "
            "be compared. Resume it with the version that started it, or start it again."
        )
    ended = ending(run)
    is_complete = ended.reason != "unfinished"
    if not (is_complete or is_own) and study is None:
        raise BadInput(_study_must_be_named(run))
    file = Path() if is_complete else _study_file(run, study)
    return InterruptedRun(folder, run, file, ended.blocks, is_complete=is_complete)


def _refuse_lasting_credits(path: Path, run: Run) -> None:
    """Raise ``BadInput`` where CPU credits last from trial to trial: what is left is not recorded."""
    for name, server in run.run.servers.items():
        burst = None if server.limits is None else server.limits.burst
        if burst is not None and not burst.restarted:
            raise BadInput(
                f"the run in {path} cannot be resumed: the CPU credits of {name} last from one trial to the "
                "next (restarted = false in burst), and those that the interrupted trial left are lost. "
                f"Start it again: loadcurve run {path / STUDY_FILE}; what was measured is kept."
            )


def _study_must_be_named(run: Run) -> str:
    """Say why the study of a run that somebody else may have begun is not looked for, and what to do."""
    catalog = " --catalog DIR" if CATALOG_OPTION in run.run.options else ""
    return (
        f"the run in {run.folder} is not one that you started on this machine and did not finish, so the "
        "study that its record names is not run, because a study runs commands. Read the study as you "
        f"would read a script, and name it: loadcurve run STUDY.toml --resume {run.folder}{catalog}"
    )


def _study_file(run: Run, argument: str | None) -> Path:
    """Return the file of a run's study, which says what it said when the run began."""
    name_it = f"Give a copy of it: loadcurve run STUDY.toml --resume {run.folder}"
    if argument is None and run.run.study_file is None:
        raise BadInput(f"{run.folder} does not record where its study was read. {name_it}")
    file = Path(run.run.study_file or "") if argument is None else find_study(argument)
    if not file.is_file():
        raise BadInput(f"the study of the run in {run.folder} is no longer at {file}. {name_it}")
    text = study_without_secrets(read_text(file, "a TOML file"))
    # The folder of a run of an earlier version has the study with the names of the files as they were.
    if run.study_text not in {text, RunInputs(TomlDocument.read(file)).study_text(text)}:
        raise BadInput(
            f"{file} is not the study that the run in {run.folder} was started with, which is "
            f"{run.folder / STUDY_FILE} (without its secrets). Undo the changes, or start a new run."
        )
    return file


def require_as_before(path: Path, before: RunRecord, now: RunRecord, *, tried: bool = True) -> None:
    """Raise ``BadInput`` where anything that figures may depend on is not as it was when the run began.

    Before servers were ``tried`` nothing is known of the settings in use and of configurations.
    """
    now = RunRecord.model_validate_json(now.model_dump_json(by_alias=True))
    found = [one for one in _changes(before, now) if tried or not _KNOWN_WHEN_TRIED.match(one.name)]
    if not found:
        return
    more = [f"and {len(found) - MOST_SHOWN:,} more"] if len(found) > MOST_SHOWN else []
    lines = [*map(_in_words, found[:MOST_SHOWN]), *more]
    raise BadInput(
        f"the run in {path} cannot be resumed, because new blocks would not be comparable with its own; "
        "changed since its start:\n"
        + "\n".join(f"  {line}" for line in lines)
        + "\nRestore these and resume again, or start a new run; what was measured is kept."
    )


def _changes(before: RunRecord, now: RunRecord) -> Iterator[Difference]:
    yield from differences(_conditions(before), _conditions(now))


def _conditions(record: RunRecord) -> Mapping[str, Any]:
    return {
        "study": record.study,
        "host": _influential(record.host),
        "machines": {
            name: {"address": one.address, **_influential(one.facts)} for name, one in record.machines.items()
        },
        "content": {name: file.model_dump() for name, file in record.content.items()},
        "servers": {name: _server(server) for name, server in record.servers.items()},
        "order": record.order,
        "inputs": digests_of(record.inputs),
    }


def _influential(facts: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: fact for name, fact in facts.items() if name not in WITHOUT_INFLUENCE}


def _server(server: ServerRecord) -> Mapping[str, Any]:
    kept = {"status", "binary", "binary_sha256", "start_sha256", "problem", "container"}
    facts = {name: fact for name, fact in server_facts(server).items() if name != DIGESTS}
    return {**facts, **server.model_dump(include=kept)}


def _in_words(change: Difference) -> str:
    values = [str(value) for value in (change.base, change.new)]
    if any(len(value) > LONGEST_SHOWN for value in values):
        return change.name
    return f"{change.name}: it was {values[0]}, and is {values[1]}"
