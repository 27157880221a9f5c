"""What makes the machines agrees with itself and with the locks.

That it works is tried by hand, see docs/guides/clusters.md.
"""

import re
from pathlib import Path

from loadcurve.host.machines import machine_table

ROOT = Path(__file__).parents[2]
EC2 = (ROOT / "packaging" / "ray" / "ec2.yaml").read_text(encoding="utf-8")
KUBERNETES = (ROOT / "packaging" / "ray" / "kubernetes.yaml").read_text(encoding="utf-8")


def versions(lock: str) -> dict[str, set[str]]:
    """The versions of each package of a lock: several where they depend on Python's."""
    found: dict[str, set[str]] = {}
    for name, version in re.findall(
        r"^([\w.-]+)==(\S+)", (ROOT / "requirements" / lock).read_text(encoding="utf-8"), re.M
    ):
        found.setdefault(name, set()).add(version)
    return found


def test_a_node_of_a_ray_cluster_has_the_packages_of_the_command():
    assert versions("runtime.lock").items() <= versions("ray.lock").items()


def test_a_cluster_and_its_image_have_one_version_of_ray():
    [locked] = versions("ray.lock")["ray"]
    assert re.findall(r'rayVersion: "(.+)"', KUBERNETES) == [locked]
    assert re.findall(r"ray==(\S+?)'", (ROOT / "packaging" / "ray" / "check_ec2.py").read_text("utf-8")) == [
        locked
    ]


def test_no_cluster_answers_without_its_token():
    starts = EC2.count("ray start")
    assert starts == 2
    assert EC2.count("export RAY_AUTH_MODE=token") == starts + 1, "and one for the shells of people"
    assert "authOptions:\n    mode: token" in KUBERNETES


def test_no_cluster_has_a_dashboard():
    assert len(re.findall("ray start --head .*--include-dashboard=false", EC2)) == 1
    assert 'include-dashboard: "false"' in KUBERNETES


def test_machines_of_a_cluster_have_a_known_price_and_no_credits_that_run_out():
    types = re.findall(r"InstanceType: (\S+)", EC2)
    assert len(types) == 2
    assert [name for name in types if machine_table().machine(name).credits] == []
