"""The catalogue: folders of ``server.toml`` and templates, the packaged one first, then those of the user."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2
import jinja2.meta

from loadcurve.errors import BadInput
from loadcurve.server.description import ServerDescription
from loadcurve.server.settings import unknown_name
from loadcurve.study.toml_document import read_toml_model

PACKAGE_FOLDER = Path(__file__).resolve().parent.parent
PACKAGED_CATALOG = PACKAGE_FOLDER / "catalog"
DESCRIPTION_FILE = "server.toml"


@dataclass(frozen=True)
class CatalogEntry:
    """One server of the catalogue: its name, its folder, and what its ``server.toml`` says."""

    name: str
    folder: Path
    description: ServerDescription


class Catalog:
    """The servers that are known, by name."""

    def __init__(self, entries: Mapping[str, CatalogEntry]) -> None:
        """Make a catalogue of these entries."""
        self._entries = dict(entries)

    def __getitem__(self, name: str) -> CatalogEntry:
        """Return the entry of a name; raises BadInput with the nearest known name where there is none."""
        if name not in self._entries:
            raise BadInput(unknown_name(f"The catalogue has no server `{name}`", name, self._entries))
        return self._entries[name]

    def __contains__(self, name: str) -> bool:
        """Say whether there is an entry of this name."""
        return name in self._entries

    def __iter__(self) -> Iterator[CatalogEntry]:
        """Go through the entries in the order of their names."""
        return iter(sorted(self._entries.values(), key=lambda entry: entry.name))


def load_catalog(folders: Sequence[Path] = ()) -> Catalog:
    """Read the packaged catalogue and then these folders; an entry replaces an earlier one of the same name.

    Raises:
        BadInput: a folder is missing or holds no entries, or an entry cannot be used.

    """
    entries: dict[str, CatalogEntry] = {}
    for folder in (PACKAGED_CATALOG, *folders):
        entries |= _read_folder(folder)
    return Catalog(entries)


def _read_folder(folder: Path) -> dict[str, CatalogEntry]:
    if not folder.is_dir():
        raise BadInput(f"The catalogue {folder} is not a folder.")
    if (folder / DESCRIPTION_FILE).exists():
        raise BadInput(
            f"{folder} is one server, not a catalogue: name the folder around it, {folder.resolve().parent}."
        )
    descriptions = sorted(folder.glob(f"*/{DESCRIPTION_FILE}"))
    if not descriptions:
        raise BadInput(f"The catalogue {folder} is empty: expected folders with a {DESCRIPTION_FILE} in it.")
    return {file.parent.name: read_entry(file.parent) for file in descriptions}


def read_entry(folder: Path) -> CatalogEntry:
    """Read one entry and check its templates.

    Raises:
        BadInput: the description or a template cannot be used; the text names the file and the line.

    """
    folder = folder.resolve()
    description = read_toml_model(folder / DESCRIPTION_FILE, ServerDescription)
    for template in description.config.values():
        _check_template(folder, template, description.template_names)
    return CatalogEntry(folder.name, folder, description)


def template_environment(folder: Path) -> jinja2.Environment:
    """Return the environment that renders an entry's templates; an unknown name is an error."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 -- configuration files, not HTML; `quoted` is there for paths
    )
    environment.filters["quoted"] = quoted
    return environment


def quoted(value: object) -> str:
    """Write a text in double quotes, quotes and backslashes escaped, as nginx and Apache read it."""
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _check_template(folder: Path, template: str, known: frozenset[str]) -> None:
    file = folder / template
    environment = template_environment(folder)
    try:
        syntax = environment.parse(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(
            f"{folder / DESCRIPTION_FILE}: the template {template} cannot be read: {error.strerror}."
        ) from None
    except jinja2.TemplateSyntaxError as error:
        raise BadInput(f"{file}:{error.lineno}: {error.message}") from None
    unknown = jinja2.meta.find_undeclared_variables(syntax) - known
    if unknown:
        name = min(unknown)
        raise BadInput(unknown_name(f"{file}: the template uses an unknown name `{name}`", name, known))
