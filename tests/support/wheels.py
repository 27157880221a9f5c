"""Small wheels of PEP 427, for tests of what is installed from PyPI."""

import zipfile
from collections.abc import Mapping
from pathlib import Path


def write_wheel(folder: Path, name: str, version: str, parts: Mapping[str, str]) -> Path:
    """Write a wheel for any Python with these files by their paths, and return where it is.

    ``name`` is the project's in the form of file names, with underscores.
    """
    file = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n"
    all_parts = {
        **parts,
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(file, "w") as archive:
        for path, text in all_parts.items():
            archive.writestr(path, text)
        listed = (*all_parts, f"{info}/RECORD")
        archive.writestr(f"{info}/RECORD", "".join(f"{path},,\n" for path in listed))
    return file
