"""What a run says of the machine."""

import json
import os
import platform
from pathlib import Path

import numpy as np

from loadcurve.host.facts import host_facts
from loadcurve.host.readings import Readings


def write(root: Path, path: str, text: str) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text + "\n")


def test_facts_are_read_from_where_the_kernel_tells_them(tmp_path: Path) -> None:
    write(tmp_path, "proc/cpuinfo", "processor : 0\nmodel name : Example 3000\nflags : fpu aes hypervisor")
    for cpu, core in ((0, 0), (1, 0), (10, 5)):
        write(tmp_path, f"sys/devices/system/cpu/cpu{cpu}/topology/core_id", str(core))
        write(tmp_path, f"sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id", "0")
    write(tmp_path, "sys/devices/system/cpu/vulnerabilities/meltdown", "Mitigation: PTI")
    write(tmp_path, "sys/devices/system/cpu/vulnerabilities/mds", "Not affected")
    write(tmp_path, "proc/sys/net/core/somaxconn", "128")
    for cpu, governor in ((0, "performance"), (1, "powersave"), (10, "performance")):
        write(tmp_path, f"sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor", governor)
    write(tmp_path, "sys/devices/system/cpu/cpu10/node1/cpulist", "10")
    write(tmp_path, "sys/devices/system/cpu/intel_pstate/no_turbo", "1")
    for name, text in {"level": "3", "type": "Unified", "size": "32768K"}.items():
        write(tmp_path, f"sys/devices/system/cpu/cpu0/cache/index3/{name}", text)
    write(tmp_path, "proc/meminfo", "MemTotal: 2 kB\nSwapTotal:   1024 kB")
    write(tmp_path, "proc/cmdline", "quiet mitigations=off secret=1 nohz_full=1-3")
    write(tmp_path, "run/.containerenv", "")
    facts = host_facts(Readings(tmp_path))
    assert (facts["cpu_model"], facts["virtual_machine"]) == ("Example 3000", True)
    assert facts["cpu_has_aes"]
    assert facts["cpu_topology"]["10"] == {"core": 5, "package": 0, "numa_node": 1}
    assert facts["cpu_topology"]["0"] == facts["cpu_topology"]["1"]
    # One CPU that differs is enough to explain a slow server.
    assert (facts["cpu_governors"], facts["cpu_boost"]) == (["performance", "powersave"], False)
    assert facts["cpu_caches"] == {"L3 Unified": "32768K"}
    assert facts["swap_bytes"] == 1 << 20
    # The rest of the command line may hold what is not for a report.
    assert facts["kernel_parameters"] == ["mitigations=off", "nohz_full=1-3"]
    assert facts["container"] == "podman"
    assert facts["mitigations"] == {"meltdown": "Mitigation: PTI"}
    assert facts["sysctls"]["net.core.somaxconn"] == "128"


def test_what_a_machine_does_not_tell_is_null(tmp_path: Path) -> None:
    facts = host_facts(Readings(tmp_path))
    names = ("cpu_model", "cpu_boost", "swap_bytes", "virtual_machine", "machine_product", "container")
    for name in (*names, "clock_source"):
        assert facts[name] is None
    assert set(facts["sysctls"].values()) == {None}


def test_the_facts_of_this_machine_are_json_and_agree_with_what_python_knows() -> None:
    facts = json.loads(json.dumps(host_facts()))
    assert facts["cpus"] == sorted(os.sched_getaffinity(0))
    assert facts["kernel"] == platform.release()
    assert facts["python_packages"]["numpy"] == np.__version__
    assert {str(cpu) for cpu in facts["cpus"]} <= facts["cpu_topology"].keys()
