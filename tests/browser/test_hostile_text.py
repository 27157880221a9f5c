"""Text with markup in it is shown as it is, wherever it comes from, and never run."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from loadcurve.result.records import FailureRecord, PointRecord, RunRecord
from support import synthetic_run as synthetic
from support.opened_report import Opened, reports_in
from support.report_pages import write_report
from support.run_pages import HOSTILE

HOSTILE_URL = "http://127.0.0.1/\"><script>stolen = 1</script>?<img src='//127.0.0.1/x' onerror='stolen = 1'>"


@pytest.fixture(scope="module")
def hostile_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a run in which every free text is hostile."""
    texts = synthetic.Texts(
        title=HOSTILE, question=HOSTILE, server_titles=dict.fromkeys((*synthetic.SERVERS, "absent"), HOSTILE)
    )
    record = synthetic.run_record(texts)
    records = [renamed(one) for one in synthetic.trial_records(record, HOSTILE)]
    folder = tmp_path_factory.mktemp("hostile") / "run"
    synthetic.write_run(folder, hostile_run(record), records, texts)
    return write_report(folder)


@pytest.fixture(scope="module")
def opened(browser: Browser, hostile_report: Path) -> Iterator[Opened]:
    with reports_in(browser) as open_report:
        yield open_report(hostile_report)


def hostile_run(record: RunRecord) -> RunRecord:
    """The run with a server called by hostile text, whose manual, settings and program are hostile too."""
    tiny = record.servers["tiny"].model_copy(
        update={
            "documentation": HOSTILE_URL,
            "version": HOSTILE,
            "binary": HOSTILE,
            "settings": {HOSTILE: HOSTILE},
            "configuration": {HOSTILE: HOSTILE},
        }
    )
    nginx = record.servers["nginx"].model_copy(update={"documentation": "javascript:stolen = 1"})
    servers = {**record.servers, "nginx": nginx, "tiny": tiny}
    order = [
        planned.model_copy(update={"server": HOSTILE}) if planned.server == "tiny" else planned
        for planned in record.order
    ]
    return record.model_copy(
        update={
            "servers": {HOSTILE if name == "tiny" else name: server for name, server in servers.items()},
            "order": order,
            "host": record.host | {"cpu": HOSTILE},
        }
    )


def renamed(record: PointRecord | FailureRecord) -> PointRecord | FailureRecord:
    if record.server != "tiny":
        return record
    changed: dict[str, object] = {"server": HOSTILE}
    if isinstance(record, PointRecord):
        load = record.load.load.model_copy(update={"address": HOSTILE_URL, "requests": [HOSTILE_URL]})
        changed["measurements"] = {"load": record.load.model_copy(update={"load": load})}
    return record.model_copy(update=changed)


def test_hostile_text_is_shown_and_never_run(opened: Opened, hostile_report: Path):
    opened.figures()
    page = opened.page
    assert page.title() == HOSTILE
    assert page.locator("h1").inner_text() == HOSTILE
    assert page.locator(".question").inner_text() == HOSTILE
    for legend in page.locator(".legend").all():
        assert HOSTILE in [name.strip() for name in legend.locator("li").all_inner_texts()]
    assert page.evaluate("typeof stolen") == "undefined"
    assert page.locator("img, [onerror], [onload], a[href^='javascript']").count() == 0
    assert opened.complaints == []
    assert opened.requests == [hostile_report.as_uri()]


def test_a_hostile_name_is_drawn_and_shown_as_text(opened: Opened):
    [place, *_] = [
        index
        for index, mark in enumerate(
            mark for mark in opened.marks("throughput-1") if mark["kind"] == "symbol" and "n" in mark["datum"]
        )
        if mark["datum"]["server"] == HOSTILE
    ]
    symbols = opened.page.locator("#throughput-1 .mark-symbol path").evaluate_all(
        """(all, hostile) => all.findIndex(
          (one) => one.__data__.datum.server === hostile && "n" in one.__data__.datum)""",
        HOSTILE,
    )
    assert place >= 0
    opened.page.locator("#throughput-1 .mark-symbol path").nth(symbols).hover(force=True)
    tooltip = opened.page.locator("#vg-tooltip-element.visible")
    tooltip.wait_for()
    assert "<img src=x onerror" in tooltip.inner_text()
    assert tooltip.locator("script, img, svg").count() == 0
    assert opened.page.evaluate("typeof stolen") == "undefined"
    assert opened.complaints == []
