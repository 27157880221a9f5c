"""Texts that differ in numbers alone are one text with ranges."""

from loadcurve.analysis.analysis import analyse
from loadcurve.report.reasons import grouped_alike
from loadcurve.report.section import Report
from loadcurve.report.sections import everything
from loadcurve.result.folder import Run
from loadcurve.runs.other_runs import not_alone
from loadcurve.server.presence import Neighbour
from support import synthetic_run as synthetic


def test_texts_that_differ_in_a_number_are_one_with_its_range():
    texts = ["the clocks drifted by 1.5 ms in 2 s", "the clocks drifted by 0.25 ms in 2 s"]
    assert grouped_alike(texts) == {"the clocks drifted by 0.25 to 1.5 ms in 2 s": texts}


def test_lists_of_things_by_number_are_counted_whatever_their_length():
    texts = ["others (process 12 and process 1,500)", "others (process 9, process 12 and process 77)"]
    assert list(grouped_alike(texts)) == ["others (process 9 to 1,500, 4 in all)"]


def test_one_thing_by_its_number_is_like_a_list_of_several():
    texts = ["another run (process 7) was there", "another run (process 8, process 9) was there"]
    assert list(grouped_alike(texts)) == ["another run (process 7 to 9, 3 in all) was there"]


def test_other_texts_and_parts_of_words_stay_as_they_are():
    texts = ["HTTP/2 over TLSv1.3", "HTTP/2 over TLSv1.2", "10ms", "20ms"]
    assert list(grouped_alike(texts)) == texts


def test_the_page_has_one_box_for_every_set_of_processes(run: Run):
    records = []
    for number, record in enumerate(run.points):
        others = [Neighbour(1000 + number, is_elsewhere=False), Neighbour(5000, is_elsewhere=False)]
        probe = record.probe.model_copy(update={"caveats": [not_alone(others)]})
        records.append(record.model_copy(update={"probe": probe}))
    changed = synthetic.with_records(run, records)
    [caveat] = everything(Report(changed, analyse(changed)))["caveats"]
    count = len(records)
    assert caveat.text.startswith(
        "another run was in progress on this machine "
        f"(process 1000 to 5000, {count + 1} in all), so the two disturb"
    )
    assert sum(caveat.points.values()) == count
