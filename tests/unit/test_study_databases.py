"""Loads on databases in a study file: their keys, and what is reported when one of them is wrong."""

import pytest

from support.cases import cases, changed
from support.read_study import problems_of, read_study

COUNTED = 'model = "ycsb"\nworkload = "a"\nthreads = 4\noperations = 1000\n'
LOADING = 'model = "ycsb"\nworkload = "a"\nthreads = 4\nphase = "load"\n'
LOAD_LINE = 3
"""The line of the first key of the load."""
PROPERTIES = """# as YCSB's files are
recordcount=500
operationcount=700
threadcount=3
readproportion=0.25
updateproportion=0.75
requestdistribution=latest
"""


def study_file(folder, load, sweep="timeout = [1]", head=""):
    path = folder / "s.toml"
    path.write_text(f'{head}title = "x"\n[load]\n{load}\n[sweep]\n{sweep}\n[servers.ferretdb]\n')
    return path


def problems_in(folder, load, sweep="timeout = [1]", head=""):
    return problems_of(study_file(folder, load, sweep, head))


def load_of(folder, load, sweep="timeout = [1]"):
    study = read_study(study_file(folder, load, sweep))
    return study.arms["ferretdb"].load_at(study.points()[0])


def test_a_load_on_a_database_has_these_defaults(tmp_path):
    load = load_of(tmp_path, COUNTED)
    assert (load.phase, load.reload, load.batch, load.verify_values) == ("run", "point", 1, False)
    assert (load.namespace, load.table) == ("loadcurve", "usertable")
    assert (load.threads, load.requests_total, load.duration_s, load.rate_rps) == (4, 1000, None, None)


def test_the_records_are_the_workloads_unless_the_study_says_otherwise(tmp_path):
    assert load_of(tmp_path, COUNTED).records == 1000
    assert load_of(tmp_path, f"{COUNTED}records = 5").records == 5
    assert load_of(tmp_path, COUNTED, "records = [7, 8]").records == 7


def test_a_mix_of_ones_own_has_only_what_it_names(tmp_path):
    own = COUNTED.replace('workload = "a"\n', "")
    mix = "mix = { read = 3, delete = 1 }"
    table = f'{mix}\nrequest_distribution = "zipfian"\nfield_count = 2\nfield_bytes = "1KiB"'
    workload = load_of(tmp_path, f"{own}[load.workload]\n{table}").workload
    assert {kind: share for kind, share in workload.numbers.mix if share} == {"read": 3, "delete": 1}
    assert workload.numbers.request_distribution.name == "zipfian"
    assert (workload.numbers.field_count, workload.numbers.field_bytes) == (2, 1024)
    assert workload.name is None


def test_a_file_of_properties_counts_from_the_studys_folder_and_says_what_the_study_leaves_open(tmp_path):
    (tmp_path / "mine.properties").write_text(PROPERTIES)
    load = load_of(tmp_path, 'model = "ycsb"\nworkload = "mine.properties"\n')
    assert (load.records, load.requests_total, load.threads) == (500, 700, 3)
    assert (load.workload.numbers.mix.read, load.workload.numbers.mix.update) == (0.25, 0.75)
    assert load.workload.name == "mine.properties"


def test_the_study_has_the_last_word_over_a_file_of_properties(tmp_path):
    (tmp_path / "mine.properties").write_text(PROPERTIES)
    head = 'model = "ycsb"\nworkload = "mine.properties"\n'
    load = load_of(
        tmp_path, f'{head}records = 9\nduration = "2s"\nproperties = {{ fieldcount = 3 }}', "threads = [5]"
    )
    assert (load.records, load.requests_total, load.duration_s, load.threads) == (9, None, 2.0, 5)
    assert load.workload.numbers.field_count == 3


def test_a_duration_may_be_swept_beside_the_operations_of_a_file(tmp_path):
    (tmp_path / "mine.properties").write_text(PROPERTIES)
    load = load_of(tmp_path, 'model = "ycsb"\nworkload = "mine.properties"\n', 'duration = ["1s", "2s"]')
    assert (load.requests_total, load.duration_s) == (None, 1.0)


def test_the_load_phase_ends_with_its_records_and_has_no_warm_up(tmp_path):
    load = load_of(tmp_path, f"{LOADING}records = 50")
    assert (load.records, load.requests_total, load.duration_s, load.warmup_s) == (50, None, None, 0.0)


@pytest.mark.parametrize(
    "key", ["threads", "records", "operations", "rate", "batch", "duration", "warmup", "timeout"]
)
def test_every_number_can_be_swept(tmp_path, key):
    without = "\n".join(line for line in COUNTED.splitlines() if not line.startswith(key))
    without = without.replace("operations = 1000", "") if key == "duration" else without
    study = read_study(study_file(tmp_path, without, f"{key} = [1, 2]"))
    assert [dict(study.arms["ferretdb"].load_at(point)) != {} for point in study.points()] == [True, True]
    assert {point[key] for point in study.points()} == {1, 2}


def test_what_is_read_is_verified_when_asked_for(tmp_path):
    assert load_of(tmp_path, f"{COUNTED}verify_values = true").workload.numbers.verify_values
    assert not load_of(tmp_path, COUNTED).workload.numbers.verify_values


def test_the_record_of_a_study_names_the_workload_and_has_its_numbers(tmp_path):
    named = read_study(study_file(tmp_path, COUNTED)).model_dump(mode="json")
    assert named["load"]["workload"]["name"] == "a"
    assert named["load"]["workload"]["mix"]["update"] == 0.5
    own = COUNTED.replace('workload = "a"', "workload = { mix = { read = 1 } }")
    record = read_study(study_file(tmp_path, own)).model_dump(mode="json")
    assert (record["load"]["workload"]["name"], record["load"]["workload"]["mix"]["read"]) == (None, 1)


PROBLEMS = r"""
counted: workload = "a" -> workload = "g"
    :4: load.workload: found "g"; expected "a", "b", "c", "d", "e" or "f", or the name of a file of YCSB
    properties
counted: threads = 4 ->
    :2: load.threads: missing; expected a positive number here, or a list of them in [sweep]
counted: threads = 4 -> threads = 0
    :5: load.threads: found 0; expected a positive whole number
counted: records = 0
    :7: load.records: found 0; expected a positive whole number
counted: batch = 0
    :7: load.batch: found 0; expected a whole number of records from 1 to 100,000
counted: batch = 100001
    :7: load.batch: found 100001; expected a whole number of records from 1 to 100,000
counted: records = 699\nproperties = { insertstart = 500, insertcount = 200 }
    :7: load.records: found 699; expected 700 or more, because of the workload's insertstart or insertcount
counted: duration = "1s"
    :6: load.operations: cannot be combined with a duration; keep one of the two
loading: duration = "1s"
    :7: load.duration: not used by the load phase, which ends when all records are inserted; remove it
loading: operations = 5
    :7: load.operations: not used by the load phase, which ends when all records are inserted; remove it
loading: warmup = "1s"
    :7: load.warmup: not used by the load phase, which inserts each record once; remove it
loading: reload = "trial"
    :7: load.reload: found "trial", but the load phase requires an empty table at every point; remove it
counted: workload = "a" -> workload = "d"\nreload = "trial"
    :5: load.reload: found "trial", but each point would insert or delete the same records as the one
    before it; expected "point"
counted: workload = "a" -> workload = { mix = { read = 3, delete = 1 } }\nreload = "trial"
    :5: load.reload: found "trial", but each point would insert or delete the same records as the one
    before it; expected "point"
counted: generator_threads = 5
    :7: load.generator_threads: found 5; expected no more than the threads; the lowest point has 4
counted: arrivals = "poisson"
    :7: load.arrivals: only used with a rate, at which operations fall due; set rate as well, or remove it
counted: phase = "runs"
    :7: load.phase: found "runs"; expected "run" or "load"; did you mean "run"?
counted: workload = "a" -> workload = { mix = { raed = 1 } }
    :4: load.workload.mix.raed: unknown key; expected one of read, update, insert, scan,
    read_modify_write, delete; did you mean "read"?
counted: workload = "a" -> workload = { mix = { read = -1 } }
    :4: load.workload.mix.read: found -1; expected a share of 0 or more; the shares count in proportion
counted: workload = "a" -> workload = { mix = { read = 1 }, hotspot_records = 0.1 }
    :4: load.workload.hotspot_records: only used with request_distribution = "hotspot"; set it as well, or
    remove this key
counted: workload = "a" -> workload = { mix = { read = 1 }, field_bytes_min = "10B" }
    :4: load.workload.field_bytes_min: only used where lengths differ; set field_bytes_distribution to
    "uniform" or "zipfian" as well, or remove this key
"""


@pytest.mark.parametrize(("change", "problem"), cases(PROBLEMS))
def test_a_problem_is_reported_with_its_line_and_what_was_expected(tmp_path, change, problem):
    base, _, how = change.partition(": ")
    load = {"counted": COUNTED, "loading": LOADING}[base]
    assert problems_in(tmp_path, changed(load, how)) == [problem]


@pytest.mark.parametrize("key", ["requests", "connections", "http", "method", "pipeline", "calls", "pick"])
def test_what_belongs_to_web_servers_is_unknown_to_a_load_on_databases(tmp_path, key):
    (problem,) = problems_in(tmp_path, f"{COUNTED}{key} = 1")
    assert problem.startswith(f":{LOAD_LINE + 4}: load.{key}: unknown key; expected one of model, ")


def test_a_warm_up_by_requests_is_refused_with_a_load_on_databases(tmp_path):
    sweep = 'timeout = [1]\n[trials]\nwarmup = { rate = 15, duration = "1s" }'
    [problem] = problems_in(tmp_path, COUNTED, sweep)
    assert "trials.warmup: only for web servers; a load on a database is warmed up by warmup" in problem


def test_content_is_refused_with_a_load_on_databases(tmp_path):
    assert problems_in(tmp_path, COUNTED, head="content.a = 1\n") == [
        ":1: content: databases have no content, only the workload's records; remove it"
    ]


def test_records_cannot_differ_between_points_that_share_them(tmp_path):
    (problem,) = problems_in(tmp_path, f'{COUNTED}reload = "trial"', "records = [1, 2]")
    text = (
        'cannot be combined with reload = "trial"; expected "point", because each point requires new records'
    )
    assert problem == f":9: sweep.records: {text}"
