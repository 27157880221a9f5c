"""A run as one file, ``NAME.loadcurve.zip``: written the same each time, and checked before it is opened.

It is a ZIP archive of PKWARE's APPNOTE 6.3.10 with one folder, so that any ZIP program opens it. Its comment
has the SHA-256 of all bytes before it. Like a run folder, an archive may be a stranger's: the digest tells
that it is whole, not whose it is, so that sizes, names and kinds of entries are bounded as well.
"""

import errno
import fcntl
import hashlib
import os
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final

from loadcurve.errors import BadInput
from loadcurve.files import IS_LINK, make_folder, open_regular, staged_beside
from loadcurve.result.run_files import (
    INPUTS_FOLDER,
    LOADS_FILE,
    NUMBERS_FILE,
    RUN_COPY_FILE,
    RUN_FILE,
    STUDY_FILE,
    TRIALS_FILE,
    has_several_loads,
    require_run_folder,
)

FILES_MAX: Final = 25_000
"""More than twice the files of a run's inputs."""
BYTES_MAX: Final = 4 * 2**30 - 2**20
"""Of all files together, and of the archive: below what needs ZIP's longer fields."""
NAME_BYTES_MAX: Final = 4_096
DEPTH_MAX: Final = 64
_OF_RUN: Final = (RUN_FILE, RUN_COPY_FILE, STUDY_FILE, TRIALS_FILE, NUMBERS_FILE)
"""A report and other files are made of these again."""
_BLOCK_BYTES: Final = 1 << 20
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
"""The earliest that the format can state."""
_LEVEL: Final = 6

_MARK: Final = b"loadcurve-archive/1 sha256="
_SEAL_BYTES: Final = len(_MARK) + 64
_END: Final = struct.Struct("<4s4H2LH")
"""The end of central directory record, section 4.3.16, without its comment."""
_END_MARK, _LOCATOR_MARK = b"PK\x05\x06", b"PK\x06\x07"
_LOCATOR_BYTES: Final = 20
_DIRECTORY_BYTES_MAX: Final = FILES_MAX * (46 + 256)
"""Of the central directory, which is read at once: room for names of 256 bytes on average."""


@dataclass(frozen=True, slots=True)
class Packed:
    """An archive that was written."""

    path: Path
    bytes: int
    sha256: str
    """The digest of the whole file."""


def pack(folder: Path, target: Path) -> Packed:
    """Write a run folder, or that of several loads at once, as an archive.

    The same files give the same bytes, with the same version of zlib. What is in the folder besides the run's
    own files and inputs, such as reports, is left out.

    Raises ``BadInput``: it is no run folder, it is too large, or a file cannot be read or written. What was
    at ``target`` stays then.
    """
    if not has_several_loads(folder):
        require_run_folder(folder)
    top = _checked_name(folder.absolute().name)
    staged = staged_beside(target)
    try:
        files = list(_files_of(folder))
        _require_room(files, folder)
        make_folder(target.parent)
        with staged.open("x+b") as file:
            _write(file, top, folder, files)
            digest = _sealed(file)
            length = file.tell()
        staged.replace(target)
    except OSError as error:
        raise BadInput(f"{folder} cannot be packed into {target}: {error.strerror}.") from error
    finally:
        staged.unlink(missing_ok=True)
    return Packed(target, length, digest)


class VerifiedArchive:
    """An archive whose comment has the digest of all bytes before it, open."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        """Read all of the file, which has this path; raises as :func:`verified_archive`."""
        self._file, self._path = file, path
        self.sha256: Final = _verified(file, path)
        """The digest of the whole file."""

    def unpack(self, target: Path) -> None:
        """Write its files as a new folder, all or none; raises as :func:`unpack`."""
        try:
            make_folder(target.parent)
            staged = staged_beside(target)
            staged.mkdir()
            try:
                _extract(self._file, self._path, staged)
                if not (has_several_loads(staged) or os.path.lexists(staged / RUN_FILE)):
                    raise BadInput(f"{self._path} is refused: it has no {RUN_FILE}, and so no run.")
                staged.rename(target)
            finally:
                shutil.rmtree(staged, ignore_errors=True)
        except OSError as error:
            raise BadInput(f"{self._path} cannot be unpacked into {target}: {error.strerror}.") from error


@contextmanager
def verified_archive(path: Path) -> Iterator[VerifiedArchive]:
    """Open an archive, all of which is read once for its digest.

    Raises ``BadInput`` for what is no archive of a run, or has been changed since it was packed.
    """
    with ExitStack() as stack:
        try:
            archive = VerifiedArchive(stack.enter_context(open_regular(path)), path)
        except OSError as error:
            raise BadInput(f"{path} cannot be read: {error.strerror}.") from error
        yield archive


def unpack(path: Path, target: Path) -> None:
    """Write the files of an archive as a new folder ``target``, all or none.

    Raises ``BadInput``: it is no archive of a run, has been changed, holds what no run folder has, is too
    large, or cannot be written.
    """
    with verified_archive(path) as archive:
        archive.unpack(target)


def _files_of(folder: Path) -> Iterator[Path]:
    """Yield a run's own files, sorted by their paths from its folder."""
    if not has_several_loads(folder):
        yield from _files_of_run(folder)
        return
    yield folder / LOADS_FILE
    for load in sorted(folder.iterdir()):
        if os.path.lexists(load / RUN_FILE):
            yield from _files_of_run(load)


def _files_of_run(folder: Path) -> Iterator[Path]:
    found = [folder / name for name in _OF_RUN if os.path.lexists(folder / name)]
    for below in (folder, folder / INPUTS_FOLDER):
        if below.is_symlink():
            raise OSError(errno.ELOOP, IS_LINK, str(below))
    for place, _, names in os.walk(folder / INPUTS_FOLDER):
        found += [Path(place, name) for name in names]
    yield from sorted(found)


def _require_room(files: Sequence[Path], folder: Path) -> None:
    length = sum(file.lstat().st_size for file in files)
    if len(files) > FILES_MAX or length > BYTES_MAX:
        raise BadInput(
            f"{folder} has {len(files):,} files of {length:,} bytes; expected at most {FILES_MAX:,} files "
            f"and {BYTES_MAX:,} bytes in an archive."
        )


def _write(file: BinaryIO, top: str, folder: Path, files: Sequence[Path]) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, allowZip64=False, compresslevel=_LEVEL) as archive:
        for path in files:
            with open_regular(path) as source:
                if path.name == TRIALS_FILE:
                    _require_ended(source, folder)
                may_run = os.fstat(source.fileno()).st_mode & stat.S_IXUSR
                entry = zipfile.ZipInfo(f"{top}/{path.relative_to(folder).as_posix()}", _EPOCH)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.create_system = 3
                entry.external_attr = (stat.S_IFREG | (0o755 if may_run else 0o644)) << 16
                entry.file_size = os.fstat(source.fileno()).st_size
                with archive.open(entry, "w") as written:
                    shutil.copyfileobj(source, written, _BLOCK_BYTES)
        archive.comment = _MARK + b"0" * 64


def _require_ended(trials: BinaryIO, folder: Path) -> None:
    """Refuse a run that still writes; nobody can start to while ``trials`` is open."""
    try:
        fcntl.flock(trials.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        raise BadInput(f"{folder} is being measured; pack it when it has ended.") from None


def _sealed(file: BinaryIO) -> str:
    """Write the digest of an archive's bytes into its comment; return that of the whole file."""
    length = file.seek(0, os.SEEK_END)
    seen = _digest(file, length - _SEAL_BYTES)
    seal = _MARK + seen.hexdigest().encode()
    file.seek(length - _SEAL_BYTES)
    file.write(seal)
    seen.update(seal)
    return seen.hexdigest()


def _digest(file: BinaryIO, length: int) -> "hashlib._Hash":
    seen = hashlib.sha256()
    file.seek(0)
    while length > 0 and (block := file.read(min(length, _BLOCK_BYTES))):
        seen.update(block)
        length -= len(block)
    return seen


def _verified(file: BinaryIO, path: Path) -> str:
    """Return the digest of a whole archive whose comment has that of all bytes before it."""
    length = file.seek(0, os.SEEK_END)
    tail_bytes = _LOCATOR_BYTES + _END.size + _SEAL_BYTES
    if not tail_bytes < length <= BYTES_MAX:
        raise _no_archive(path)
    file.seek(length - tail_bytes)
    tail = file.read(tail_bytes)
    seal = tail[-_SEAL_BYTES:]
    if not seal.startswith(_MARK):
        raise _no_archive(path)
    seen = _digest(file, length - _SEAL_BYTES)
    if _MARK + seen.hexdigest().encode() != seal:
        raise BadInput(
            f"{path} has been changed or damaged since it was packed: its content does not have the digest "
            "that it states. Fetch it again, or have it packed anew."
        )
    _require_one_directory(tail, length, path)
    seen.update(seal)
    return seen.hexdigest()


def _require_one_directory(tail: bytes, length: int, path: Path) -> None:
    """Refuse a directory that is too large to read, or that another one could stand in for."""
    end = tail[_LOCATOR_BYTES : _LOCATOR_BYTES + _END.size]
    mark, disk, first_disk, here, entries, directory_bytes, begins, comment_bytes = _END.unpack(end)
    if (
        mark != _END_MARK
        or tail.startswith(_LOCATOR_MARK)
        or (disk, first_disk, here, comment_bytes) != (0, 0, entries, _SEAL_BYTES)
        or begins + directory_bytes + _END.size + _SEAL_BYTES != length
    ):
        raise _no_archive(path)
    if entries > FILES_MAX or directory_bytes > _DIRECTORY_BYTES_MAX:
        raise BadInput(f"{path} has {entries:,} files; expected at most {FILES_MAX:,}.")


def _extract(file: BinaryIO, path: Path, staged: Path) -> None:
    try:
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
            places = _places(entries, path)
            _require_disk(sum(entry.file_size for entry in entries), staged, path)
            for entry, place in zip(entries, places, strict=True):
                _extract_one(archive, entry, staged / place, path)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError) as error:
        raise _no_archive(path) from error


def _places(entries: Sequence[zipfile.ZipInfo], path: Path) -> list[PurePosixPath]:
    """Return where each file goes, by its path from the run folder."""
    places = [_place(entry, path) for entry in entries]
    tops = {entry.filename.partition("/")[0] for entry in entries}
    if len(tops) != 1 or len(set(places)) != len(places):
        raise BadInput(f"{path} is refused: expected one folder in it, with each file once.")
    return places


def _place(entry: zipfile.ZipInfo, path: Path) -> PurePosixPath:
    name = entry.filename
    parts = name.split("/")
    if (
        not 1 < len(parts) <= DEPTH_MAX
        or any(part in {"", ".", ".."} for part in parts)
        or len(name.encode(errors="replace")) > NAME_BYTES_MAX
        or not name.isprintable()
        # ZipInfo ends a name at a zero byte, and others may not.
        or entry.orig_filename != name
    ):
        raise BadInput(
            f"{path} is refused: {name[:200]!r} in it is no path within a folder, so it could be written "
            "outside of the run folder."
        )
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in {0, stat.S_IFREG} or entry.flag_bits & 0x1:
        raise BadInput(f"{path} is refused: {name[:200]!r} in it is not a plain file.")
    return PurePosixPath(*parts[1:])


def _require_disk(length: int, staged: Path, path: Path) -> None:
    if length > BYTES_MAX:
        raise BadInput(f"{path} would unpack to {length:,} bytes; expected at most {BYTES_MAX:,}.")
    free = shutil.disk_usage(staged).free
    if length > free:
        raise BadInput(f"{path} unpacks to {length:,} bytes, and {staged.parent} has {free:,} left.")


def _extract_one(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, target: Path, path: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(entry) as source, target.open("xb") as written:
        # zipfile hands out no more than the length that was counted above.
        shutil.copyfileobj(source, written, _BLOCK_BYTES)
        if written.tell() != entry.file_size:
            raise _no_archive(path)
    if entry.external_attr >> 16 & stat.S_IXUSR:
        mode = target.stat().st_mode
        target.chmod(mode | (mode & 0o444) >> 2)


def _checked_name(name: str) -> str:
    if not name or not name.isprintable():
        raise BadInput(f"The folder's name {name!r} cannot be that of an archive's folder; rename it.")
    return name


def _no_archive(path: Path) -> BadInput:
    return BadInput(
        f"{path} is no archive of a run: expected a file that `loadcurve pack` has written, unchanged."
    )
