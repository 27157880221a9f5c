"""The servers of a run in words, above all two versions of one server side by side."""

from typing import Any

import pytest

from loadcurve.analysis.analysis import Analysis, ServerFacts, analyse
from loadcurve.report.formats.markdown import markdown_bytes
from loadcurve.report.html import render_page
from loadcurve.report.section import Report
from loadcurve.report.servers import documentation_address, limits_in_words, title_with_version
from loadcurve.report.terminal import summary
from loadcurve.result.folder import Run, read_run
from loadcurve.result.records import BurstRecord, LimitsRecord, MachineRecord
from support import synthetic_run as synthetic
from support import terminal

MIB = 1 << 20
OLD, NEW = "https://httpd.apache.org/docs/1.3/", "https://httpd.apache.org/docs/2.4/"


def facts(**differing: Any) -> ServerFacts:
    return ServerFacts("A server", "1.0", "found", differing)


@pytest.mark.parametrize(
    ("title", "version", "words"),
    [
        ("nginx", "1.28.0", "nginx 1.28.0"),
        ("The program of the study", "1", "The program of the study, version 1"),
        ("A server that runs already", "BaseHTTP/0.6", "A server that runs already, version BaseHTTP/0.6"),
        ("The program of the study", None, "The program of the study"),
    ],
)
def test_a_version_follows_a_name_and_is_called_one_behind_a_description(title, version, words):
    assert title_with_version(ServerFacts(title, version, "found", {})) == words


@pytest.mark.parametrize(
    ("differing", "words"),
    [
        ({"limits": None, "machine": None}, ""),
        ({"limits": {"cpus": 1.0, "memory_bytes": 1024 * MIB}}, "1 CPU, 1 GiB"),
        ({"limits": {"cpus": 0.25, "memory_bytes": None}}, "0.25 CPUs"),
        ({"limits": {"cpus": None, "memory_bytes": 64 * MIB}}, "64 MiB"),
        (
            {
                "machine": "t2.micro",
                "limits": {
                    "cpus": 1.0,
                    "memory_bytes": 1024 * MIB,
                    "burst": {"credits": 30, "baseline_share": 0.225},
                },
            },
            "t2.micro, 1 CPU, 1 GiB, 30 CPU credits, then 22.5 % of its CPU time",
        ),
    ],
)
def test_limits_are_said_in_the_units_that_people_use(differing: dict[str, Any], words: str) -> None:
    assert limits_in_words(facts(**differing)) == words


@pytest.mark.parametrize(
    "documentation", [None, "javascript:x", "https://a.b/ c", "https://a.b/)", "ftp://a"]
)
def test_only_an_address_without_markup_is_shown(documentation: str | None) -> None:
    assert documentation_address(documentation) is None
    assert documentation_address(OLD) == OLD


@pytest.fixture(scope="module")
def two_versions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Analysis]:
    """A run of two programs of one entry: one stood for a machine type, one ran on such a machine."""
    record = synthetic.run_record()
    limits = LimitsRecord(cpus=1, memory_bytes=1024 * MIB, burst=BurstRecord(credits=30, baseline_share=0.1))
    machine = MachineRecord(
        name="t2.micro",
        vcpus=1,
        memory_bytes=1024 * MIB,
        network="low",
        burstable=True,
        price_usd_per_hour=0.0116,
        priced_on="2020-12-01",
        region="Ohio",
    )
    same = {"title": "Apache HTTP Server", "catalog_entry": "apache-prefork"}
    old = {"version": "1.3.42", "documentation": OLD, "limits": limits, "machine": machine}
    new = {"version": "2.4.68", "documentation": NEW, "server_machine": "web", "machine": machine}
    versions = {"apache": old, "nginx": new}
    servers = {
        name: record.servers[name].model_copy(update={**same, **changed})
        for name, changed in versions.items()
    }
    record = record.model_copy(update={"servers": record.servers | servers})
    folder = synthetic.write_run(tmp_path_factory.mktemp("run"), record)
    run = read_run(folder)
    return run, analyse(run)


def test_the_terminal_tells_two_versions_of_one_server_apart_and_says_where_each_is_documented(
    two_versions: tuple[Run, Analysis],
) -> None:
    shown = " ".join(terminal.printed(summary(Report(*two_versions))).split())
    assert "Apache HTTP Server 1.3.42, t2.micro" in shown
    assert f"Apache HTTP Server 2.4.68, t2.micro {NEW}" in shown
    assert OLD in shown
    # What was not found has no version.
    assert shown.count("https://") == 3


def test_page_and_markdown_tell_two_versions_of_one_server_apart(two_versions: tuple[Run, Analysis]) -> None:
    run, analysis = two_versions
    markdown = markdown_bytes(Report(run, analysis)).decode()
    assert f"- nginx: Apache HTTP Server 2.4.68, t2.micro ([documentation]({NEW}))" in markdown
    assert "- apache: Apache HTTP Server 1.3.42, t2.micro, 1 CPU, 1 GiB, 30 CPU credits" in markdown
    assert f"([documentation]({OLD}))" in markdown
    page = render_page(Report(run, analysis))
    for version, address in (("1.3.42", OLD), ("2.4.68", NEW)):
        assert f"<dd>{version}</dd>" in page
        assert f'<a href="{address}"' in page
    assert page.count("<dt>limited to</dt>") == 1
    assert "<dt>limited to</dt><dd>t2.micro, 1 CPU, 1 GiB" in page
    assert "<dt>machine</dt><dd>web</dd>\n<dt>machine type</dt><dd>t2.micro</dd>" in page
    assert {name: analysis.run.servers[name].version for name in ("apache", "nginx")} == {
        "apache": "1.3.42",
        "nginx": "2.4.68",
    }
