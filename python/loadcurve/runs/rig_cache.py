"""Keeping what was measured of a rig for later runs, and finding it again."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from loadcurve._engine import uring_refusal
from loadcurve.errors import BadInput
from loadcurve.files import write_whole
from loadcurve.host.cpus import CpuDivision
from loadcurve.host.state import state_folder
from loadcurve.result.rig import Ceiling, Noise, Rig
from loadcurve.version import VERSION

OfRig = TypeVar("OfRig", Ceiling, Noise)

_FOLDERS: dict[type[Ceiling | Noise], str] = {Ceiling: "ceilings", Noise: "noise"}


def rig_of(cpus: CpuDivision, facts: Mapping[str, Any]) -> Rig:
    """Return what a measurement of the rig that is made now on the machine of these facts depends on."""
    return Rig(
        cpu_model=facts["cpu_model"],
        kernel=facts["kernel"],
        loadcurve_version=VERSION,
        server_cpus=cpus.server,
        load_cpus=cpus.load,
        io="epoll" if uring_refusal() else "uring",
    )


def keep(measured: Ceiling | Noise) -> Path:
    """Write a measurement to where later runs find it; raises BadInput where that cannot be written.

    Ceilings of other generators of the same rig stay.
    """
    file = _file_of(type(measured), measured.rig)
    if isinstance(measured, Ceiling):
        measured = measured.beside(kept(Ceiling, measured.rig))
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, measured.model_dump_json(indent=2).encode())
    except OSError as error:
        raise BadInput(
            f"The measurement cannot be saved in {file.parent}: {error.strerror}. Set XDG_STATE_HOME to a "
            "writable folder."
        ) from None
    return file


def kept(kind: type[OfRig], rig: Rig) -> OfRig | None:
    """Return what was kept of this kind for this very rig; ``None`` where none can be read."""
    try:
        measured = kind.model_validate_json(_file_of(kind, rig).read_bytes())
    except (OSError, ValidationError):
        return None
    return measured if measured.rig == rig else None


def _file_of(kind: type[Ceiling | Noise], rig: Rig) -> Path:
    digest = hashlib.sha256(rig.model_dump_json().encode()).hexdigest()
    return state_folder(_FOLDERS[kind]) / f"{digest[:16]}.json"
