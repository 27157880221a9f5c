"""What must be the same before two runs can be compared, and what differs of their servers."""

from typing import Any

import pytest
from pydantic import BaseModel

from loadcurve.loads.http import ClosedLoad, OpenLoad, RecordedLoad, SessionsLoad
from loadcurve.loads.ycsb import DatabaseLoad
from loadcurve.result.differences import (
    ConditionDifference,
    Difference,
    condition_differences,
    conditions_of,
    differences,
    server_differences,
    server_facts,
    without_off,
)
from loadcurve.result.folder import Run
from loadcurve.result.inputs import InputRecord
from loadcurve.result.records import ContentRecord, OtherMachineRecord, ServerRecord
from support.synthetic_run import with_records


def with_run(base: Run, **changes: Any) -> Run:
    return Run(base.folder, base.run.model_copy(update=changes), base.records, base.study_text, base.cut_off)


def differing(base: Run, new: Run) -> list[ConditionDifference]:
    return condition_differences(conditions_of(base), conditions_of(new))


def servers_differing(base: ServerRecord, new: ServerRecord) -> list[Difference]:
    return differences(server_facts(base), server_facts(new))


def test_a_run_does_not_differ_from_itself(run: Run):
    assert differing(run, run) == []
    assert servers_differing(run.run.servers["nginx"], run.run.servers["nginx"]) == []


def test_another_kernel_is_a_difference_of_the_machine(run: Run):
    other = with_run(run, host={**run.run.host, "kernel": "5.10.0"})
    [difference] = differing(run, other)
    assert (difference.aspect, difference.name, difference.new) == ("machine", "kernel", "5.10.0")


def test_a_fact_that_one_of_the_runs_does_not_tell_is_a_difference(run: Run):
    other = with_run(run, host={**run.run.host, "cpu_governor": "powersave"})
    assert ConditionDifference("cpu_governor", None, "powersave", "machine") in differing(run, other)


def test_how_loads_were_sent_is_no_difference_to_a_run_without_any(run: Run):
    nothing = with_records(run, [])
    assert differing(run, nothing) == differing(nothing, run) == []
    other = with_run(nothing, loadcurve_version="0.0.1")
    assert [one.name for one in differing(run, other)] == ["loadcurve_version"]


@pytest.mark.parametrize(("value", "names"), [(None, []), (0.0, []), (0.5, ["early_data"])])
def test_an_option_that_one_run_lacks_and_the_other_has_off_is_no_difference(run: Run, value, names):
    load = {key: one for key, one in run.run.study["load"].items() if key != "early_data"}
    without, other = (
        with_run(run, study={**run.run.study, "load": one}) for one in (load, {**load, "early_data": value})
    )
    assert [one.name for one in differing(without, other)] == names
    assert [one.name for one in differing(other, without)] == names


IN_EVERY_RECORD = {
    *("warmup_s", "timeout_s", "method", "http", "verify", "generator", "pipeline", "streams", "arrivals"),
    *("calls", "speed", "phase", "reload", "namespace", "table"),
}
"""Options with a default that is not off, in the records of every version since digests were made of them."""


def test_a_new_option_does_not_make_the_loads_of_earlier_versions_others():
    # A new option is off by default, or NEUTRAL has its default: histories of earlier versions continue.
    defaults = {
        name: field.get_default(call_default_factory=True)
        for load in (ClosedLoad, OpenLoad, RecordedLoad, SessionsLoad, DatabaseLoad)
        for name, field in load.model_fields.items()
        if not field.is_required() and name not in IN_EVERY_RECORD
    }
    plain = {
        name: value.model_dump(exclude_defaults=True) if isinstance(value, BaseModel) else value
        for name, value in defaults.items()
    }
    assert without_off(plain) == {}


def test_another_python_or_seed_is_no_difference(run: Run):
    other = with_run(run, host={**run.run.host, "python": "3.99"}, seed=run.run.seed + 1)
    assert differing(run, other) == []


def test_another_duration_is_a_difference_of_the_load_and_a_swept_key_is_not(run: Run):
    load = {**run.run.study["load"], "duration_s": 60.0, "connections": 17}
    other = with_run(run, study={**run.run.study, "load": load})
    [difference] = differing(run, other)
    assert (difference.aspect, difference.name, difference.new) == ("load", "duration_s", 60.0)


@pytest.mark.parametrize(
    ("key", "counts"),
    [
        ("load.body", True),
        ("loads.web.requests", True),
        ("servers.nginx.load.tls.verify", True),
        ("servers.pg.url", True),
        # What a study claims, or compares its figures with, changes none of them.
        ("load.claims", False),
        ("claims", False),
        ("published.file", False),
        # These are compared as content, and by the digests of the server's program.
        ("content.folder", False),
        ("servers.nginx.start", False),
    ],
)
def test_a_file_of_the_same_name_with_another_content_is_a_difference_of_the_load(run: Run, key, counts):
    def given(content: str) -> Run:
        record = InputRecord(key=key, name="a", kept_as="inputs/a", bytes=1, sha256=content * 64)
        return with_run(run, inputs=[record])

    assert differing(given("a"), given("a")) == []
    expected = ConditionDifference(f"inputs.{key}", ["a" * 64], ["b" * 64], "load")
    assert differing(given("a"), given("b")) == ([expected] if counts else [])


def test_another_warm_up_of_each_start_is_a_difference_of_the_load(run: Run):
    trials = {**run.run.study["trials"], "warmup": {"rate_rps": 15.0, "duration_s": 10.0}}
    found = differing(run, with_run(run, study={**run.run.study, "trials": trials}))
    assert {(one.aspect, one.name, one.base, one.new) for one in found} == {
        ("load", "warmup_of_starts.rate_rps", None, 15.0),
        ("load", "warmup_of_starts.duration_s", None, 10.0),
    }


def test_generated_files_differ_by_length_alone(run: Run):
    [name] = run.run.content
    same_length = ContentRecord(bytes=run.run.content[name].bytes, sha256="f" * 64)
    assert differing(run, with_run(run, content={name: same_length})) == []
    longer = ContentRecord(bytes=same_length.bytes + 1, sha256="f" * 64)
    [difference] = differing(run, with_run(run, content={name: longer}))
    assert (difference.aspect, difference.name) == ("content", name)


def test_files_of_the_persons_own_differ_by_digest(run: Run):
    study = {**run.run.study, "content": {"folder": "/srv/site"}}
    [name] = run.run.content
    changed = ContentRecord(bytes=run.run.content[name].bytes, sha256="f" * 64)
    [difference] = differing(with_run(run, study=study), with_run(run, study=study, content={name: changed}))
    assert (difference.aspect, difference.name) == ("content", name)


def test_another_version_and_setting_of_a_server_are_reported(run: Run):
    nginx = run.run.servers["nginx"]
    other = nginx.model_copy(update={"version": "9.9", "settings": {**nginx.settings, "workers": 2}})
    assert [(d.name, d.base, d.new) for d in servers_differing(nginx, other)] == [
        ("version", "1.2.3", "9.9"),
        ("settings.workers", 1, 2),
    ]


@pytest.mark.parametrize(
    ("line", "of_another_start", "changed"),
    [
        ("listen 127.0.0.1:41234;", "listen 127.0.0.1:38001;", "listen 127.0.0.1:38001 backlog=64;"),
        ("server.port = 41234", "server.port = 5001", "server.ports = 5001"),
        ('root "/tmp/loadcurve-nginx-1-a/x";', 'root "/var/tmp/loadcurve-nginx-2-b/x";', 'root "/srv/x";'),
        ("worker_connections 10000;", "worker_connections 10000;", "worker_connections 20000;"),
    ],
)
def test_port_and_folders_of_an_older_runs_start_are_no_difference_of_its_configuration(
    run: Run, line: str, of_another_start: str, changed: str
):
    def server(configuration: str) -> Any:
        return run.run.servers["nginx"].model_copy(update={"configuration": {"nginx.conf": configuration}})

    assert servers_differing(server(line), server(of_another_start)) == []
    [difference] = servers_differing(server(line), server(changed))
    assert difference.name == "configuration.nginx.conf"


def test_an_older_run_compares_with_one_whose_configuration_has_placeholders(run: Run):
    def server(configuration: str) -> Any:
        return run.run.servers["nginx"].model_copy(update={"configuration": {"nginx.conf": configuration}})

    older = (
        'listen 127.0.0.1:41234;\nroot "/tmp/loadcurve-content-7/a";\npid /tmp/loadcurve-nginx-8/scratch/x;\n'
    )
    newer = 'listen 127.0.0.1:{port};\nroot "{content}/a";\npid {folder}/scratch/x;\n'
    assert servers_differing(server(older), server(newer)) == []


def test_every_number_of_a_configuration_with_placeholders_counts(run: Run):
    def server(backlog: int) -> Any:
        text = f"listen 127.0.0.1:{{port}} backlog={backlog};"
        return run.run.servers["nginx"].model_copy(update={"configuration": {"nginx.conf": text}})

    [difference] = servers_differing(server(4096), server(8192))
    assert difference.name == "configuration.nginx.conf"


def with_machine(base: Run, **facts: Any) -> Run:
    machine = OtherMachineRecord(address="10.0.0.5", facts={**base.run.host, **facts})
    return with_run(base, machines={"web": machine})


def test_another_kernel_of_the_servers_machine_is_a_difference_of_that(run: Run):
    [difference] = differing(with_machine(run), with_machine(run, kernel="5.10.0"))
    assert (difference.aspect, difference.name, difference.new) == ("machine", "web · kernel", "5.10.0")


def test_what_is_known_of_a_servers_machine_is_that_of_the_one_where_it_ran(run: Run):
    server = run.run.servers["nginx"]
    assert run.run.host_of(server) is run.run.host
    elsewhere = server.model_copy(update={"server_machine": "web"})
    assert with_machine(run, kernel="5.10.0").run.host_of(elsewhere)["kernel"] == "5.10.0"


def table_differing(base: dict[str, Any], new: dict[str, Any], server: ServerRecord) -> list[Difference]:
    return server_differences(server_facts(server, base), server_facts(server, new))


def test_whatever_differs_of_a_servers_table_is_a_difference(run: Run):
    nginx = run.run.servers["nginx"]
    base = {"use": "command", "start": ["python3", "/srv/app.py"], "environment": {"WORKERS": "1"}}
    new = {**base, "start": ["python3", "-O", "/srv/app.py"], "environment": {"WORKERS": "2"}, "user": "www"}
    assert table_differing(base, new, nginx) == [
        Difference("start", ["python3", "/srv/app.py"], ["python3", "-O", "/srv/app.py"]),
        Difference("environment.WORKERS", "1", "2"),
        Difference("user", None, "www"),
    ]
    # A later version knows more keys, and writes them with their defaults.
    later = {**base, "optional": False, "cwd": None, "driver": {}}
    assert table_differing(base, later, nginx) == []


def test_another_digest_is_a_difference_and_one_that_was_not_recorded_is_none(run: Run):
    nginx = run.run.servers["nginx"].model_copy(update={"binary_sha256": "a" * 64})
    base = nginx.model_copy(update={"start_sha256": {"/srv/app.py": "b" * 64}})
    new = nginx.model_copy(update={"start_sha256": {"/srv/app.py": "c" * 64}})
    assert server_differences(server_facts(base), server_facts(new)) == [
        Difference("sha256./srv/app.py", "b" * 64, "c" * 64)
    ]
    old = nginx.model_copy(update={"binary_sha256": None})
    assert server_differences(server_facts(old), server_facts(base)) == []
