"""Where a server of a study runs: on this machine, or in a container whose image is looked up first."""

from collections.abc import Callable, Sequence
from pathlib import Path

from loadcurve.errors import sentence
from loadcurve.server.build import build_of
from loadcurve.server.catalog import CatalogEntry
from loadcurve.server.container.engine import Engine, EngineError
from loadcurve.server.container.image import Containerfile, ImageSource, NamedImage, RootFilesystem
from loadcurve.server.container.location import InContainer
from loadcurve.server.failure import ServerFailure
from loadcurve.server.found import NATIVE_FOLDER
from loadcurve.server.install import install_command_here
from loadcurve.server.location import THIS_MACHINE, Location, ThisMachine
from loadcurve.server.settings import UnusableSetting
from loadcurve.study.container import ContainerTable

CONTAINERFILE = "Containerfile"


def location_of(
    entry: CatalogEntry,
    asked: ContainerTable,
    start: Sequence[str] | None,
    say: Callable[[str], None],
    machine: ThisMachine = THIS_MACHINE,
) -> Location:
    """Return where a server runs on this machine, for which the study gives a ``start`` or not.

    Raises:
        UnusableSetting: a key of the container is missing or does not fit.
        ServerFailure: the engine or the image is not there ("engine_unavailable", "image_unavailable"), or
            the image cannot be built ("not_built").

    """
    if asked.engine is None:
        return machine
    if entry.description.from_study == "url":
        text = f"not used: the server {entry.name} is already running and is not started"
        raise UnusableSetting("engine", text)
    if entry.description.prepare is not None:
        text = (
            f"not used: the server {entry.name} is prepared on this machine, as one of its users, before "
            "it starts, so it cannot run in a container"
        )
        raise UnusableSetting("engine", text)
    runs_own_command = start is None and entry.description.start is None
    if runs_own_command and asked.port is None:
        text = (
            "missing; expected the port that the image's command listens on, or a start command with {port}"
        )
        raise UnusableSetting("port", text)
    source = _source(entry, asked)
    engine = Engine(asked.engine, tuple(asked.engine_arguments))
    version = _version(engine)
    build = build_of(entry)
    return InContainer(
        engine=engine,
        engine_version=version,
        image=source.image(engine, say),
        network=asked.network,
        folders=(entry.folder, NATIVE_FOLDER, *([] if build is None else [build.folder])),
        fixed_port=asked.port,
        content_folder=asked.content_folder,
        run_arguments=tuple(asked.run_arguments),
        address=machine.address,
        runs_own_command=runs_own_command,
    )


def _source(entry: CatalogEntry, asked: ContainerTable) -> ImageSource:
    if asked.image is not None:
        return NamedImage(asked.image)
    if asked.rootfs is not None:
        if not asked.rootfs.exists():
            raise UnusableSetting("rootfs", f'no such folder or file: "{asked.rootfs}"')
        return RootFilesystem(asked.rootfs)
    file = containerfile_of(entry)
    if file is None:
        text = f"missing; expected an image or a rootfs, as the server {entry.name} has no {CONTAINERFILE}"
        raise UnusableSetting("image", text)
    return Containerfile(file.parent.name, file)


def containerfile_of(entry: CatalogEntry) -> Path | None:
    """Return the entry's own Containerfile, or the nearest of the descriptions that it is based on."""
    files = [folder / CONTAINERFILE for folder in entry.templates.folders]
    return next((file for file in files if file.is_file()), None)


def _version(engine: Engine) -> str:
    if not engine.is_installed():
        install = install_command_here(engine.kind.packages)
        hint = f" Install it with: {install}" if install else ""
        text = f"no program {engine.name} was found on PATH.{hint}"
        raise ServerFailure("engine_unavailable", text)
    try:
        return engine.version()
    except EngineError as error:
        raise ServerFailure(
            "engine_unavailable", sentence(f"{engine.name} cannot be used: {error}"), error.said
        ) from None
