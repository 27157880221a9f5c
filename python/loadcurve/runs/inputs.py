"""The inputs of a run: what its study names and what its servers are described by, kept in its folder.

The copies are made before anything is measured, and the study in the folder names them, so that a copy of
the folder is enough to repeat the run on another machine. What is private, a program or too large is not
kept, and the study then has its absolute path.
"""

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from loadcurve.files import make_folder, sha256_of
from loadcurve.result.inputs import CATALOG_OPTION, InputRecord, LeftOutReason, with_kept_names
from loadcurve.result.run_files import INPUTS_FOLDER
from loadcurve.server.catalog import CatalogEntry, bases_of, read_entry
from loadcurve.server.packaged import DESCRIPTION_FILE, PACKAGED_CATALOG
from loadcurve.study.inputs import (
    NamedFile,
    files_of,
    in_the_studys_folder,
    renamed,
    with_names,
    with_working_folder,
)
from loadcurve.study.url_files import with_absolute_files
from loadcurve.toml.document import TomlDocument

BYTES_MAX = 256 * 2**20
"""Of one input: a list of ten million paths has about that."""
FILES_MAX = 10_000
_LEFT_ALONE = ("target", "node_modules", "__pycache__")
"""Folders within an entry of a catalogue that are made of the rest of it."""


@dataclass(frozen=True)
class _Copied:
    """A file or a folder, and where its copy goes."""

    source: Path
    name: str
    files: Sequence[Path]
    """Its files; one that is a file is the only one."""


class RunInputs:
    """The inputs of one run, as they are when it begins."""

    def __init__(
        self,
        document: TomlDocument,
        catalogs: Sequence[Path] = (),
        used: Sequence[str] = (),
        own_programs: Sequence[str] = (),
    ) -> None:
        """Look at what a study names, and at the entries with these names in the person's own catalogues.

        ``own_programs`` are the servers whose program the study names, which works in the study's folder.

        Raises ``BadInput`` where one of these cannot be used.
        """
        self._named = files_of(document)
        self._folder = document.path.parent.absolute()
        self._own_programs = in_the_studys_folder(document.data, own_programs)
        self._copies: dict[Path, _Copied] = {}
        self._reasons: dict[Path, LeftOutReason] = {}
        self.records = [*self._of_study(), *self._of_catalogs(catalogs, used)]

    def study_text(self, text: str) -> str:
        """Return the text of the study with the names of the copies, and with the folder of its programs."""
        return with_working_folder(
            renamed(text, self._named, self._name_of), self._own_programs, self._folder
        )

    def recorded(self, study: dict[str, Any]) -> dict[str, Any]:
        """Return the record of a study, which has absolute paths, with the names of the copies."""
        names = {
            f"{mark}{source}": f"{mark}{copied.name}"
            for source, copied in self._copies.items()
            for mark in ("", "@")
        }
        for url in {one.text for one in self._named if one.in_url is not None}:
            in_it = [one for one in self._named if one.text == url]
            names[with_absolute_files(url, self._folder)] = with_names(url, in_it, self._name_of)
        record: dict[str, Any] = with_kept_names(study, names)
        return record

    def copy_into(self, folder: Path) -> None:
        """Write the copies; raises ``OSError`` where one cannot be read or written."""
        for copied in self._copies.values():
            for file in copied.files:
                place = folder / copied.name / file.relative_to(copied.source)
                make_folder(place.parent)
                shutil.copyfile(file, place)
                # A program stays one, and what others may not read stays so.
                place.chmod(file.stat().st_mode & 0o777 | stat.S_IRUSR | stat.S_IWUSR)

    def _of_study(self) -> Iterator[InputRecord]:
        for key, name, file in dict.fromkeys((one.key, one.recorded, one.file) for one in self._named):
            kind = next(one.kind for one in self._named if one.file == file)
            shown = ".".join(key)
            if kind != "input":
                self._reasons[file] = kind
                yield InputRecord(key=shown, name=name, kept_as=None, left_out=kind)
            else:
                yield self._kept(shown, name, file, self._free_name(file))
        for server in self._own_programs:
            place = f"servers.{server}.cwd"
            yield InputRecord(key=place, name=str(self._folder), kept_as=None, left_out="program")

    def _of_catalogs(self, catalogs: Sequence[Path], used: Sequence[str]) -> Iterator[InputRecord]:
        for number, catalog in enumerate(catalogs, start=1):
            name = str(catalog.absolute())
            entries = [
                read_entry(catalog / one) for one in used if (catalog / one / DESCRIPTION_FILE).is_file()
            ]
            if not entries:
                yield InputRecord(key=CATALOG_OPTION, name=name, kept_as=None, left_out="not used")
                continue
            folders = list(dict.fromkeys(one for entry in entries for one in _folders_of(entry, catalog)))
            # Descriptions name those that they are based on by relative paths.
            root = Path(os.path.commonpath([catalog.absolute(), *folders]))
            record = self._kept(CATALOG_OPTION, name, root, f"catalog-{number}", folders)
            place = catalog.absolute().relative_to(root)
            yield record.model_copy(update={"kept_as": record.kept_as and str(Path(record.kept_as, place))})

    def _kept(
        self, key: str, name: str, source: Path, copy: str, folders: Sequence[Path] | None = None
    ) -> InputRecord:
        """Return the record of an input, or of these folders in it, whose copy has this name."""
        try:
            found = list(_files(source) if folders is None else _files_in(folders))
            length = sum(file.stat().st_size for file in found)
            if length > BYTES_MAX or len(found) > FILES_MAX:
                self._reasons[source] = "too large"
            else:
                digest = _digest(source, found)
                copied = _Copied(source, f"{INPUTS_FOLDER}/{copy}", found)
                self._copies[source] = copied
                return InputRecord(key=key, name=name, kept_as=copied.name, bytes=length, sha256=digest)
        except OSError:
            self._reasons[source] = "unreadable"
        return InputRecord(key=key, name=name, kept_as=None, left_out=self._reasons[source])

    def _free_name(self, file: Path) -> str:
        """Return a path for the copy of a file: that from the study's folder, where it is in there."""
        if (copied := self._copies.get(file)) is not None:
            return copied.name.removeprefix(f"{INPUTS_FOLDER}/")
        normal = Path(os.path.normpath(file))
        inside = normal.relative_to(self._folder) if normal.is_relative_to(self._folder) else None
        # A run that is repeated from its folder has its inputs where they were.
        parts = [] if inside is None else [*inside.parts]
        path = Path(*parts[1 if parts[:1] == [INPUTS_FOLDER] else 0 :]) if parts else Path(normal.name)
        taken = {one.name for one in self._copies.values()}
        name, number = path, 1
        while f"{INPUTS_FOLDER}/{name}" in taken:
            number += 1
            name = path.with_name(f"{path.stem}-{number}{path.suffix}")
        return str(name)

    def _name_of(self, named: NamedFile) -> str:
        name = self._plain_name_of(named)
        return name if named.in_url is None else quote(name)

    def _plain_name_of(self, named: NamedFile) -> str:
        copied = self._copies.get(named.file)
        if copied is not None:
            return f"{{study}}/{copied.name}" if named.is_placeholder else copied.name
        path = str(named.file)
        # Braces of a path in a command are doubled, as placeholders are filled in there.
        return path.replace("{", "{{").replace("}", "}}") if named.is_placeholder else path


def _files(source: Path) -> Iterator[Path]:
    """Yield the files of a folder, or a file itself; raises ``OSError`` for what is neither."""
    if not source.is_dir():
        # What is no file, such as a pipe, has no content to keep.
        if not source.is_file():
            raise FileNotFoundError(source)
        yield source
        return
    for place, folders, files in os.walk(source):
        folders[:] = sorted(one for one in folders if one not in _LEFT_ALONE and not one.startswith("."))
        yield from (path for one in sorted(files) if (path := Path(place, one)).is_file())


def _folders_of(entry: CatalogEntry, catalog: Path) -> Iterator[Path]:
    """Yield the folder of an entry in a catalogue, and those of the descriptions that it is based on.

    Packaged ones that are named, and not by a path, are wherever Loadcurve is.
    """
    yield catalog.absolute() / entry.name
    others = [one for one in entry.templates.folders if one != entry.folder]
    own = [one for one in others if not one.is_relative_to(PACKAGED_CATALOG)]
    is_by_path = any(
        (folder / base).resolve().is_relative_to(PACKAGED_CATALOG)
        for folder in [entry.folder, *own]
        for base in bases_of(folder)
    )
    yield from others if is_by_path else own


def _files_in(folders: Sequence[Path]) -> Iterator[Path]:
    for folder in folders:
        yield from _files(folder)


def _digest(source: Path, files: Sequence[Path]) -> str:
    if files == [source]:
        return sha256_of(source)
    whole = hashlib.sha256()
    for file in files:
        whole.update(f"{file.relative_to(source)}\0{sha256_of(file)}\n".encode())
    return whole.hexdigest()
