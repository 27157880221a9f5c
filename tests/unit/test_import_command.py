"""``loadcurve import`` makes runs of files, on which everything works that works on measured ones."""

import json
import os
import subprocess
from pathlib import Path

import polars
import pytest

from loadcurve.analysis.analysis import analyse
from loadcurve.errors import BadInput
from loadcurve.imported.folder import write_run
from loadcurve.imported.pattern import named_files, point_of
from loadcurve.imported.plan import read_files
from loadcurve.report.formats.records import points_table
from loadcurve.report.formats.write import FORMATS
from loadcurve.report.section import Report
from loadcurve.result.folder import Run, read_run
from loadcurve.result.operations import throughput_of
from loadcurve.tools.hey.reader import COLUMNS
from support.command import Command
from support.schemas import validate

OF_HISTOGRAMS = {"hgrm", "hlog", "fortio", "k6-summary", "wrk2"}
"""Forms that a point has only if its latencies were counted."""
DATA = Path(__file__).parents[1] / "data" / "tools"


def loadcurve(*arguments: object) -> subprocess.CompletedProcess[str]:
    return Command(Path.cwd()).run(*arguments)


def hey(path: Path, count: int, seconds_each: float) -> Path:
    """A CSV of hey: requests one after the other, each as long."""
    path.parent.mkdir(parents=True, exist_ok=True)
    times = f"{seconds_each:.4f},0.0000,0.0000,0.0000,{seconds_each / 2:.4f},0.0000,200"
    lines = [f"{times},{number * seconds_each:.4f}\n" for number in range(count)]
    path.write_text(",".join(COLUMNS) + "\n" + "".join(lines))
    return path


def imported(
    folder: Path, *given: str, trials: str = "", point: tuple[str, ...] = (), **other: str | None
) -> Run:
    files = named_files(given, trials)
    read = read_files(files, other.get("named"), other.get("server"), point_of(point))
    write_run(folder, read, ["loadcurve", "import", *given])
    return read_run(folder)


@pytest.fixture
def grid(tmp_path: Path) -> Path:
    for trial in ("one", "two", "three"):
        for server, each in (("nginx", 0.001), ("apache", 0.002)):
            for connections in (10, 50, 100):
                hey(tmp_path / "in" / trial / f"{server}_{connections}.csv", 500, each + connections / 1e5)
    return tmp_path


def test_one_pattern_imports_servers_points_and_trials(grid: Path):
    run = imported(grid / "run", "{server}_{connections}.csv", trials=f"{grid}/in/{{trial}}/")
    assert set(run.run.servers) == {"nginx", "apache"}
    assert [point["connections"] for point in run.sweep_points] == [10, 50, 100]
    assert (len(run.points), run.complete, run.damage) == (18, True, ())
    table = points_table(run)
    found = table.filter((polars.col("server") == "nginx") & (polars.col("connections") == 50))
    # 500 requests of 1.5 ms one after the other.
    assert found["throughput_rps"].to_list() == pytest.approx([1 / 0.0015] * 3)
    assert found["latency_p50_ms"].to_list() == pytest.approx([1.5] * 3)


def test_what_no_file_says_is_null(grid: Path):
    run = imported(grid / "run", "nginx_{connections}.csv", trials=f"{grid}/in/{{trial}}/")
    load = run.points[0].load
    assert run.run.seed is None
    assert run.run.host == {}
    assert (load.requests.failed, load.requests.unanswered, load.load.seed, load.load.warmup_s) == (None,) * 4
    assert (load.generator.threads, load.generator.cpu_user_s, load.window_start_monotonic_s) == (None,) * 3
    assert (load.tool.name, load.tool.completeness, load.tool.resolution_ms) == ("hey", "complete", 0.1)
    assert [caveat.code for caveat in run.run.caveats] == ["imported"]
    assert load.latency_ms.p99_99 is None


@pytest.mark.parametrize(
    ("name", "lacks"),
    [
        ("made/wrk-without-indentation.txt", ["percentiles of latency", "classes of statuses"]),
        ("hey.csv", ["failed requests"]),
        ("ab/2.3-redirected.txt", ["latencies between its percentiles", "right answers"]),
        (
            "vegeta/12.12.0-closed-report.txt",
            ["latencies of answers: vegeta summarises those of failures with them"],
        ),
    ],
)
def test_what_a_file_leaves_out_is_said(name: str, lacks: list[str], tmp_path: Path):
    point = () if name.startswith(("made", "ab")) else ("connections=4",)
    run = imported(tmp_path / "run", str(DATA / name), point=point)
    assert run.points[0].load.tool.not_measured == lacks
    [caveat] = run.run.caveats
    assert f"its files lack {', '.join(lacks)};" in caveat.text
    assert "was sent, which hides how long it waited for that (coordinated omission)" in caveat.text


def test_a_rate_counts_where_it_is_given_and_the_file_has_connections_alone(tmp_path: Path):
    name = str(DATA / "made/h2load-clients.txt")
    [point] = imported(tmp_path / "run", name, point=("rate=3000",)).points
    assert (point.point, point.load.load.connections) == ({"rate": 3000.0}, 12)
    assert point.load.connect_ms.count is None
    assert point.load.connect_ms.mean == 0.2


def test_failures_of_a_database_are_those_of_operations(tmp_path: Path):
    file = str(DATA / "go-ycsb-postgresql.csv")
    [point] = imported(tmp_path / "run", file, point=("threads=2",)).points
    [text] = [reason.text for reason in point.load.verdict.reasons if reason.code == "errors"]
    assert "operations" in text
    assert "request" not in text


def test_the_parts_of_a_read_modify_write_take_nothing_from_the_throughput_of_any_kind(tmp_path: Path):
    # In 10 s 5,000 reads and 5,000 times a read and an update, as YCSB lists them: 10,000 reads in all.
    file = str(DATA / "ycsb-rmw-made.txt")
    [point] = imported(tmp_path / "run", file, point=("threads=2",)).points
    kinds = ("read", "update", "read_modify_write")
    found = [throughput_of(point.load.load.kind, kind).value(point) for kind in kinds]
    assert found == pytest.approx([1000, 500, 500])


def test_each_file_stands_in_the_record_with_its_digest(grid: Path):
    run = imported(grid / "run", f"{grid}/in/one/nginx_10.csv", point=("connections=10",), server="web")
    [file] = run.run.imported.files
    assert (file.server, file.point, file.format, file.trial) == ("web", {"connections": 10.0}, "hey-csv", 0)
    assert file.bytes == (grid / "in/one/nginx_10.csv").stat().st_size
    assert file.sha256 in run.study_text


def test_imported_records_fit_the_published_schemas(grid: Path):
    run = imported(grid / "run", "{server}_{connections}.csv", trials=f"{grid}/in/{{trial}}/")
    validate(json.loads((run.folder / "run.json").read_text()), "run")
    for line in (run.folder / "trials.jsonl").read_text().splitlines():
        validate(json.loads(line), "trial")


@pytest.mark.parametrize("form", sorted(set(FORMATS) - {"png", "svg", "pdf"}))
@pytest.mark.parametrize("kind", ["requests", "summary", "database"])
def test_an_imported_run_is_reported_in_every_form(grid: Path, form: str, kind: str):
    files = {
        "requests": ("{server}_{connections}.csv", f"{grid}/in/{{trial}}/"),
        "summary": (str(DATA / "hey.txt"), ""),
        "database": (str(DATA / "ycsb-both.txt"), ""),
    }
    name, trials = files[kind]
    point = () if kind == "requests" else ("threads=2",) if kind == "database" else ("connections=10",)
    run = imported(grid / "run", name, trials=trials, point=point)
    analysis = analyse(run)
    assert analysis.not_computed == []
    material = Report(run, analysis)
    has_files = bool(list(FORMATS[form](material)))
    assert has_files == (form not in OF_HISTOGRAMS or (kind == "requests" and form != "wrk2"))
    assert material.sections.not_computed == []


def test_the_command_prints_a_summary_and_the_page(grid: Path):
    done = loadcurve(
        "import", "nginx_{connections}.csv", "--trials", f"{grid}/in/{{trial}}/", "--out", grid / "run"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip().endswith("report.html")
    again = loadcurve("report", grid / "run")
    assert again.returncode == 0, again.stderr
    compared = loadcurve("compare", grid / "run", grid / "run")
    assert compared.returncode == 0, compared.stderr


def test_a_layout_with_figures_that_nobody_measured_is_refused(grid: Path):
    imported(grid / "run", str(DATA / "hey.txt"), point=("connections=10",))
    refused = loadcurve("report", grid / "run", "--as", "ab")
    assert refused.returncode == 2
    assert "was imported" in refused.stderr


def test_an_imported_run_is_not_resumed(grid: Path):
    (grid / "in/one/nginx_10.csv").unlink()
    imported(grid / "run", "{server}_{connections}.csv", trials=f"{grid}/in/{{trial}}/")
    refused = loadcurve("run", "--resume", grid / "run")
    assert refused.returncode == 2
    assert "was imported" in refused.stderr


def test_files_of_one_point_are_its_trials_in_their_order(grid: Path):
    names = [str(grid / f"in/{trial}/nginx_10.csv") for trial in ("three", "one", "two")]
    run = imported(grid / "run", *names, point=("connections=10",))
    assert [(file.name, file.trial) for file in run.run.imported.files] == [
        (name, place) for place, name in enumerate(names)
    ]


def test_answers_with_error_statuses_and_failures_speak_against_a_result(grid: Path):
    run = imported(grid / "run", str(DATA / "vegeta.csv"), point=("rate=200",))
    verdict = run.points[0].load.verdict
    assert (verdict.status, [reason.code for reason in verdict.reasons]) == ("invalid", ["error_status"])
    assert run.load_model == "open"
    refused = imported(grid / "refused", str(DATA / "vegeta-refused.csv"), point=("rate=50",)).points[0].load
    assert [reason.code for reason in refused.verdict.reasons] == ["nothing_answered", "errors"]


@pytest.mark.parametrize(
    ("given", "options", "found"),
    [
        (["{servr}.csv"], {}, r"{servr} is unknown.*{server}"),
        (["{server}{server}.csv"], {}, "occurs twice"),
        (["nothing_{connections}.csv"], {}, "no file matches"),
        (["in/one/nginx_{rate}0.csv", "in/one/apache_{connections}.csv"], {}, "expected the same keys"),
        (["in/one/nginx_10.csv"], {}, "does not record its load.*--point connections=50"),
        (["in/one/{server}_10.csv"], {"server": "x", "point": ("connections=1",)}, "remove --server"),
        (["in/one/nginx_{connections}.csv"], {"point": ("connections=1",)}, "set by its name and by --point"),
        (["in/one/{rate}_10.csv"], {}, "expected a number"),
        (["in/none.csv"], {"point": ("connections=1",)}, "cannot be read: No such file"),
        (["in/{trial}/nginx_10.csv"] * 2, {"point": ("connections=1",)}, "are both trial"),
    ],
)  # fmt: skip
def test_what_cannot_be_laid_out_is_refused_and_nothing_is_written(grid, given, options, found, monkeypatch):
    monkeypatch.chdir(grid)
    with pytest.raises(BadInput, match=found):
        imported(grid / "run", *given, **options)
    assert not (grid / "run").exists()


@pytest.mark.parametrize(
    "text", ["connections", "connections=", "connections=x", "conections=5", "rate=-1", "rate=1e9"]
)
def test_a_point_is_a_key_of_a_load_and_a_number(text: str):
    with pytest.raises(BadInput, match="expected"):
        point_of([text])


def test_a_bad_file_among_good_ones_leaves_nothing_behind(grid: Path):
    (grid / "in/two/nginx_50.csv").write_text("response-time,DNS\n")
    done = loadcurve(
        "import", "nginx_{connections}.csv", "--trials", f"{grid}/in/{{trial}}/", "--out", grid / "run"
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "nginx_50.csv" in done.stderr
    assert not (grid / "run").exists()


def test_a_pipe_is_not_waited_for(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BadInput, match="not a regular file"):
        imported(tmp_path / "run", str(tmp_path / "pipe"), point=("rate=1",))


def test_what_no_figure_includes_is_a_note_in_the_record_and_in_the_report(tmp_path: Path):
    run = imported(tmp_path / "run", str(DATA / "jmeter" / "parent-samples-only.jtl"))
    [note] = [one for one in run.points[0].load.verdict.notes if one.code == "rows_left_out"]
    assert run.points[0].point == {"threads": 1}
    assert "with them 4 samples" in note.text
    shown = loadcurve("report", tmp_path / "run", "--format", "md", "--out", tmp_path / "page.md")
    assert shown.returncode == 0, shown.stderr
    [page] = (tmp_path / "page.md").glob("*.md")
    assert "with them 4 samples" in page.read_text()


def test_the_command_says_what_no_figure_includes(tmp_path: Path):
    file = DATA / "jmeter" / "parent-samples-only.jtl"
    done = loadcurve("import", file, "--point", "connections=10", "--out", tmp_path / "run")
    said = " ".join(done.stderr.split())
    assert "2 rows of transaction controllers were left out, and with them 4 samples" in said


def test_a_file_of_sums_alone_is_refused_with_what_was_left_out(tmp_path: Path):
    message = "Number of samples in transaction : 1, number of failing samples : 0"
    sums = "".join(f'{place}000,250,Visit,200,"{message}",true\n' for place in (1, 2))
    file = tmp_path / "sums.jtl"
    file.write_text(f"timeStamp,elapsed,label,responseCode,responseMessage,success\n{sums}")
    with pytest.raises(BadInput, match=r"no request; .*; 2 rows of transaction controllers were left out"):
        imported(tmp_path / "run", str(file), point=("connections=1",))


def test_a_point_that_the_file_contradicts_is_refused_with_what_to_do(tmp_path: Path):
    with pytest.raises(
        BadInput, match="says connections = 12, and 10 was given; give what the file says, or"
    ):
        imported(tmp_path / "run", str(DATA / "made" / "h2load-clients.txt"), point=("connections=10",))


def test_failures_by_a_check_of_the_tool_are_a_class_of_their_own(tmp_path: Path):
    run = imported(tmp_path / "run", str(DATA / "jmeter" / "failed-assertion.jtl"))
    load = run.points[0].load
    assert (load.requests.sent, load.requests.ok, load.requests.failed) == (4, 2, 2)
    assert (load.errors.nonzero(), load.verdict.status) == ({"check_failed": 2}, "invalid")
    assert any("a check of the load generator" in reason.text for reason in load.verdict.reasons)
