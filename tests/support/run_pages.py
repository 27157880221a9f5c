"""The pages about several runs: a list of runs, and runs side by side."""

from pathlib import Path

from loadcurve.report.runs import list_runs
from loadcurve.report.runs_page import write_index
from loadcurve.report.side_by_side import write_side_by_side
from loadcurve.result.records import FailureRecord, PointRecord
from support import synthetic_run as synthetic
from support.report_pages import write_report

HOSTILE = (
    "</title></script><script>stolen = 1</script><img src=x onerror='stolen = 1'><svg onload='stolen = 1'>"
)
HOSTILE_FOLDER = "b&amp;<img src=x onerror='stolen = 1'>?#%41"
LONG = "a-word-without-any-place-to-break-it-" * 6
HALF = 0.5
"""How many times the throughput of the base the second run of a comparison has."""


def index_of_runs(folder: Path) -> Path:
    """Three runs: one with its report, a hostile one that was interrupted, and one whose texts are long.

    A fourth folder is none.
    """
    record = synthetic.run_record()
    write_report(synthetic.write_run(folder / "first", record))
    for name, started_at, text in (
        (HOSTILE_FOLDER, "2026-03-15T08:00:00Z", HOSTILE),
        ("long", "2026-01-02T23:10:00Z", LONG),
    ):
        texts = synthetic.Texts(title=text, question=text)
        later = synthetic.run_record(texts).model_copy(update={"started_at": started_at})
        synthetic.write_run(folder / name, later, synthetic.trial_records(record)[:10], texts)
    (folder / "no run").mkdir()
    return write_index(list_runs(folder))


def comparison_of_runs(folder: Path) -> Path:
    """A base with its report, a run of half the throughput on another kernel, and an interrupted one."""
    record = synthetic.run_record()
    records = synthetic.trial_records(record)
    later = {"started_at": "2026-03-15T08:00:00Z", "host": {**record.host, "kernel": "Linux 7"}}
    base = synthetic.write_run(folder / "base", record)
    half = synthetic.write_run(folder / "half", record.model_copy(update=later), slower(records))
    third = synthetic.write_run(folder / "interrupted", record, records[:30])
    write_report(base)
    return write_side_by_side([base, half, third], folder)[0]


def slower(records: list[PointRecord | FailureRecord]) -> list[PointRecord | FailureRecord]:
    """The records with ``HALF`` the throughput, and latencies as they were."""

    def changed(record: PointRecord) -> PointRecord:
        rate = record.load.rate_rps
        rates = rate.model_copy(update={"answered": HALF * (rate.answered or 0)})
        return synthetic.with_load(record, rate_rps=rates)

    return [changed(record) if isinstance(record, PointRecord) else record for record in records]
