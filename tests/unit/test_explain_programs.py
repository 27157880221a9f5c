"""Several programs that share the server's processor time."""

import pytest

from support.explained_run import Data, found


def plant_programs(**cpu_shares: float):
    def plant(record: Data, _trial: int, _connections: float) -> None:
        record["probe"]["server"]["programs"] = [
            {"name": name, "cpu_share": share, "cpu_per_request_us": 1000 * share}
            for name, share in cpu_shares.items()
        ]

    return plant


def test_programs_that_share_the_processor_time_are_named_with_their_parts():
    [finding] = found(plant_programs(postgres=0.2, node=0.6)).values()
    assert (finding.code, finding.weight) == ("programs_shared", "explains")
    assert finding.seen == "On average the server's CPU time was used by node (75 %) and postgres (25 %)."
    assert [(one.name, one.unit) for one in finding.evidence] == [
        ("share of node", "%"),
        ("CPU time of node per answer", "µs"),
        ("share of postgres", "%"),
        ("CPU time of postgres per answer", "µs"),
    ]
    assert [one.value for one in finding.evidence] == pytest.approx([75, 600, 25, 200])
    assert "node" in finding.advice


def test_a_helper_that_hardly_works_shares_nothing():
    assert found(plant_programs(node=0.6, helper=0.01)) == {}


def test_one_program_alone_shares_nothing():
    assert found(plant_programs(nginx=0.6)) == {}


def test_programs_that_have_used_nothing_share_nothing():
    assert found(plant_programs(node=0.0, postgres=0.0)) == {}
