"""What the cluster of ec2.yaml needs on EC2 beside itself, and the servers that its load goes to.

    python packaging/ray/ec2.py prepare --ssh-from 192.0.2.7/32   # before `ray up packaging/ray/ec2.yaml`
    python packaging/ray/ec2.py servers t2.micro t2.large         # as tables of a study
    python packaging/ray/ec2.py list                              # what runs, and its price by the hour
    python packaging/ray/ec2.py remove                            # after `ray down`: ends and removes all

Wants boto3 and PyYAML, which `ray up` wants, too, and Loadcurve for its table of machine types. Everything
made here has the cluster's name.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import boto3
import yaml
from botocore.exceptions import ClientError

from loadcurve.host.machines import machine_table

CLUSTER = yaml.safe_load(Path(__file__).with_name("ec2.yaml").read_text(encoding="utf-8"))
NAME: str = CLUSTER["cluster_name"]
REGION: str = CLUSTER["provider"]["region"]
GROUP: str = CLUSTER["provider"]["security_group"]["GroupName"]
HEAD = CLUSTER["available_node_types"]["head"]["node_config"]
PROFILE: str = HEAD["IamInstanceProfile"]["Name"]
ROLE_OF_MACHINES = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}
    ],
}
OF_CLUSTER = {"Name": "tag:ray-cluster-name", "Values": [NAME]}
"""Ray's tag on its machines, and ours on those of servers."""
SERVER = {"Key": "loadcurve-role", "Value": "server"}
NOT_GONE = {"Name": "instance-state-name", "Values": ["pending", "running", "stopping", "stopped"]}


def rights_of_head() -> dict[str, Any]:
    """Return what the head may do: see machines, start those of known types, end those of its cluster."""
    own = {"StringEquals": {"ec2:ResourceTag/ray-cluster-name": NAME}}
    types = {"StringEquals": {"ec2:InstanceType": [*machine_table().machines]}}
    region = f"arn:aws:ec2:{REGION}:*"
    started = {"StringEquals": {"ec2:CreateAction": "RunInstances"}}
    parts = [
        f"{region}:{part}/*"
        for part in ("subnet", "security-group", "network-interface", "volume", "key-pair")
    ]
    image = [f"arn:aws:ec2:{REGION}::image/*", f"arn:aws:ssm:{REGION}::parameter/aws/service/*"]
    allowed: list[dict[str, Any]] = [
        {"Action": "ec2:Describe*", "Resource": "*"},
        {"Action": "ssm:GetParameters", "Resource": image[1]},
        {"Action": "ec2:RunInstances", "Resource": [*parts, image[0]]},
        {"Action": "ec2:RunInstances", "Resource": f"{region}:instance/*", "Condition": types},
        {"Action": "ec2:CreateTags", "Resource": f"{region}:*", "Condition": started},
        {
            "Action": ["ec2:CreateTags", "ec2:TerminateInstances"],
            "Resource": f"{region}:instance/*",
            "Condition": own,
        },
    ]
    return {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", **one} for one in allowed]}


def missing(error: ClientError) -> bool:
    """Say whether an error is that something is not there."""
    code = error.response["Error"]["Code"]
    return code == "NoSuchEntity" or code.endswith(".NotFound")


def prepare(ssh_from: str) -> None:
    """Make the security group and the role of the head; what is there already is left as it is."""
    ec2, iam = boto3.client("ec2", REGION), boto3.client("iam", REGION)
    if group_id(ec2) is None:
        made = ec2.create_security_group(
            GroupName=GROUP, Description="SSH from one place, and each other", VpcId=vpc(ec2)
        )
        ec2.authorize_security_group_ingress(
            GroupId=made["GroupId"],
            IpPermissions=[
                {"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "IpRanges": [{"CidrIp": ssh_from}]},
                {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": made["GroupId"]}]},
            ],
        )
        print(f"security group {GROUP}: SSH from {ssh_from}, and everything between its machines")
    try:
        iam.get_instance_profile(InstanceProfileName=PROFILE)
    except ClientError as error:
        if not missing(error):
            raise
        iam.create_role(RoleName=PROFILE, AssumeRolePolicyDocument=json.dumps(ROLE_OF_MACHINES))
        iam.put_role_policy(RoleName=PROFILE, PolicyName=PROFILE, PolicyDocument=json.dumps(rights_of_head()))
        iam.create_instance_profile(InstanceProfileName=PROFILE)
        iam.add_role_to_instance_profile(InstanceProfileName=PROFILE, RoleName=PROFILE)
        print(
            f"role {PROFILE}: starts and ends machines of this cluster; AWS may take some seconds to know it"
        )


def vpc(ec2: Any) -> str:  # noqa: ANN401 -- boto3 has no types
    """Return the region's default network."""
    found = ec2.describe_vpcs(Filters=[{"Name": "is-default", "Values": ["true"]}])["Vpcs"]
    if not found:
        sys.exit(
            f"{REGION} has no default network (VPC): make one, `aws ec2 create-default-vpc --region {REGION}`"
        )
    return str(found[0]["VpcId"])


def group_id(ec2: Any) -> str | None:  # noqa: ANN401
    """Return the security group; ``None`` where there is none."""
    found = ec2.describe_security_groups(Filters=[{"Name": "group-name", "Values": [GROUP]}])[
        "SecurityGroups"
    ]
    return str(found[0]["GroupId"]) if found else None


def instances(ec2: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    """Return the machines of the cluster and of servers that have not ended."""
    pages = ec2.get_paginator("describe_instances").paginate(Filters=[OF_CLUSTER, NOT_GONE])
    return [one for page in pages for reservation in page["Reservations"] for one in reservation["Instances"]]


def tags(instance: dict[str, Any]) -> dict[str, str]:
    """Return the tags of a machine."""
    return {one["Key"]: one["Value"] for one in instance.get("Tags", [])}


def servers(types: list[str]) -> None:
    """Start a machine of each type beside the head: in its zone and its group, with its image and its key."""
    for name in types:
        machine_table().machine(name)
    ec2 = boto3.client("ec2", REGION)
    heads = [one for one in instances(ec2) if tags(one).get("ray-node-type") == "head"]
    if not heads:
        sys.exit("the cluster has no head: `ray up packaging/ray/ec2.yaml` comes first")
    head = heads[0]
    ids = []
    for name in types:
        tagged = [
            SERVER,
            {"Key": "ray-cluster-name", "Value": NAME},
            {"Key": "Name", "Value": f"{NAME}-{name}"},
        ]
        made = ec2.run_instances(
            MinCount=1,
            MaxCount=1,
            InstanceType=name,
            ImageId=head["ImageId"],
            KeyName=head["KeyName"],
            SubnetId=head["SubnetId"],
            SecurityGroupIds=[one["GroupId"] for one in head["SecurityGroups"]],
            BlockDeviceMappings=HEAD["BlockDeviceMappings"],
            MetadataOptions=HEAD["MetadataOptions"],
            TagSpecifications=[{"ResourceType": kind, "Tags": tagged} for kind in ("instance", "volume")],
        )
        ids.append(made["Instances"][0]["InstanceId"])
    ec2.get_waiter("instance_running").wait(InstanceIds=ids)
    there = {one["InstanceId"]: one for one in instances(ec2)}
    for number, name in zip(ids, types, strict=True):
        address = there[number]["PrivateIpAddress"]
        ssh = f"{CLUSTER['auth']['ssh_user']}@{address}"
        print(f'[machines.{name.replace(".", "-")}]\nssh = "{ssh}"\naddress = "{address}"\ntype = "{name}"\n')


def show() -> None:
    """Print what has not ended, and what all of it costs by the hour, by the table's prices."""
    table, total = machine_table(), 0.0
    for one in instances(boto3.client("ec2", REGION)):
        known = table.machines.get(one["InstanceType"])
        price = known.price_usd_per_hour if known else float("nan")
        total += price
        role = tags(one).get("loadcurve-role") or tags(one).get("ray-user-node-type", "?")
        machine = f"{one['InstanceId']}  {one['InstanceType']:10}  {role:8}  {one['State']['Name']:10}"
        print(f"{machine}  {price:.4f} USD/h")
    print(f"{total:.4f} USD/h for machines, by the prices of {table.date:%B %Y};", end=" ")
    print("disks, addresses and traffic are extra")


def remove() -> None:
    """End every machine with the cluster's name, and remove the group and the role."""
    ec2, iam = boto3.client("ec2", REGION), boto3.client("iam", REGION)
    if ids := [one["InstanceId"] for one in instances(ec2)]:
        print(f"ending {', '.join(ids)}")
        ec2.terminate_instances(InstanceIds=ids)
        ec2.get_waiter("instance_terminated").wait(InstanceIds=ids)
    if (group := group_id(ec2)) is not None:
        ec2.delete_security_group(GroupId=group)
    steps = [
        lambda: iam.remove_role_from_instance_profile(InstanceProfileName=PROFILE, RoleName=PROFILE),
        lambda: iam.delete_instance_profile(InstanceProfileName=PROFILE),
        lambda: iam.delete_role_policy(RoleName=PROFILE, PolicyName=PROFILE),
        lambda: iam.delete_role(RoleName=PROFILE),
    ]
    for step in steps:
        try:
            step()
        except ClientError as error:
            if not missing(error):
                raise
    print(f"removed; the key pair ray-autoscaler_{REGION}, which is free and may be others', is left")


def main() -> None:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("prepare").add_argument(
        "--ssh-from", required=True, help="addresses, as 192.0.2.7/32"
    )
    commands.add_parser("servers").add_argument("types", nargs="+", metavar="TYPE")
    commands.add_parser("list")
    commands.add_parser("remove")
    given = parser.parse_args()
    if given.command == "prepare":
        prepare(given.ssh_from)
    elif given.command == "servers":
        servers(given.types)
    else:
        {"list": show, "remove": remove}[given.command]()


if __name__ == "__main__":
    main()
