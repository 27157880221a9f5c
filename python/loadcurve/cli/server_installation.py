"""``loadcurve servers install`` and ``remove``: servers in a folder of their own, by version and digest."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from rich.text import Text

from loadcurve.cli.console import new_console
from loadcurve.errors import BadInput, LoadcurveError
from loadcurve.server.build import build_of
from loadcurve.server.catalog import Catalog, CatalogEntry, load_catalog
from loadcurve.server.failure import ServerFailure
from loadcurve.server.found import NATIVE_FOLDER, FoundServer, Overrides, find_server
from loadcurve.server.install import install_command_here
from loadcurve.server.installed.installation import install, remove
from loadcurve.server.installed.place import FOLDER_VARIABLE, installed_server, servers_folder
from loadcurve.server.installed.recipe import REGISTRY_NAMES, Recipe


def install_command(names: Sequence[str], catalogs: Sequence[Path], to: Path | None, *, every: bool) -> None:
    """Install servers one after the other, and say of each where it is or why it cannot be had.

    Raises ``BadInput`` behind the last of them: a server that was named, or that has a recipe, is not there.
    """
    catalog = load_catalog(catalogs)
    entries = (
        [entry for entry in catalog if entry.description.from_study is None] if every else _of(catalog, names)
    )
    folder = servers_folder() if to is None else to.expanduser().absolute()
    out, say = new_console(is_list=True), new_console(stderr=True).print
    failed = []
    for entry in entries:
        recipe = entry.description.recipe
        if recipe is not None and installed_server(recipe.name, folder) is None:
            say(Text(f"fetching {in_words(recipe)} …"))
        try:
            told = installed(entry, folder, lambda text: say(Text(text)))
        except LoadcurveError as error:
            is_expected = every and recipe is None
            failed += [] if is_expected else [entry.name]
            told = str(error)
        out.print(Text(f"{entry.name}: {told}"), soft_wrap=True)
    if to is not None and folder != servers_folder():
        say(Text(f"Studies look for servers in {folder} where {FOLDER_VARIABLE}={folder} is set."))
    if failed:
        raise BadInput(f"Not installed: {', '.join(failed)}; the reasons are above.")


def remove_command(names: Sequence[str], catalogs: Sequence[Path], to: Path | None) -> None:
    """Remove installed servers; raises ``BadInput`` at first where the catalogue has no such server."""
    folder = servers_folder() if to is None else to.expanduser().absolute()
    out = new_console(is_list=True)
    for entry in _of(load_catalog(catalogs), names):
        recipe = entry.description.recipe
        was_there = recipe is not None and remove(recipe.name, folder)
        text = (
            f"{entry.name}: removed from {folder}"
            if was_there
            else f"{entry.name}: not installed in {folder}"
        )
        out.print(Text(text), soft_wrap=True)


def in_words(recipe: Recipe) -> str:
    """Return the packages of a recipe and where they come from, for a person."""
    release = "" if recipe.release is None else f" {recipe.release}"
    packages = ", ".join(package.title for package in recipe.packages)
    return f"{packages} from {REGISTRY_NAMES[recipe.registry]}{release}"


def _of(catalog: Catalog, names: Iterable[str]) -> list[CatalogEntry]:
    """Return the entries of names, each once; raises ``BadInput`` for one that no server has."""
    entries = [catalog[name] for name in dict.fromkeys(names)]
    for entry in entries:
        if entry.description.from_study is not None:
            raise BadInput(f"{entry.name} is defined by a study, which names its program or its URL.")
    return entries


def installed(entry: CatalogEntry, folder: Path, say: Callable[[str], None]) -> str:
    """Install a server and say where it is; raises ``LoadcurveError`` where it cannot be had."""
    recipe = entry.description.recipe
    if recipe is not None:
        there = install(recipe, folder)
        told = f"{in_words(recipe)}, at {there.program}"
        looked_for = find_server(entry, {}, Overrides(binary=there.program))
        if isinstance(looked_for, FoundServer):
            return told
        raise ServerFailure("not_installed", f"{told}, but {looked_for.reason}{_hint(entry)}")
    found = find_server(entry, {})
    if not isinstance(found, FoundServer) and found.build is not None:
        found.build.run(say)
        found = find_server(entry, {})
    if isinstance(found, FoundServer):
        return _where(entry, found)
    raise ServerFailure("not_installed", f"{found.reason}{_hint(entry)}")


def _hint(entry: CatalogEntry) -> str:
    command = install_command_here(entry.description.install)
    return f"; install it with: {command}" if command else ""


def _where(entry: CatalogEntry, found: FoundServer) -> str:
    if found.binary.is_relative_to(NATIVE_FOLDER):
        return f"{found.version}, part of Loadcurve"
    built = "" if build_of(entry) is None else "built from source, "
    return f"{found.version}, {built}at {found.binary}"
