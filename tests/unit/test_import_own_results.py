"""What ``loadcurve load --json`` has printed becomes a run again, which is compared with measured ones."""

import json
from pathlib import Path
from typing import Any

import pytest

from loadcurve.errors import BadInput
from loadcurve.imported.folder import write_run
from loadcurve.imported.pattern import named_files
from loadcurve.imported.plan import read_files
from loadcurve.result.folder import Run, read_run
from loadcurve.result.load import LoadResult
from support import synthetic_run as synthetic
from support.command import Command

HEY = Path(__file__).parents[1] / "data" / "tools" / "hey.csv"


def printed(folder: Path, name: str, result: dict[str, Any]) -> Path:
    """A file as ``loadcurve load --json`` prints it."""
    path = folder / name
    path.write_text(json.dumps(LoadResult.model_validate(result).model_dump(mode="json"), indent=2) + "\n")
    return path


def imported(folder: Path, server: str, *files: Path) -> Run:
    read = read_files(named_files([str(file) for file in files], ""), None, server, {})
    write_run(folder, read, ["loadcurve", "import"])
    return read_run(folder)


def test_a_result_of_our_own_is_imported_whole(tmp_path: Path):
    result = synthetic.load_result("nginx", 50)
    [point] = imported(tmp_path / "run", "nginx", printed(tmp_path, "load.json", result)).points
    expected = LoadResult.model_validate(result).model_copy(update={"window_start_monotonic_s": None})
    assert point.load == expected
    assert point.point == {"connections": 50.0}


def test_results_at_several_loads_are_the_points_of_a_curve(tmp_path: Path):
    files = [printed(tmp_path, f"{at}.json", synthetic.load_result("nginx", at)) for at in (10, 50)]
    run = imported(tmp_path / "run", "nginx", *files)
    assert [point["connections"] for point in run.sweep_points] == [10, 50]
    [caveat] = run.run.caveats
    assert "busy" not in caveat.text


def broken(result: dict[str, Any]) -> dict[str, Any]:
    histograms = {**result["histograms"], "latency": "AAAA"}
    return {**result, "histograms": histograms}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (lambda result: json.dumps(result)[:-20], "incomplete or invalid JSON"),
        (lambda result: json.dumps({**result, "requests": 3}), "requests = '3'"),
        (lambda result: json.dumps(broken(result)), "a histogram that cannot be read"),
        (lambda result: json.dumps({**result, "format": "loadcurve-load/9"}), "format = 'loadcurve-load/9'"),
    ],
    ids=["cut off", "of other types", "histogram", "newer"],
)
def test_what_is_no_result_is_refused(tmp_path: Path, text: Any, found: str):
    (tmp_path / "load.json").write_text(text(synthetic.load_result("nginx", 50)))
    with pytest.raises(BadInput, match=found):
        imported(tmp_path / "run", "nginx", tmp_path / "load.json")
    assert not (tmp_path / "run").exists()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """Folders of runs: a measured one, imports of our own results and of another tool, and one elsewhere."""
    command = Command(tmp_path_factory.mktemp("runs"))
    record = synthetic.run_record()
    (command.work / "measured").mkdir()
    synthetic.write_run(command.work / "measured", record)
    files = [
        printed(command.work, f"{at}.json", synthetic.load_result("nginx", at))
        for at in synthetic.CONNECTIONS
    ]
    imported(command.work / "own", "nginx", *files)
    read = read_files(named_files([str(HEY)], ""), None, "nginx", {"connections": synthetic.CONNECTIONS[0]})
    write_run(command.work / "hey", read, ["loadcurve", "import"])
    load = {**record.study["load"], "pipeline": 7}
    other = record.model_copy(
        update={"host": {**record.host, "kernel": "Linux 7"}, "study": {**record.study, "load": load}}
    )
    (command.work / "elsewhere").mkdir()
    synthetic.write_run(command.work / "elsewhere", other)
    return command


def test_what_an_import_does_not_report_is_no_difference(runs: Command):
    for folders in (("measured", "own"), ("own", "measured")):
        compared = runs.run("compare", *folders)
        assert (compared.returncode, compared.stderr) == (0, "")
        assert "not reported" not in compared.stdout


def test_what_an_import_reports_differently_is_a_difference(runs: Command):
    refused = runs.run("compare", "measured", "hey")
    assert refused.returncode == 2
    assert "hey" in refused.stderr
    assert "not reported" not in refused.stderr
    assert "they differ: --despite generator." in " ".join(refused.stderr.split())
    assert runs.run("compare", "measured", "hey", "--despite", "generator").returncode == 0


def test_all_aspects_that_differ_are_named_at_once(runs: Command):
    refused = runs.run("compare", "measured", "elsewhere")
    said = " ".join(refused.stderr.split())
    assert said.endswith("they differ: --despite load --despite machine.")
    options = said.removesuffix(".").partition("they differ: ")[2].split()
    assert runs.run("compare", "measured", "elsewhere", *options).returncode == 0
