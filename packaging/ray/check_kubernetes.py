"""Check the RayCluster of kubernetes.yaml against the schema of KubeRay.

    python packaging/ray/check_kubernetes.py FILE

The file is ``ray-operator/config/crd/bases/ray.io_rayclusters.yaml`` of a checkout of
github.com/ray-project/kuberay (Apache-2.0); it has 0.9 MB, and is not kept here. Wants PyYAML and jsonschema,
which come with Ray. Stricter than Kubernetes, which forgets keys that it does not know; but it does not
evaluate the schema's rules in CEL.
"""

import json
import sys
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator

MANIFEST = Path(__file__).with_name("kubernetes.yaml")


def closed(schema: Any) -> Any:  # noqa: ANN401 -- JSON
    """Return a schema whose objects have no keys but those that it names, with Kubernetes' own types."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    result = {key: closed(value) for key, value in schema.items()}
    if schema.get("x-kubernetes-int-or-string"):
        result.pop("type", None)
    elif isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        result["additionalProperties"] = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    return result


def problems(manifest: Any, definition: Any) -> list[str]:  # noqa: ANN401 -- YAML
    """Return what is wrong with a manifest, each with its place; empty where nothing is."""
    kind = definition["spec"]["names"]["kind"]
    group, _, version = manifest["apiVersion"].partition("/")
    schemas = {one["name"]: one["schema"]["openAPIV3Schema"] for one in definition["spec"]["versions"]}
    if (manifest["kind"], group) != (kind, definition["spec"]["group"]) or version not in schemas:
        return [f"the definition is of {kind} of {definition['spec']['group']}, {', '.join(schemas)}"]
    schema = closed(schemas[version])
    # Common to all kinds, and open there.
    schema["properties"]["metadata"] = {"type": "object"}
    found = Draft202012Validator(schema).iter_errors(manifest)
    return [f"{'.'.join(map(str, error.absolute_path))}: {error.message}" for error in found]


def main() -> None:
    """Print what is wrong, and end with 1 where something is."""
    definition = yaml.safe_load(Path(sys.argv[1]).read_text(encoding="utf-8"))
    manifests = yaml.safe_load_all(MANIFEST.read_text(encoding="utf-8"))
    [manifest] = [one for one in manifests if one["kind"] == "RayCluster"]
    # As it is sent: aliases are written out.
    found = problems(json.loads(json.dumps(manifest)), definition)
    print("\n".join(found) or f"{MANIFEST.name} is a {manifest['kind']} of {manifest['apiVersion']}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
