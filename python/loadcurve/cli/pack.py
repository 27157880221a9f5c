"""``loadcurve pack``, and ``loadcurve import`` of what it wrote."""

from pathlib import Path

import typer

from loadcurve.cli.console import new_console
from loadcurve.errors import BadInput
from loadcurve.result.archive import pack, unpack
from loadcurve.result.run_files import ARCHIVE_SUFFIX, RUNS_FOLDER


def pack_command(folder: Path, out: Path | None) -> None:
    """Write a run folder as one file; print its path, and its size and digest besides.

    Raises ``BadInput``: it is no run folder, or it cannot be written.
    """
    target = out or Path(f"{folder.absolute().name}{ARCHIVE_SUFFIX}")
    if not target.name.endswith(ARCHIVE_SUFFIX):
        raise BadInput(f"--out {target}: expected a name that ends with {ARCHIVE_SUFFIX}.")
    packed = pack(folder, target)
    new_console(stderr=True).print(f"{packed.bytes:,} bytes, SHA-256 {packed.sha256}", soft_wrap=True)
    typer.echo(packed.path)


def unpack_command(archive: Path, out: Path | None) -> None:
    """Make a run folder of an archive, and print its path.

    Raises ``BadInput``: it is no archive, or the folder exists or cannot be written.
    """
    folder = out or RUNS_FOLDER / archive.name.removesuffix(ARCHIVE_SUFFIX)
    if folder.exists():
        raise BadInput(f"{folder} exists already: remove it, or name another folder with --out.")
    unpack(archive, folder)
    typer.echo(folder)
