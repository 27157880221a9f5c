"""The templates of a server's configuration files: rendered for a start, and checked when they are read."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import jinja2
import jinja2.meta
from jinja2.sandbox import ImmutableSandboxedEnvironment

from loadcurve.errors import BadInput
from loadcurve.server.settings import unknown_name
from loadcurve.toml.quantities import parse_size_bytes


class Templates:
    """The templates of one server: each is looked for in these folders, in their order."""

    def __init__(self, folders: Sequence[Path]) -> None:
        """Name the folders; nothing is read."""
        self._loader = jinja2.FileSystemLoader(folders)
        # A template fills in names, and reaches nothing of Python beyond them.
        self._environment = ImmutableSandboxedEnvironment(
            loader=self._loader,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            # Configuration files, not HTML; `quoted` is there for paths.
            autoescape=False,
        )
        self._environment.filters["quoted"] = quoted
        self._environment.filters["in_bytes"] = parse_size_bytes

    @property
    def folders(self) -> list[Path]:
        """The folders in which templates are looked for."""
        return [Path(folder) for folder in self._loader.searchpath]

    def render(self, template: str, names: Mapping[str, object]) -> str:
        """Return a template's text with these names filled in; raises BadInput where that cannot be."""
        try:
            return self._environment.get_template(template).render(names)
        except jinja2.TemplateError as error:
            raise BadInput(f"The template {template} cannot be filled in: {error.message}.") from None

    def check(self, templates: Iterable[str], known: frozenset[str]) -> None:
        """Check templates, and those that they include or import, before there is anything to fill in.

        Raises ``BadInput``: one is missing, has a fault, or uses a name that is not known.
        """
        waiting, checked = list(templates), set[str]()
        while waiting:
            template = waiting.pop()
            checked.add(template)
            waiting += self._check_one(template, known) - checked

    def _check_one(self, template: str, known: frozenset[str]) -> set[str]:
        """Check one template and return those that it names."""
        try:
            text, file, _ = self._loader.get_source(self._environment, template)
            syntax = self._environment.parse(text, filename=file)
        except jinja2.TemplateSyntaxError as error:
            raise BadInput(f"{error.filename}:{error.lineno}: {error.message}") from None
        except OSError as error:
            reason = error.strerror or f"it is not in {' or '.join(self._loader.searchpath)}"
            raise BadInput(f"The template {template} cannot be read: {reason}.") from None
        unknown = jinja2.meta.find_undeclared_variables(syntax) - known
        if unknown:
            name = min(unknown)
            raise BadInput(unknown_name(f"{file}: the template uses an unknown name `{name}`", name, known))
        return set(filter(None, jinja2.meta.find_referenced_templates(syntax)))


def quoted(value: object) -> str:
    """Write a text in double quotes, quotes and backslashes escaped, as nginx and Apache read it."""
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
