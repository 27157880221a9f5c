"""Reading and writing files in folders that others may have prepared, such as a run that was received.

Nothing leads out of such a folder: a link is neither followed nor written through, and what is no regular
file, such as a pipe that nobody writes to, is not waited for. Errors are ``OSError``s that name the file.
"""

import errno
import hashlib
import os
import secrets
import select
import stat
import time
from collections.abc import Iterable
from io import FileIO
from pathlib import Path
from typing import BinaryIO

IS_LINK = "it is a link, which may lead to another user's file"
NOT_REGULAR = "it is not a regular file"
PIPE_TIMEOUT_S = 10.0
READ_BYTES = 1 << 20
_READ_BYTES_LEAST = 1 << 16


def write_whole(path: Path, data: bytes | Iterable[bytes], *, durably: bool = False) -> None:
    """Write a file beside its place and move it there, so that nobody ever sees half of it.

    Its content may come in parts. It is written under a name that nobody can have foreseen, and a file
    or a link in its place is replaced. ``durably`` returns when the disk has the content and the name.

    Raises ``OSError`` where it cannot be written; what was there before stays.
    """
    staged = staged_beside(path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(staged, flags, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines([data] if isinstance(data, bytes) else data)
            file.flush()
            if durably:
                os.fsync(descriptor)
        staged.replace(path)
        if durably:
            _sync_folder(path.parent)
    except BaseException:
        staged.unlink(missing_ok=True)
        raise


def staged_beside(path: Path) -> Path:
    """Return a name beside a file or a folder that nobody can have foreseen."""
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}")


def make_folder(path: Path) -> None:
    """Make a folder, with those that it lies in, and return when the disk has their names.

    Raises ``OSError`` where that cannot be done; one that is there already is none.
    """
    missing = [one for one in (path, *path.parents) if not one.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for folder in missing:
        _sync_folder(folder.parent)


def _sync_folder(path: Path) -> None:
    """Make the names in a folder durable; on Linux that takes an fsync of the folder."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_regular(path: Path) -> BinaryIO:
    """Open a file for reading that must be one itself.

    Raises ``OSError`` for anything else, and where it cannot be opened.
    """
    return os.fdopen(_opened_regular(path, os.O_RDONLY), "rb")


def _opened_regular(path: Path, access: int) -> int:
    try:
        descriptor = os.open(path, access | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, IS_LINK, str(path)) from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, NOT_REGULAR, str(path))
    return descriptor


def append_regular(path: Path) -> FileIO:
    """Open a file that must be one itself for appending to it and reading it, without a buffer.

    Raises ``OSError`` for anything else, and where it cannot be opened.
    """
    return FileIO(_opened_regular(path, os.O_RDWR | os.O_APPEND), "a+")


def read_regular(path: Path, bytes_max: int) -> bytes:
    """Return the content of a file that must be one itself.

    Raises as :func:`open_regular`, and for a file of more than ``bytes_max``.
    """
    descriptor = _opened_regular(path, os.O_RDONLY)
    try:
        content = _content(descriptor, bytes_max + 1)
    finally:
        os.close(descriptor)
    if len(content) > bytes_max:
        raise OSError(errno.EFBIG, f"it has more than {bytes_max:,} bytes", str(path))
    return content


def _content(descriptor: int, bytes_max: int) -> bytes:
    """Return what a file has, up to a number of bytes."""
    # Python would make room for the most at each call, which for small files takes longer than to read them.
    room = max(os.fstat(descriptor).st_size + 1, _READ_BYTES_LEAST)
    parts: list[bytes] = []
    left = bytes_max
    while left > 0 and (part := os.read(descriptor, min(left, room))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def read_given(path: Path, bytes_max: int) -> tuple[bytes, os.stat_result]:
    """Return the content of a file that a person has named, or of a pipe, as a shell has for ``<(…)``.

    What a pipe brings is waited for as long as :data:`PIPE_TIMEOUT_S`, and no writer that opens it later.
    Raises ``OSError`` where it cannot be read, is anything else, or holds more than ``bytes_max``.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not (stat.S_ISREG(status.st_mode) or stat.S_ISFIFO(status.st_mode)):
            raise OSError(errno.EINVAL, NOT_REGULAR, str(path))
        content = bytearray()
        until_s = time.monotonic() + PIPE_TIMEOUT_S
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        while len(content) <= bytes_max:
            # Of a pipe that is empty and open nothing is read.
            if (data := file.read(min(READ_BYTES, bytes_max + 1 - len(content)))) == b"":
                return bytes(content), status
            if data is None and not poll.poll(max(until_s - time.monotonic(), 0) * 1000):
                raise TimeoutError(errno.ETIMEDOUT, f"nothing came within {PIPE_TIMEOUT_S:g} s", str(path))
            content += data or b""
    raise OSError(errno.EFBIG, f"it has more than {bytes_max:,} bytes", str(path))


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of what a file holds, in hexadecimal digits; raises ``OSError``."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def regular_sha256(path: Path, bytes_max: int) -> str:
    """Return the SHA-256, in hexadecimal digits, of a file that must be one itself.

    Raises as :func:`open_regular`, and for a file of more than ``bytes_max``.
    """
    digest, left = hashlib.sha256(), bytes_max
    with open_regular(path) as file:
        if os.fstat(file.fileno()).st_size <= bytes_max:
            while part := file.read(min(READ_BYTES, left + 1)):
                digest.update(part)
                left -= len(part)
            if left >= 0:
                return digest.hexdigest()
    raise OSError(errno.EFBIG, f"it has more than {bytes_max:,} bytes", str(path))


def is_regular(path: Path) -> bool:
    """Say whether there is a file, and no link to one."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False
