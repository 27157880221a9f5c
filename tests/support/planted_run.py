"""A study with planted causes, run by the command; what its findings say of them."""

from collections.abc import Sequence

from loadcurve.explain.finding import Finding
from loadcurve.result.folder import Run, read_run
from support.sandbox import Sandbox


def run_study(sandbox: Sandbox, name: str, study: str, *, within: Sequence[str] = ()) -> Run:
    """Run a study to its end and read the run, whatever a busy machine did to its verdicts.

    ``name`` is that of the study's file and of the run folder; ``within`` are the words before the command.
    """
    sandbox.write(f"{name}.toml", study)
    finished = sandbox.run("run", f"{name}.toml", "--out", name, within=[*within])
    assert finished.returncode in {0, 3}, finished.stderr
    return read_run(sandbox.work / name)


def value(finding: Finding, name: str) -> float:
    """Return a piece of a finding's evidence."""
    return next(one.value for one in finding.evidence if one.name == name)
