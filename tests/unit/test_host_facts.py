"""What a run says of the machine."""

import json
import os
import platform
from pathlib import Path

from loadcurve.host.facts import host_facts
from loadcurve.host.readings import Readings


def write(root: Path, path: str, text: str) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text + "\n")


def test_facts_are_read_from_where_the_kernel_tells_them(tmp_path: Path) -> None:
    write(tmp_path, "proc/cpuinfo", "processor : 0\nmodel name : Example 3000\nflags : fpu hypervisor")
    for cpu, core in ((0, 0), (1, 0), (10, 5)):
        write(tmp_path, f"sys/devices/system/cpu/cpu{cpu}/topology/core_id", str(core))
        write(tmp_path, f"sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id", "0")
    write(tmp_path, "sys/devices/system/cpu/vulnerabilities/meltdown", "Mitigation: PTI")
    write(tmp_path, "sys/devices/system/cpu/vulnerabilities/mds", "Not affected")
    write(tmp_path, "proc/sys/net/core/somaxconn", "128")
    facts = host_facts(Readings(tmp_path))
    assert (facts["cpu_model"], facts["virtual_machine"]) == ("Example 3000", True)
    assert facts["cpu_topology"]["10"] == {"core": 5, "package": 0}
    assert facts["cpu_topology"]["0"] == facts["cpu_topology"]["1"]
    assert facts["mitigations"] == {"meltdown": "Mitigation: PTI"}
    assert facts["sysctls"]["net.core.somaxconn"] == "128"


def test_what_a_machine_does_not_tell_is_null(tmp_path: Path) -> None:
    facts = host_facts(Readings(tmp_path))
    for name in ("cpu_model", "cpu_governor", "virtual_machine", "machine_product", "clock_source"):
        assert facts[name] is None
    assert set(facts["sysctls"].values()) == {None}


def test_the_facts_of_this_machine_are_json_and_agree_with_what_python_knows() -> None:
    facts = json.loads(json.dumps(host_facts()))
    assert facts["cpus"] == sorted(os.sched_getaffinity(0))
    assert facts["kernel"] == platform.release()
    assert {str(cpu) for cpu in facts["cpus"]} <= facts["cpu_topology"].keys()
