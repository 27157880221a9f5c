"""The content that every server serves: generated and seeded, or a folder of the user's."""

import hashlib
import random
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from loadcurve.errors import BadInput
from loadcurve.result.records import ContentRecord

ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 \n"
"""Sixty-four characters of plain text, so that each byte carries six random bits."""

CHUNK_BYTES = 1 << 20
"""Files are written and read in chunks, so that one of a gigabyte takes no more memory than this."""


def make_content(folder: Path, files: Mapping[str, int | str], seed: int) -> dict[str, ContentRecord]:
    """Write files of these texts, or of random text of these sizes in bytes.

    The same seed, name and size give the same random text.

    Every user may read the files, because a server that root starts reads them as another user.

    Raises ``BadInput``: a name would lie outside the folder, or a file cannot be written.
    """
    for name in files:
        _check_name(name)
    records = {}
    try:
        _make_open_folder(folder)
        for name, text_or_size in files.items():
            file = folder / name
            for parent in reversed(PurePosixPath(name).parents[:-1]):
                _make_open_folder(folder / parent)
            with file.open("wb") as stream:
                if isinstance(text_or_size, str):
                    stream.write(text_or_size.encode())
                else:
                    stream.writelines(generated_text(text_or_size, f"{seed} {name}"))
            file.chmod(0o644)
            records[name] = _describe(file)
    except OSError as error:
        raise BadInput(
            f"The content cannot be written to {error.filename or folder}: {error.strerror}."
        ) from None
    return records


def generated_text(size_bytes: int, seed: str) -> Iterator[bytes]:
    """Yield this many bytes of random text in chunks; the same seed gives the same bytes on every machine."""
    # Each random byte is one of 256, four of which share a character: all characters are equally likely.
    table = bytes(ALPHABET[byte % len(ALPHABET)] for byte in range(256))
    generator = random.Random(seed)  # noqa: S311 -- reproducible, not secret
    for start in range(0, size_bytes, CHUNK_BYTES):
        yield generator.randbytes(min(CHUNK_BYTES, size_bytes - start)).translate(table)


def content_of_folder(folder: Path) -> dict[str, ContentRecord]:
    """Describe every file under a user's folder by its path below it.

    Raises ``BadInput``: the folder is missing, holds no file, or a file cannot be read.
    """
    if not folder.is_dir():
        raise BadInput(f"The content folder {folder} does not exist.")
    records = {}
    try:
        for file in sorted(file for file in folder.rglob("*") if file.is_file()):
            records[file.relative_to(folder).as_posix()] = _describe(file)
    except OSError as error:
        raise BadInput(f"The content {error.filename} cannot be read: {error.strerror}.") from None
    if not records:
        raise BadInput(f"The content folder {folder} contains no file.")
    return records


def _describe(file: Path) -> ContentRecord:
    digest = hashlib.sha256()
    size_bytes = 0
    with file.open("rb") as stream:
        while chunk := stream.read(CHUNK_BYTES):
            digest.update(chunk)
            size_bytes += len(chunk)
    return ContentRecord(bytes=size_bytes, sha256=digest.hexdigest())


def _check_name(name: str) -> None:
    parts = name.split("/")
    if "\0" in name or any(part in {"", ".", ".."} for part in parts):
        raise BadInput(
            f'The content "{name}" is not a file name: expected a relative path without "." and "..".'
        )


def _make_open_folder(folder: Path) -> None:
    if not folder.is_dir():
        folder.mkdir(parents=True)
        folder.chmod(0o755)
