"""Check ec2.yaml and ec2.py against a mock of EC2 on loopback, by Ray's own node provider.

    uv run --no-project --with-editable . --with 'ray==2.60.0' --with boto3 --with 'moto[server]==5.2.5' \
        python packaging/ray/check_ec2.py

Nothing leaves this machine. Covered are Ray's schema; what Ray makes of the file (network, group, key, role);
the rules of the group; starting and ending the head, the load machines and servers; what is left in the end;
and that the mock's data of EC2 have the machine types of Loadcurve's table, with their CPUs and memory. Not
covered are SSH to a machine, the commands that run there, and whether AWS finds the role's rights enough.
"""

import contextlib
import io
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Before Ray and boto3 read them; home is where Ray puts the key.
HOME = tempfile.mkdtemp()
os.environ.update(HOME=HOME, AWS_ACCESS_KEY_ID="mock", AWS_SECRET_ACCESS_KEY="mock")  # noqa: S106

import boto3  # noqa: E402
import yaml  # noqa: E402
from moto.server import ThreadedMotoServer  # noqa: E402

SSH_FROM = "192.0.2.7/32"
FILE = Path(__file__).with_name("ec2.yaml")


@contextlib.contextmanager
def mock_of_ec2() -> Iterator[None]:
    """Let boto3 talk to the mock."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    os.environ["AWS_ENDPOINT_URL"] = f"http://{host}:{port}"
    try:
        yield
    finally:
        server.stop()


def expect(what: str, *, holds: bool) -> None:
    """Print what was looked at, and stop where it does not hold."""
    print(f"{'ok  ' if holds else 'FAIL'} {what}", flush=True)
    if not holds:
        raise SystemExit(1)


def printed(work: Any, *arguments: Any) -> str:  # noqa: ANN401 -- any function
    """Return what a function prints."""
    with contextlib.redirect_stdout(io.StringIO()) as text:
        work(*arguments)
    return text.getvalue()


def check_types(ec2: Any, wanted: Any) -> None:  # noqa: ANN401 -- boto3
    """Compare the table's machine types with the mock's, which are EC2's own."""
    found = {
        one["InstanceType"]: (one["VCpuInfo"]["DefaultVCpus"], one["MemoryInfo"]["SizeInMiB"] << 20)
        for page in ec2.get_paginator("describe_instance_types").paginate()
        for one in page["InstanceTypes"]
    }
    for name, machine in wanted.items():
        here = (machine.vcpus, machine.memory_bytes)
        expect(f"{name} has {here[0]} vCPUs and {here[1] / 2**30:g} GiB", holds=found.get(name) == here)


def check_cluster(config: dict[str, Any], provider: Any, ec2: Any) -> None:  # noqa: ANN401
    """Start what `ray up` and the head's autoscaler start, as they do."""
    count = config["available_node_types"]["load"]["min_workers"]
    for node_type, kind, number in (("head", "head", 1), ("load", "worker", count)):
        labels = {"ray-node-type": kind, "ray-user-node-type": node_type, "ray-launch-config": "check"}
        # One by one: of a range the mock makes the least number, and EC2 the greatest that it can.
        for _ in range(number):
            provider.create_node(config["available_node_types"][node_type]["node_config"], labels, 1)
    machines = {one["InstanceType"]: one for one in here.instances(ec2)}
    expect(f"one head and {count} load machines run", holds=len(here.instances(ec2)) == 1 + count)
    head, load = machines["m4.large"], machines["c4.large"]
    expect("the head has its role", holds=here.PROFILE in head["IamInstanceProfile"]["Arn"])
    expect("load machines have none", holds="IamInstanceProfile" not in load)
    expect("both are in one zone", holds=head["SubnetId"] == load["SubnetId"])
    required = [one["MetadataOptions"]["HttpTokens"] for one in (head, load)]
    expect("the role cannot be had by a mere GET", holds=required == ["required", "required"])
    group = ec2.describe_security_groups(GroupIds=[head["SecurityGroups"][0]["GroupId"]])["SecurityGroups"][0]
    opened = {
        (rule["IpProtocol"], rule.get("FromPort"), *(one["CidrIp"] for one in rule["IpRanges"]))
        for rule in group["IpPermissions"]
        if rule["IpRanges"] or rule["Ipv6Ranges"] or rule["PrefixListIds"]
    }
    expect(f"from outside nothing but SSH from {SSH_FROM} is open", holds=opened == {("tcp", 22, SSH_FROM)})
    inner = [pair["GroupId"] for rule in group["IpPermissions"] for pair in rule["UserIdGroupPairs"]]
    expect("the machines reach each other", holds=inner == [group["GroupId"]])


def main() -> None:
    """Take the cluster from nothing to nothing."""
    from ray.autoscaler._private.commands import _bootstrap_config  # noqa: PLC0415
    from ray.autoscaler._private.providers import _get_node_provider  # noqa: PLC0415
    from ray.autoscaler._private.util import prepare_config, validate_config  # noqa: PLC0415

    from loadcurve.host.machines import machine_table  # noqa: PLC0415

    ec2 = boto3.client("ec2", here.REGION)
    check_types(ec2, machine_table().machines)
    printed(here.prepare, SSH_FROM)
    expect("to prepare once more changes nothing", holds=printed(here.prepare, "0.0.0.0/0") == "")
    given = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    # What they name is made by `make wheel` and by Ray.
    mounts = {far: near for far, near in given["file_mounts"].items() if Path(near).exists()}
    validate_config(prepare_config({**given, "file_mounts": mounts}))
    expect("the file is as Ray's schema wants it", holds=True)
    config = _bootstrap_config({**given, "file_mounts": mounts}, no_config_cache=True)
    provider = _get_node_provider(config["provider"], config["cluster_name"])
    check_cluster(config, provider, ec2)
    tables = printed(here.servers, ["t2.micro", "t2.large"])
    expect(
        "servers are tables of a study",
        holds="[machines.t2-micro]" in tables and 'type = "t2.large"' in tables,
    )
    listed = printed(here.show)
    prices = machine_table().machines
    total = sum(
        prices[name].price_usd_per_hour
        for name in ("m4.large", "c4.large", "c4.large", "t2.micro", "t2.large")
    )
    expect(f"all of it costs {total:.4f} USD/h", holds=f"{total:.4f} USD/h for" in listed)
    provider.terminate_nodes(provider.non_terminated_nodes({"ray-node-type": "worker"}))
    provider.terminate_nodes(provider.non_terminated_nodes({"ray-node-type": "head"}))
    left = [here.tags(one).get("loadcurve-role") for one in here.instances(ec2)]
    expect("`ray down` leaves the servers", holds=left == ["server", "server"])
    printed(here.remove)
    expect("after `remove` no machine is left", holds=here.instances(ec2) == [])
    profiles = boto3.client("iam", here.REGION).list_instance_profiles()["InstanceProfiles"]
    expect("and no group and no role", holds=here.group_id(ec2) is None and profiles == [])
    printed(here.remove)
    expect("to remove nothing is no error", holds=True)


if __name__ == "__main__":
    import ec2 as here

    with mock_of_ec2():
        main()
