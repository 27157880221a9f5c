"""What a run requires of a study before it looks at this machine: the same, without a run."""

from pathlib import Path

from loadcurve.runs.generators import require_generators
from loadcurve.runs.prepare import chosen_cpus, require_fitting, require_known_types, require_requested_files
from loadcurve.server.catalog import Catalog
from loadcurve.server.content import content_of_folder
from loadcurve.study.model import Study
from loadcurve.study.several import is_of_several, parts_of
from loadcurve.toml.document import TomlDocument


def checked_studies(file: Path, catalog: Catalog) -> list[Study]:
    """Return the study of a file, or those of its loads, as a run would accept them; nothing is started.

    Servers are not looked for, so what only an installed version shows is left to the run.

    Raises:
        BadInput: a run would refuse it.

    """
    document = TomlDocument.read(file)
    found: list[tuple[TomlDocument, Study]] = []
    if is_of_several(document):
        found += [(load.document, study) for load, study in parts_of(document)]
    else:
        found += [(document, document.to_model(Study))]
    for of_part, study in found:
        _require(study, of_part, catalog, has_other_loads=len(found) > 1)
    return [study for _, study in found]


def _require(study: Study, document: TomlDocument, catalog: Catalog, *, has_other_loads: bool) -> None:
    require_known_types(study, document)
    require_generators(study, document, catalog, has_other_loads=has_other_loads)
    if not any(map(study.server_machine_of, study.servers)):
        chosen_cpus(study, document, dict.fromkeys(study.servers))
    require_fitting(study, document, catalog)
    if study.content is not None:
        folder = study.content.folder
        names = study.content.files if folder is None else content_of_folder(folder)
        require_requested_files(study, document, names, seed=0)
