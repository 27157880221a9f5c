"""What the native parts link: the notices and the list of components that a wheel carries."""

import json
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LICENSE_FILES = ("LICEN[CS]E*", "COPYING*", "COPYRIGHT*", "NOTICE*", "UNLICENSE*")


@dataclass(frozen=True, order=True)
class Crate:
    """A crate from a registry: its name, version, licence as an SPDX expression, and folder of sources."""

    name: str
    version: str
    license: str
    folder: Path

    def texts(self) -> Iterator[str]:
        """Yield the texts of the files that its licences ask to pass on."""
        for pattern in LICENSE_FILES:
            for path in sorted(self.folder.glob(pattern)):
                if path.is_file():
                    yield path.read_text(encoding="utf-8", errors="replace").strip()


def linked_crates(root: Path, packages: list[str], platform: str | None = None) -> list[Crate]:
    """Return the crates that the packages of the workspace link on a platform, without those that only build.

    ``platform`` is as cargo names it, or ``None`` for this one.
    """
    platform = platform or this_platform()
    selected = [argument for package in packages for argument in ("--package", package)]
    tree = _cargo(
        root,
        "tree",
        "--locked",
        "--edges",
        "normal,no-proc-macro",
        "--prefix",
        "none",
        "--format",
        "{p}",
        "--target",
        platform,
        *selected,
    )
    linked = {tuple(line.split()[:2]) for line in tree.splitlines() if line}
    # Without a platform cargo would download what only others need.
    metadata = _cargo(root, "metadata", "--locked", "--format-version", "1", "--filter-platform", platform)
    every = json.loads(metadata)["packages"]
    return sorted(
        Crate(
            one["name"], one["version"], one["license"] or "see its files", Path(one["manifest_path"]).parent
        )
        for one in every
        if one["source"] is not None and (one["name"], f"v{one['version']}") in linked
    )


def this_platform() -> str:
    """Return what cargo calls the platform that this is."""
    command = ["rustc", "--print", "host-tuple"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def notices(crates: list[Crate]) -> str:
    """Return the licences of the crates as one text, each licence once with its crates."""
    users = defaultdict(list)
    for crate in crates:
        for text in crate.texts():
            users[text].append(f"{crate.name} {crate.version}")
    listed = "\n".join(f"{crate.name} {crate.version}: {crate.license}" for crate in crates)
    parts = [f"The native parts of Loadcurve contain these crates:\n\n{listed}"]
    parts += [f"{', '.join(names)}\n\n{text}" for text, names in users.items()]
    return f"\n\n{'-' * 80}\n\n".join(parts) + "\n"


def bill_of_materials(crates: list[Crate]) -> str:
    """Return the crates as a CycloneDX document (version 1.5), the same bytes for the same crates."""
    components = [
        {
            "type": "library",
            "name": crate.name,
            "version": crate.version,
            "purl": f"pkg:cargo/{crate.name}@{crate.version}",
            "licenses": [{"expression": crate.license.replace("/", " OR ")}],
        }
        for crate in crates
    ]
    document = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "components": components}
    return json.dumps(document, indent=1) + "\n"


def _cargo(root: Path, *arguments: str) -> str:
    return subprocess.run(["cargo", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout
