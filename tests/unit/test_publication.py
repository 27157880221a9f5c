"""Published results: every trial in SI units, nothing private, and no byte that anybody has changed."""

import json
import math
import random
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from loadcurve.analysis.curves import Curve, CurvePoint, Figure, Requests
from loadcurve.analysis.private_facts import private_facts, without_private_facts
from loadcurve.analysis.publication import Publication, published_run, rankings_of
from loadcurve.analysis.published_check import problems_of
from loadcurve.analysis.published_figures import estimates_of_trials, published_points
from loadcurve.cli.publish import check_command, pages_command, publish_command
from loadcurve.errors import BadInput
from loadcurve.report.site.build import build_site
from loadcurve.result.checksum import sealed, unsealed
from loadcurve.result.measures import MEASURES
from loadcurve.result.publication import (
    PublishedFigure,
    PublishedMeasure,
    PublishedPoint,
    PublishedRun,
    PublishedWork,
    files_of,
    publish_run,
    read_published,
    slug,
)
from loadcurve.result.run_files import RUN_FILE
from loadcurve.result.site_index import read_index
from loadcurve.server.catalog import load_catalog
from loadcurve.stats.interval import geometric_interval
from support import schemas
from support import synthetic_run as synthetic
from support.command import Command
from support.published_points import at


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> PublishedRun:
    """The synthetic run as it is published."""
    synthetic.write_run(folder := tmp_path_factory.mktemp("published") / "run")
    return published_run(folder, Publication())


def republished(run: PublishedRun, /, **changed: Any) -> PublishedRun:
    """A run with other facts."""
    return PublishedRun.model_validate(run.model_dump() | changed)


def test_figures_are_those_of_the_run_in_seconds_and_bytes(published: PublishedRun):
    truth, figures = synthetic.SERVERS["nginx"], at(published, "nginx", 50).figures
    assert figures["throughput_rps"].value == pytest.approx(truth.throughput_rps(50), rel=1e-5)
    assert figures["throughput_rps"].high == pytest.approx(
        truth.throughput_rps(50) * synthetic.REACH, rel=1e-5
    )
    assert figures["server_cpu_per_request_s"].value == pytest.approx(20e-6, rel=1e-5)
    assert figures["server_memory_mean_bytes"].value == pytest.approx(truth.memory_bytes(50), rel=1e-5)
    assert len(figures["latency_p99_s"].values) == len(synthetic.TRIAL_FACTORS)
    assert {one.unit for one in published.measures} == {"1/s", "s", "bytes", ""}


def test_an_invalid_point_says_why_and_a_missing_server_is_in_no_ranking(published: PublishedRun):
    assert at(published, "tiny", 100).verdicts.count("invalid") == 1
    assert {one.server: one.reason for one in published.unranked}[
        "absent"
    ] == "it was not found on the machine"
    ranked = {one.server for ranking in published.rankings for one in ranking.ranks}
    assert ranked == {"nginx", "apache", "tiny"}


def test_a_published_file_is_valid_by_its_schema_and_reads_back_as_it_was(
    published: PublishedRun, tmp_path: Path
):
    assert publish_run(tmp_path, published) == "published"
    assert publish_run(tmp_path, published) == "already there"
    (file,) = files_of(tmp_path)
    assert file.place == published.place
    schemas.validate(json.loads((tmp_path / file.place).read_text()), "published")
    assert read_published(tmp_path, file.place) == published


def test_any_changed_byte_is_refused(published: PublishedRun, tmp_path: Path):
    publish_run(tmp_path, published)
    path = tmp_path / published.place
    whole = path.read_bytes()
    for place in random.Random(5).sample(range(len(whole) - 1), 40):
        changed = bytearray(whole)
        changed[place] ^= 1
        path.write_bytes(changed)
        with pytest.raises(BadInput):
            read_published(tmp_path, published.place)


def test_a_result_is_never_changed_and_keeps_its_name(published: PublishedRun, tmp_path: Path):
    publish_run(tmp_path, published)
    with pytest.raises(BadInput, match="A published result is never changed"):
        publish_run(tmp_path, republished(published, title="another title"))
    other = Path(published.place).with_name("elsewhere.json").as_posix()
    shutil.copy(tmp_path / published.place, tmp_path / other)
    with pytest.raises(BadInput, match="keeps its name"):
        read_published(tmp_path, other)


def test_a_newer_format_is_named_as_one(published: PublishedRun, tmp_path: Path):
    publish_run(tmp_path, published)
    path = tmp_path / published.place
    content = unsealed(path.read_bytes()).content.decode()
    path.write_bytes(sealed(content.replace("loadcurve-published/1", "loadcurve-published/2")))
    with pytest.raises(BadInput, match="a newer one"):
        read_published(tmp_path, published.place)


def test_rankings_that_are_not_those_of_the_figures_are_found(published: PublishedRun):
    assert list(problems_of(published)) == []
    ranking = published.rankings[0]
    turned = ranking.model_copy(update={"ranks": list(reversed(ranking.ranks))})
    forged = published.model_copy(update={"rankings": [turned, *published.rankings[1:]]})
    assert list(problems_of(forged)) == ["its rankings are not those of its own figures"]


FIGURES_OF_LIARS = {"value": 99_999.0, "low": 41_000.0, "high": None, "n": 7}


@pytest.mark.parametrize("name", FIGURES_OF_LIARS)
def test_a_figure_that_its_trials_do_not_give_is_found_although_the_file_was_sealed_anew(
    published: PublishedRun, name: str, tmp_path: Path
):
    place = published.points.index(at(published, "nginx", 50))
    points = [one.model_dump() for one in published.points]
    points[place]["figures"]["throughput_rps"][name] = FIGURES_OF_LIARS[name]
    forged = republished(published, points=points)
    [problem] = problems_of(forged)
    assert f"nginx at connections = 50: throughput_rps: {name} is" in problem
    publish_run(tmp_path, forged)
    with pytest.raises(BadInput, match="throughput_rps"):
        check_command(tmp_path)


def test_a_trial_that_was_made_faster_is_found_by_the_mean_that_stayed(published: PublishedRun):
    place = published.points.index(at(published, "nginx", 50))
    points = [one.model_dump() for one in published.points]
    points[place]["figures"]["latency_p99_s"]["values"][0] *= 1.001
    found = list(problems_of(republished(published, points=points)))
    assert any("nginx at connections = 50: latency_p99_s: value is" in words for words in found)


@pytest.mark.parametrize(
    ("steady", "high_s"),
    [
        # The spread is kept, so that it borrows from the other server's.
        ((1.4418469518, 1.4418543286), 0.0014501),
        # The spread is lost, so that nothing is borrowed; as measured it would have been, to 1.4502 ms.
        ((1.44185000011, 1.44185000012), 0.00144185),
    ],
)
def test_an_interval_is_that_of_the_trials_as_they_are_rounded(steady: tuple[float, float], high_s: float):
    curves = [at_one_point("steady", steady), at_one_point("other", (4.5357468325, 3.5418056473))]
    points = published_points(curves, [MEASURES["p99"]])
    assert points[0].figures["latency_p99_s"].high == high_s
    for place, name, found in estimates_of_trials(points):
        figure = points[place].figures[name]
        assert found is not None
        assert (figure.low, figure.high) == pytest.approx((found.low, found.high), rel=5e-6)


def at_one_point(server: str, latency_p99_ms: Sequence[float]) -> Curve:
    """A server with the 99th percentiles of its trials at one point."""
    n = len(latency_p99_ms)
    figure = Figure(geometric_interval(latency_p99_ms), list(latency_p99_ms))
    figures = {MEASURES["p99"].column: figure}
    trials = list(range(n))
    at = CurvePoint(
        {"connections": 1.0}, trials, trials, ["valid"] * n, Requests([1] * n, [0] * n, [0] * n), figures
    )
    return Curve(server, [at])


def test_a_verdict_that_was_made_valid_is_found_by_the_number_of_trials(published: PublishedRun):
    place = published.points.index(at(published, "tiny", 100))
    points = [one.model_dump() for one in published.points]
    points[place]["verdicts"] = ["valid"] * 3
    found = list(problems_of(republished(published, points=points)))
    said = "tiny at connections = 100: throughput_rps: n is 2, and the usable trials in the file are 3"
    assert any(said in words for words in found)


def test_the_check_names_every_file_that_is_wrong(
    published: PublishedRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    publish_run(tmp_path, published)
    check_command(tmp_path)
    assert "1 published result: all in order" in capsys.readouterr().out
    private = republished(published, title="measured on 10.20.30.40", run="b" * 64)
    publish_run(tmp_path, private)
    with pytest.raises(BadInput, match=r"title has an address, 10\.20\.30\.40"):
        check_command(tmp_path)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("started in /home/alice/work/app", "started in {path}"),
        ("GET http://db1.corp.internal:8080/x?y=1", "GET http://{address}/x?y=1"),
        ("GET http://127.0.0.1:8080/x", "GET http://127.0.0.1:8080/x"),
        ("listen 0.0.0.0:80 and [::1]:80", "listen 0.0.0.0:80 and [::1]:80"),
        ("peer 192.168.7.9 answered", "peer {address} answered"),
        ("peer 2001:db8::17 answered", "peer {address} answered"),
        ("ssh deploy@build7.example.org", "ssh {login}"),
        ("nginx 1.22.1, OpenSSL 3.0.11", "nginx 1.22.1, OpenSSL 3.0.11"),
        ("at 12:30:05, 4.5 MiB/s", "at 12:30:05, 4.5 MiB/s"),
        ("host buildbox7 was busy", "host {name} was busy"),
        ("root and localhost stay", "root and localhost stay"),
        ("express@4.18.2 on node", "express@4.18.2 on node"),
    ],
)
def test_what_says_whose_machine_it_was_is_left_out(text: str, shown: str):
    assert without_private_facts(text, ["buildbox7", "root"]) == shown
    assert bool(list(private_facts(text, ["buildbox7"]))) == (text != shown)
    assert list(private_facts(shown, ["buildbox7"])) == []


def test_addresses_of_documentation_in_the_catalogue_stay_and_others_do_not(tmp_path: Path):
    synthetic.write_run(folder := tmp_path / "run")
    written = folder / RUN_FILE
    record = json.loads(written.read_text())
    known = load_catalog()["nginx"].description.documentation
    record["servers"]["nginx"]["documentation"] = known
    written.write_text(json.dumps(record))
    publish_command([folder], tmp_path / "site", Publication())
    [file] = files_of(tmp_path / "site")
    run = read_published(tmp_path / "site", file.place)
    shown = {one.name: one.documentation for one in run.servers}
    assert shown["nginx"] == known
    # The synthetic one is https://example.org/apache, which no entry has.
    assert shown["apache"] == "https://{address}/apache"
    check_command(tmp_path / "site")


def test_paths_of_requests_are_no_folders():
    load = {"requests": [{"path": "/home/index.html"}], "ca": "/home/alice/ca.pem"}
    assert without_private_facts(load) == {"requests": [{"path": "/home/index.html"}], "ca": "{path}"}


def test_a_study_that_names_a_folder_is_published_by_its_digest_alone(tmp_path: Path):
    texts = synthetic.Texts(title="of /home/alice/bench")
    synthetic.write_run(tmp_path / "run", texts=texts)
    run = published_run(tmp_path / "run", Publication())
    assert (run.study, run.title) == (None, "of {path}")
    kept = published_run(tmp_path / "run", Publication(private=True))
    assert kept.title == texts.title
    assert kept.study is not None


def test_private_facts_that_were_kept_on_purpose_are_accepted_and_named_by_the_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    texts = synthetic.Texts(title="of /home/alice/bench")
    synthetic.write_run(tmp_path / "run", texts=texts)
    publish_command([tmp_path / "run"], site := tmp_path / "site", Publication(private=True))
    capsys.readouterr()
    check_command(site)
    said = capsys.readouterr()
    [file] = files_of(site)
    assert "1 published result: all in order" in said.out
    assert f"{site / file.place} has private facts, which were kept on purpose" in said.err


def test_private_texts_that_nobody_declared_are_refused_with_an_option_that_there_is(tmp_path: Path):
    texts = synthetic.Texts(title="of /home/alice/bench")
    synthetic.write_run(tmp_path / "run", texts=texts)
    kept = published_run(tmp_path / "run", Publication(private=True))
    found = list(problems_of(republished(kept, private_facts=False)))
    assert found
    for words in found:
        assert set(re.findall(r"--[a-z-]+", words)) == {"--private-facts"}


def test_a_file_without_private_facts_does_not_speak_of_them(published: PublishedRun):
    assert "private_facts" not in published.model_dump_json()


def test_a_run_without_verdicts_is_refused(tmp_path: Path):
    synthetic.write_run(tmp_path / "run")
    record = json.loads((tmp_path / "run" / RUN_FILE).read_text())
    record.pop("sha256", None)
    record["imported"] = {"command": ["loadcurve", "import", "x"], "at": "2026-03-14T09:26:53Z", "files": []}
    (tmp_path / "run" / RUN_FILE).write_text(json.dumps(record))
    with pytest.raises(BadInput, match="no verdicts"):
        published_run(tmp_path / "run", Publication())


def test_the_same_runs_in_any_order_give_the_same_bytes(published: PublishedRun, tmp_path: Path):
    runs = [republished(published, run=f"{number:064x}", started_at=f"2026-03-{14 + number}T09:00:00Z")
            for number in range(3)]  # fmt: skip
    for site, order in ((tmp_path / "a", (0, 1, 2)), (tmp_path / "b", (2, 0, 1))):
        for number in order:
            publish_run(site, runs[number])
            build_site(site)
    found = [
        {path.relative_to(site): path.read_bytes() for path in site.rglob("*") if path.is_file()}
        for site in (tmp_path / "a", tmp_path / "b")
    ]
    assert found[0] == found[1]


def test_one_more_run_writes_no_page_that_says_nothing_of_it(published: PublishedRun, tmp_path: Path):
    publish_run(tmp_path, published)
    build_site(tmp_path)
    assert build_site(tmp_path).written == 0
    publish_run(tmp_path, republished(published, run="c" * 64, subject="another"))
    # The front page, that of the run, its study, its four servers and its machine.
    assert build_site(tmp_path).written == 8


def test_an_index_that_says_something_else_than_its_file_is_not_believed(
    published: PublishedRun, tmp_path: Path
):
    publish_run(tmp_path, published)
    build_site(tmp_path)
    path = tmp_path / "index.json"
    index = json.loads(unsealed(path.read_bytes()).content)
    index["runs"][0] |= {"title": "a lie", "sha256": "d" * 64}
    path.write_bytes(sealed(json.dumps(index)))
    build_site(tmp_path)
    assert next(iter(read_index(tmp_path).values())).title == published.title


def test_texts_of_a_stranger_are_escaped_on_every_page(published: PublishedRun, tmp_path: Path):
    text = "<img src=x onerror=alert(1)>"
    servers = [one.model_dump() | {"title": text, "version": text} for one in published.servers]
    publish_run(tmp_path, republished(published, title=text, question=text, servers=servers))
    build_site(tmp_path)
    pages = [path.read_text() for path in tmp_path.rglob("*.html")]
    assert len(pages) > 5
    assert not [page for page in pages if "<img" in page]


def test_links_of_the_site_lead_to_its_own_files(published: PublishedRun, tmp_path: Path):
    publish_run(tmp_path, published)
    build_site(tmp_path)
    broken = [
        (page, link)
        for page in tmp_path.rglob("*.html")
        for link in re.findall(r'href="([^"]+)"', page.read_text())
        if not (page.parent / link).is_file()
    ]
    assert broken == []


def test_a_page_says_how_noisy_its_machine_is_and_where_that_was_not_measured(
    published: PublishedRun, tmp_path: Path
):
    measured = republished(published, noise=0.041, run="d" * 64)
    for run in (published, measured):
        publish_run(tmp_path, run)
    build_site(tmp_path)
    texts = [(tmp_path / run.place).with_suffix(".html").read_text() for run in (published, measured)]
    assert "Noise of the machine: not measured" in texts[0]
    assert "the throughput of one is at most 4.1 % above the other's in 95 of 100 pairs" in texts[1]


def test_a_machine_under_whose_name_runs_have_other_fingerprints_says_so(
    published: PublishedRun, tmp_path: Path
):
    slug_of = published.machine.slug
    for number, fingerprint in enumerate(("a" * 64, "b" * 64, "b" * 64)):
        machine = published.machine.model_copy(update={"fingerprint": fingerprint})
        publish_run(tmp_path, republished(published, machine=machine.model_dump(), run=f"{number:x}" * 64))
    build_site(tmp_path)
    page = tmp_path / "machines" / f"{slug_of}.html"
    assert "Runs under this name have 2 fingerprints" in page.read_text()
    assert page.read_text().count(f"<code>{'b' * 16}</code>") == 3
    publish_run(tmp_path / "one", published)
    build_site(tmp_path / "one")
    assert "Runs under this name" not in (tmp_path / "one" / "machines" / page.name).read_text()


def test_the_front_page_links_the_index(published: PublishedRun, tmp_path: Path):
    publish_run(tmp_path, published)
    build_site(tmp_path)
    assert 'href="index.json"' in (tmp_path / "index.html").read_text()


def test_pages_alone_are_built_of_what_is_there(
    published: PublishedRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    publish_run(tmp_path, published)
    pages_command(tmp_path)
    assert capsys.readouterr().out.split() == [str(tmp_path / "index.html")]
    assert (tmp_path / published.place).with_suffix(".html").is_file()


@pytest.mark.parametrize(
    "words", [[], ["--check", "--pages"], ["run", "--pages"], ["--pages", "--machine", "x"]]
)
def test_what_publishing_is_to_do_is_said_in_one_way(words: list[str], tmp_path: Path):
    assert Command(tmp_path).run("publish", *words, "--to", "site").returncode == 2


def test_publishing_prints_each_result_and_the_front_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    synthetic.write_run(tmp_path / "run")
    publish_command([tmp_path / "run"], tmp_path / "site", Publication(machine="Box 7"))
    result, front = capsys.readouterr().out.split()
    assert Path(result).name.startswith("box-7-")
    assert (Path(result).is_file(), Path(front).is_file()) == (True, True)


@pytest.mark.parametrize(
    ("text", "shown"),
    [("Apache, event MPM", "apache-event-mpm"), ("../../etc", "etc"), ("…", "unnamed"), ("A" * 99, "a" * 64)],
)
def test_a_name_in_a_path_is_plain(text: str, shown: str):
    assert slug(text) == shown


PUBLISHED_MEASURES = [
    PublishedMeasure(name=name, title=name, unit="s", better=better)
    for name, better in (
        ("throughput_rps", "higher"),
        ("latency_p50_s", "lower"),
        ("latency_p99_s", "lower"),
        ("server_cpu_per_request_s", "lower"),
        ("server_memory_mean_bytes", "lower"),
    )
]


ALL = PublishedWork(options={}, servers=list("abcdef"))


def simulated_points(source: np.random.Generator, ratio: float = 1.0) -> list[PublishedPoint]:
    """Six servers at two points in four blocks, which share what their block was like; ``a`` differs."""
    blocks, servers, points = 4, 6, 2
    of_block = source.normal(0, 0.1, (len(PUBLISHED_MEASURES), 1, points, blocks))
    values = np.exp(of_block + source.normal(0, 0.03, (len(PUBLISHED_MEASURES), servers, points, blocks)))
    values[:, 0] *= ratio
    return [
        PublishedPoint(
            server="abcdef"[server], point={"connections": point + 1.0}, blocks=list(range(blocks)),
            verdicts=["valid"] * blocks, reason=None,
            figures={
                measure.name: PublishedFigure(
                    values=values[place, server, point].tolist(), value=1.0, low=None, high=None, n=blocks
                )
                for place, measure in enumerate(PUBLISHED_MEASURES)
            },
        )
        for server in range(servers)
        for point in range(points)
    ]  # fmt: skip


def test_equal_servers_are_told_apart_in_at_most_5_percent_of_pages():
    source, pages = np.random.default_rng(20261128), 200
    split = sum(
        any(
            len(ranking.groups) > 1
            for ranking in rankings_of(simulated_points(source), PUBLISHED_MEASURES, [ALL], ())
        )
        for _ in range(pages)
    )
    # Three standard errors of a binomial share above the rate that is claimed.
    assert split / pages <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / pages)


def test_servers_that_were_asked_for_different_things_are_ranked_apart():
    works = [PublishedWork(options={"workload": name}, servers=list(name)) for name in ("abc", "def")]
    points = simulated_points(np.random.default_rng(7), 1.5)
    found = list(rankings_of(points, PUBLISHED_MEASURES, works, unranked={"f"}))
    assert len(found) == 2 * len(PUBLISHED_MEASURES)
    ranked = [{one.server for one in ranking.ranks} for ranking in found if ranking.work == 1]
    assert ranked == [{"d", "e"}] * len(PUBLISHED_MEASURES)


def test_a_server_that_is_faster_by_half_is_the_first_by_throughput():
    found = list(rankings_of(simulated_points(np.random.default_rng(7), 1.5), PUBLISHED_MEASURES, [ALL], ()))
    first = found[0].ranks[0]
    assert (first.server, first.best, first.worst) == ("a", 1, 1)


def test_servers_that_keep_a_rate_are_not_told_apart_by_how_exactly_they_do():
    """Of 1,000/s one answers 1,001 in each trial, and one 980: the verdicts' limit is 1 %."""
    answered = {"a": 1_001.0, "b": 1_000.0, "c": 980.0}
    points = [
        one.model_copy(
            update={
                "point": {"rate": 1000.0},
                "figures": {
                    "throughput_rps": one.figures["throughput_rps"].model_copy(
                        update={"values": [answered[one.server] + 0.001 * trial for trial in range(4)]}
                    )
                },
            }
        )
        for one in simulated_points(np.random.default_rng(7))
        if one.server in answered
    ]
    first = {one.server: one for one in reversed(points)}
    works = [PublishedWork(options={}, servers=list(answered))]
    [found] = rankings_of(list(first.values()), PUBLISHED_MEASURES, works, ())
    assert [(one.server, one.best, one.worst) for one in found.ranks] == [
        ("a", 1, 2),
        ("b", 1, 2),
        ("c", 3, 3),
    ]
