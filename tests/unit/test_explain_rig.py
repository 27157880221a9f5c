"""The generator as the limit of what could be measured."""

import pytest

from support.explained_run import Data, division, doubt, evidence, found


def test_a_saturated_generator_is_the_limit_with_its_share_of_the_cpu():
    def plant(record: Data, trial: int, connections: float) -> None:
        if connections == 100:
            doubt(record, "generator_saturated")
            record["load"]["generator"] |= {"cpu_user_s": 0.9, "cpu_system_s": 1.05}

    [finding] = found(plant).values()
    assert (finding.code, finding.weight, finding.certainty) == ("rig_limit", "invalidates", "likely")
    # 1.95 s of a window of 2 s.
    assert evidence(finding)["CPU of each of the generator's threads"] == pytest.approx(0.975)


def test_a_generator_that_was_late_is_shown_by_its_lateness():
    def plant(record: Data, trial: int, connections: float) -> None:
        if trial == 2 and connections == 5:
            doubt(record, "generator_late")
            record["load"]["generator"]["lateness_ms"] = {"p50": 0.1, "p99": 4, "p99_9": 5, "max": 6}

    [finding] = found(plant).values()
    assert (finding.code, finding.certainty, finding.trials) == ("rig_limit", "shown", [2])
    assert evidence(finding)["lateness of the generator, p99"] == 4
    # It answered what was asked of it: its throughput is not that of the rig.
    assert finding.cause.startswith("The generator's own delays are in these latencies")
    assert finding.briefly == (
        "these figures are those of the rig, because the generator sent requests late although a connection "
        "was free"
    )


def test_a_generator_whose_cpus_others_took_is_not_shown_to_be_at_its_limit():
    def plant(record: Data, trial: int, connections: float) -> None:
        doubt(record, "generator_late")
        record["load"]["generator"]["lateness_ms"] = {"p50": 0.1, "p99": 4, "p99_9": 5, "max": 6}
        record["load"]["generator"]["cpu_time"] = division(0.75, "yes")

    finding = found(plant)["rig_limit"]
    assert (finding.certainty, finding.briefly) == ("likely", None)
    assert finding.cause.startswith("Other programs took up to 75 % of the time of the load's CPUs")


def test_a_limit_of_which_no_figure_is_known_stays_with_the_verdict_alone():
    def plant(record: Data, trial: int, connections: float) -> None:
        doubt(record, "generator_saturated")
        record["load"]["duration_s"] = 0.0
        record["load"]["rate_rps"]["answered"] = None

    assert found(plant) == {}
