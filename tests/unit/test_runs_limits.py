"""What a study's keys hold a server to, its CPU credits above all."""

from typing import Any

import pytest

from loadcurve.errors import BadInput
from loadcurve.host.credits import Burst
from loadcurve.host.machines import machine_table
from loadcurve.result.records import LimitsRecord
from loadcurve.runs.limits import limits_of, limits_record, machine_record
from loadcurve.server.settings import UnusableSetting
from loadcurve.study.model import Study
from loadcurve.study.tables import Host, StudyServer
from loadcurve.toml.document import TomlDocument

MICRO = Burst(credits=30, baseline_cpus=0.1, max_earned=144, credit_cpu_s=60)


def server(**keys: Any) -> StudyServer:
    return StudyServer.model_validate({"use": "nginx", **keys})


def burst_of(asked: StudyServer, host: Host | None = None) -> Burst | None:
    return limits_of(asked, host or Host()).burst


BURST = Host(burst=True)


@pytest.mark.parametrize("name", [name for name, one in machine_table().machines.items() if one.credits])
def test_published_credits_agree_with_the_arithmetic_that_is_published_with_them(name: str) -> None:
    machine = machine_table().machine(name)
    assert machine.credits is not None
    # AWS: earned per hour = baseline x vCPUs x 60 minutes; accrued at most what 24 hours earn.
    assert machine.credits.per_hour == pytest.approx(machine.credits.baseline_share * machine.vcpus * 60)
    assert machine.credits.max_earned == 24 * machine.credits.per_hour
    assert machine.credits.at_launch == (30 * machine.vcpus if name.startswith("t2.") else 0)


def test_credits_are_imitated_only_when_the_study_asks_for_them() -> None:
    micro = server(machine="t2.micro")
    assert burst_of(micro) is None
    assert burst_of(micro, BURST) == MICRO
    assert burst_of(server(machine="t2.micro", burst=True)) == MICRO
    assert burst_of(server(machine="t2.micro", burst=False), BURST) is None
    assert burst_of(server(limits={"cpus": 1}), BURST) is None
    assert burst_of(server(machine="m4.large"), BURST) is None


def test_a_type_that_goes_on_at_full_speed_by_default_has_credits_only_when_its_own_table_says_so() -> None:
    assert burst_of(server(machine="t3.large"), BURST) is None
    burst = burst_of(server(machine="t3.large", burst=True))
    assert burst is not None
    assert (burst.credits, burst.baseline_cpus, burst.max_earned) == (0, pytest.approx(0.6), 864)


def test_a_quarter_of_a_cpu_for_each_vcpu_has_a_quarter_of_everything() -> None:
    asked = server(machine="t2.micro", burst={"credits": 0.5})
    assert burst_of(asked, Host(cpus_per_vcpu=0.25)) == Burst(0.5, 0.025, 144, credit_cpu_s=15)


def test_another_baseline_earns_in_proportion() -> None:
    asked = server(machine="t2.micro", burst={"baseline": "20 %"})
    assert burst_of(asked) == Burst(30, 0.2, 288, credit_cpu_s=60)


def test_credits_of_limits_are_minutes_of_one_cpu() -> None:
    asked = server(limits={"cpus": 0.5, "burst": {"credits": 2, "baseline": "10 %"}})
    # 0.05 CPUs earn 3 credits in an hour, and 72 in a day.
    assert burst_of(asked) == Burst(2, 0.05, 72, credit_cpu_s=60)
    record = limits_record(asked, Host())
    assert record is not None
    assert record.model_dump() == {
        "cpus": 0.5,
        "memory_bytes": None,
        "burst": {"credits": 2, "baseline_share": 0.1, "restarted": True},
        "period_ms": 100.0,
    }


def test_a_machine_type_without_credits_and_a_container_are_refused() -> None:
    with pytest.raises(UnusableSetting, match=r"m4\.large has no CPU credits"):
        limits_of(server(machine="m4.large", burst=True), Host())
    with pytest.raises(UnusableSetting, match="only outside containers"):
        limits_of(server(machine="t2.micro", engine="podman"), BURST)


def test_the_record_of_a_machine_type_says_that_it_is_burstable() -> None:
    assert machine_record("t2.micro").burstable
    assert not machine_record("m4.large").burstable


HEAD = """\
title = "A title"
[content]
"a" = "1KiB"
[load]
model = "closed"
requests = ["/a"]
[sweep]
connections = [1]
[servers.nginx]
"""


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ("burst = true", 'servers.nginx.burst: requires a machine type, such as machine = "t2.micro"'),
        ("[host]\nburst = true", "host.burst: requires a machine type"),
        ("[host]\ncpus_per_vcpu = 0.25", "host.cpus_per_vcpu: requires a machine type"),
        ('machine = "t2.micro"\nburst = 3', "servers.nginx.burst: found 3; expected true, false or a table"),
        (
            'machine = "t2.micro"\nburst = { credits = -1 }',
            "servers.nginx.burst.credits: found -1; expected a",
        ),
        (
            "limits = { cpus = 1, burst = { credits = 3 } }",
            "limits.burst.baseline: missing; without a machine",
        ),
        ('limits = { cpus = 1, burst = { baseline = "10 %" } }', "limits.burst.credits: missing; without"),
        ('limits = { burst = { credits = 1, baseline = "10 %" } }', "limits.burst: requires cpus"),
        (
            'limits = { cpus = 1, burst = { credits = 1, baseline = "100 %" } }',
            'limits.burst.baseline: found "100 %"; expected',
        ),
    ],
)
def test_credits_that_do_not_fit_are_refused_at_their_line(keys: str, problem: str, tmp_path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(HEAD + keys)
    with pytest.raises(BadInput) as refusal:
        TomlDocument.read(file).to_model(Study)
    assert problem in str(refusal.value)
    assert "study.toml:1" in str(refusal.value)


def test_a_limit_of_an_older_run_had_the_kernels_period_and_none_without_cpus() -> None:
    assert LimitsRecord.model_validate({"cpus": 0.5, "memory_bytes": None}).period_ms == 100
    record = limits_record(server(limits={"memory": "64MiB"}), Host())
    assert record is not None
    assert record.period_ms is None


def test_a_machine_type_has_a_shorter_period_which_is_recorded() -> None:
    record = limits_record(server(machine="t2.micro"), Host(cpus_per_vcpu=0.25))
    assert record is not None
    assert (record.cpus, record.period_ms) == (0.25, 10)
