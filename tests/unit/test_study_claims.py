"""Files of claims: what a study can say that its authors concluded, and what is refused."""

from pathlib import Path

import pytest

from loadcurve.study.claims import claims_of
from support.good_study import GOOD, write
from support.read_study import problems_of, read_study

WITH_CLAIMS = f'claims = "claims.toml"\n{GOOD}'
CLAIM = '[[claims]]\ntext = "It rises."\n'


def problems_with(folder: Path, claims: str) -> list[str]:
    (folder / "claims.toml").write_text(claims, encoding="utf-8")
    study = write(folder, WITH_CLAIMS)
    return [line.removeprefix(str(folder / "claims.toml")) for line in problems_of(study)]


def test_claims_of_every_kind_are_read_and_a_record_holds_them_all(tmp_path):
    (tmp_path / "claims.toml").write_text(
        f"""\
{CLAIM}kind = "peak"
server = "nginx"
near = 5
{CLAIM}kind = "ratio"
servers = ["nginx", "other"]
is = 1.3
within = "20 %"
from = 10
{CLAIM}kind = "greater"
servers = ["nginx", "other"]
measure = "p90"
to = 1
{CLAIM}kind = "alike"
servers = ["nginx", "other"]
{CLAIM}kind = "falls"
servers = ["nginx"]
over = "connections"
{CLAIM}kind = "cheapest"
server = "nginx"
limits = "p90 < 200ms"
up_to = 6
{CLAIM}kind = "best_value"
server = "nginx"
from = 10
""",
        encoding="utf-8",
    )
    study = read_study(write(tmp_path, WITH_CLAIMS))
    assert study.claims is not None
    kinds = [claim.kind for claim in study.claims.claims]
    assert kinds == ["peak", "ratio", "greater", "alike", "falls", "cheapest", "best_value"]
    assert claims_of(study.model_dump(mode="json")) == study.claims.claims


@pytest.mark.parametrize(
    ("claim", "problem"),
    [
        (
            'kind = "alike"\nservers = ["nginx", "othr"]\n',
            ':4: claims.servers: found "othr"; expected a server of the study; did you mean "other"?',
        ),
        (
            'kind = "peak"\nserver = "ngin"\nnear = 5\n',
            ':4: claims.server: found "ngin"; expected a server of the study; did you mean "nginx"?',
        ),
        (
            'kind = "falls"\nservers = ["nginx"]\nover = "conections"\n',
            (
                ':5: claims.over: found "conections"; expected a key of [sweep]: connections; '
                'did you mean "connections"?'
            ),
        ),
        (
            'kind = "peak"\nserver = "nginx"\nnear = 5000\n',
            (
                ":5: claims.near: found 5000; expected a load within the sweep, from 1 to 10: beyond it "
                "nothing is measured. The nearest value is 10"
            ),
        ),
        (
            'kind = "cheapest"\nserver = "nginx"\nlimits = "p90 < 2ms"\nup_to = 12\n',
            (
                ":6: claims.up_to: found 12; expected a load within the sweep, from 1 to 10: beyond it "
                "nothing is measured. The nearest value is 10"
            ),
        ),
        (
            'kind = "rises"\nservers = ["nginx"]\nfrom = 5\n',
            ":1: claims: fewer than two values of the sweep, 1, 10, lie between from and to",
        ),
        (
            'kind = "greater"\nservers = ["nginx", "other"]\nfrom = 2\nto = 9\n',
            ":1: claims: none of the values of the sweep, 1, 10, lie between from and to",
        ),
        (
            'kind = "cheapest"\nserver = "nginx"\nlimits = "p91 < 2ms"\nup_to = 5\n',
            (
                ':5: claims.limits: "p91 < 2ms": "p91" cannot be limited; expected one of mean, p50, p75, '
                "p90, p95, p99, p99.9, p99.99, max, errors, rate, first_event_p50, first_event_p99, "
                "event_gap_p50, event_gap_p99, delivery_p50, delivery_p99, events_delivered_share, reach; "
                'did you mean "p99"?'
            ),
        ),
    ],
)
def test_a_claim_that_does_not_fit_its_study_is_refused_at_its_line(tmp_path, claim, problem):
    assert problems_with(tmp_path, CLAIM + claim) == [problem]


def test_an_unknown_measure_or_kind_is_refused_with_those_that_are_known(tmp_path):
    (problem,) = problems_with(
        tmp_path, f'{CLAIM}kind = "rises"\nservers = ["nginx"]\nmeasure = "throughputt"\n'
    )
    assert problem.startswith(":5: claims.measure: ")
    assert 'did you mean "throughput"' in problem
    (problem,) = problems_with(tmp_path, f'{CLAIM}kind = "rise"\nservers = ["nginx"]\n')
    assert problem.startswith(":3: claims.kind: ")
    assert 'did you mean "rises"' in problem


def test_of_several_keys_that_are_swept_a_claim_names_one(tmp_path):
    (tmp_path / "claims.toml").write_text(f'{CLAIM}kind = "rises"\nservers = ["nginx"]\n', encoding="utf-8")
    two = WITH_CLAIMS.replace("connections = [1, 10]", "connections = [1, 10]\npipeline = [1, 2]")
    (problem,) = problems_of(write(tmp_path, two))
    assert problem.endswith(
        ':1: claims: expected "over", one of connections, pipeline: several keys are swept'
    )
