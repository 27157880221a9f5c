"""The catalogue: folders of ``server.toml`` and templates, the packaged one first, then those of the user."""

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from loadcurve.errors import BadInput
from loadcurve.server.description import ServerDescription
from loadcurve.server.packaged import DESCRIPTION_FILE, PACKAGED_CATALOG
from loadcurve.server.settings import unknown_name
from loadcurve.server.templates import Templates
from loadcurve.toml.document import TomlDocument
from loadcurve.toml.expected import show
from loadcurve.toml.problems import Problem


@dataclass(frozen=True)
class CatalogEntry:
    """One server of the catalogue: its name, its folder, and what its ``server.toml`` and its bases say."""

    name: str
    folder: Path
    description: ServerDescription
    templates: Templates
    """Those of its own folder, and then those of its bases."""


class Catalog:
    """The servers that are known, by name."""

    def __init__(self, entries: Mapping[str, CatalogEntry]) -> None:
        """Make a catalogue of these entries."""
        self._entries = dict(entries)

    def __getitem__(self, name: str) -> CatalogEntry:
        """Return the entry of a name; raises BadInput with the nearest known name where there is none."""
        if name not in self._entries:
            what = (
                f"The catalogue has no server `{name}` (in a study a program of your own has start = "
                '"… {port}" in its table, and a server that runs already use = "url" and url = "…")'
            )
            raise BadInput(unknown_name(what, name, self._entries))
        return self._entries[name]

    def __contains__(self, name: str) -> bool:
        """Say whether there is an entry of this name."""
        return name in self._entries

    def __iter__(self) -> Iterator[CatalogEntry]:
        """Go through the entries in the order of their names."""
        return iter(sorted(self._entries.values(), key=lambda entry: entry.name))


def catalogs_of(study: TomlDocument) -> list[Path]:
    """Return the folder of descriptions that a study names, or an empty list without such a folder."""
    named = study.data.get("catalog")
    folder = study.path.parent / named if isinstance(named, str) else None
    return [folder] if folder is not None and folder.is_dir() else []


def documentation_addresses() -> frozenset[str]:
    """Return where the documentation of the packaged servers is: addresses that say of nobody who it is."""
    found = (entry.description.documentation for entry in load_catalog())
    return frozenset(one for one in found if one is not None)


def languages() -> dict[str, str]:
    """Return the language of each packaged server that names one, by the server's name."""
    found = {entry.name: entry.description.language for entry in load_catalog()}
    return {name: language for name, language in found.items() if language is not None}


def load_catalog(folders: Sequence[Path] = ()) -> Catalog:
    """Read the packaged catalogue and then these folders; an entry replaces an earlier one of the same name.

    Raises ``BadInput``: a folder is missing or holds no entries, or an entry cannot be used.
    """
    entries = dict(_packaged())
    for folder in folders:
        entries |= _read_folder(folder)
    return Catalog(entries)


@functools.cache
def _packaged() -> Mapping[str, CatalogEntry]:
    """Read the packaged catalogue, which stays as it is as long as a process runs."""
    return _read_folder(PACKAGED_CATALOG)


def _read_folder(folder: Path) -> dict[str, CatalogEntry]:
    if not folder.is_dir():
        raise BadInput(f"The catalogue {folder} is not a folder.")
    if (folder / DESCRIPTION_FILE).exists():
        raise BadInput(
            f"{folder} is one server, not a catalogue: give its parent folder, {folder.resolve().parent}."
        )
    descriptions = sorted(folder.glob(f"*/{DESCRIPTION_FILE}"))
    if not descriptions:
        raise BadInput(
            f"The catalogue {folder} is empty: expected folders that contain a {DESCRIPTION_FILE}."
        )
    return {file.parent.name: read_entry(file.parent) for file in descriptions}


def read_entry(folder: Path) -> CatalogEntry:
    """Read one entry and check its templates.

    Raises ``BadInput``: the description or a template cannot be used; the text names the file and the line.
    """
    folder = folder.resolve()
    layers = _read_layers(folder / DESCRIPTION_FILE)
    description = functools.reduce(TomlDocument.based_on, layers).to_model(ServerDescription)
    templates = Templates([layer.path.parent for layer in layers])
    templates.check(description.config.values(), description.template_names)
    return CatalogEntry(folder.name, folder, description, templates)


def _read_layers(file: Path, below: tuple[Path, ...] = ()) -> list[TomlDocument]:
    """Read a description and the ones that it is based on, the nearest first, a first base before a second.

    ``below`` are the files whose base this one is.
    """
    document = TomlDocument.read(file)
    below = (*below, file)
    layers = [document]
    for base in _bases(document):
        based_on = _existing_file(file.parent / base) or packaged_description(base)
        if based_on is None or based_on in below:
            text = (
                "expected the name of a packaged server, or the path, relative to this folder, of a "
                "description that is not based on this one"
            )
            raise BadInput(document.report(Problem(("base",), f"found {show(base)}; {text}")))
        layers += _read_layers(based_on, below)
    return layers


def bases_of(folder: Path) -> list[str]:
    """Return what the descriptions in a folder say that they are based on, whatever their files are."""
    return [base for file in sorted(folder.glob("*.toml")) for base in _bases(TomlDocument.read(file))]


def _bases(document: TomlDocument) -> list[str]:
    given = document.data.get("base", [])
    # What is no text is refused with the other values of the file.
    return [base for base in (given if isinstance(given, list) else [given]) if isinstance(base, str)]


def packaged_description(name: str) -> Path | None:
    """Return the description of a packaged server by its name; ``None`` where there is none."""
    return (
        None
        if "/" in name or name in {"", ".", ".."}
        else _existing_file(PACKAGED_CATALOG / name / DESCRIPTION_FILE)
    )


def _existing_file(path: Path) -> Path | None:
    """Return a file's path without links, or None where there is none, or cannot exist."""
    try:
        resolved = path.resolve()
        return resolved if resolved.is_file() else None
    except (OSError, ValueError, RuntimeError):
        return None
