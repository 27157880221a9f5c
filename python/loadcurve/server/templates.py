"""The templates of a server's configuration files: rendered for a start, and checked when they are read."""

import functools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import jinja2
import jinja2.meta
from jinja2.sandbox import ImmutableSandboxedEnvironment

from loadcurve.errors import BadInput, sentence
from loadcurve.server.settings import unknown_name
from loadcurve.server.versions import is_before
from loadcurve.toml.quantities import parse_binary_size_bytes


class Templates:
    """The templates of one server: each is looked for in these folders, in their order."""

    def __init__(self, folders: Sequence[Path]) -> None:
        """Name the folders; nothing is read."""
        self._loader = jinja2.FileSystemLoader(folders)
        self._environment = _environment(self._loader)

    @property
    def folders(self) -> list[Path]:
        """The folders in which templates are looked for."""
        return [Path(folder) for folder in self._loader.searchpath]

    def render(self, template: str, names: Mapping[str, object]) -> str:
        """Return a template's text with these names filled in; raises BadInput where that cannot be."""
        try:
            return self._environment.get_template(template).render(names)
        except jinja2.TemplateError as error:
            raise BadInput(
                sentence(f"The template {template} cannot be filled in: {error.message}")
            ) from None

    def check(self, templates: Iterable[str], known: frozenset[str]) -> frozenset[str]:
        """Check templates, and those that they include or import, before there is anything to fill in.

        Returns the names that they use.

        Raises ``BadInput``: one is missing, has a fault, or uses a name that is not known.
        """
        waiting, checked, names = list(templates), set[str](), frozenset[str]()
        while waiting:
            template = waiting.pop()
            checked.add(template)
            used, referenced = self._check_one(template, known)
            names |= used
            waiting += referenced - checked
        return names

    def _check_one(self, template: str, known: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
        """Check one template and return the names that it uses and the templates that it names."""
        try:
            text, file, _ = self._loader.get_source(self._environment, template)
            used, referenced = _names_in(text, file)
        except jinja2.TemplateSyntaxError as error:
            raise BadInput(f"{error.filename}:{error.lineno}: {error.message}") from None
        except OSError as error:
            reason = error.strerror or f"it is not in {' or '.join(self._loader.searchpath)}"
            raise BadInput(f"The template {template} cannot be read: {reason}.") from None
        except (ValueError, RecursionError) as error:
            # Bytes that are no UTF-8, a number of thousands of digits, or as many parentheses.
            raise BadInput(sentence(f"The template {template} cannot be read: {error}")) from None
        unknown = used - known
        if unknown:
            name = min(unknown)
            raise BadInput(unknown_name(f"{file}: the template uses an unknown name `{name}`", name, known))
        return used, referenced


def _environment(loader: jinja2.BaseLoader | None = None) -> jinja2.Environment:
    # A template fills in names, and reaches nothing of Python beyond them.
    environment = ImmutableSandboxedEnvironment(
        loader=loader,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        # Configuration files, not HTML; `quoted` is there for paths.
        autoescape=False,
    )
    environment.filters["quoted"] = quoted
    environment.filters["in_binary_bytes"] = parse_binary_size_bytes
    environment.tests["before"] = is_before
    return environment


@functools.cache
def _names_in(text: str, file: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names that the text of a template uses and the templates that it names.

    Parsing takes most of the time of reading a catalogue, so that a text is parsed once in a process. Raises
    ``jinja2.TemplateSyntaxError`` with the name of the file.
    """
    syntax = _environment().parse(text, filename=file)
    referenced = filter(None, jinja2.meta.find_referenced_templates(syntax))
    return frozenset(jinja2.meta.find_undeclared_variables(syntax)), frozenset(referenced)


def quoted(value: object) -> str:
    """Write a text in double quotes, quotes and backslashes escaped, as nginx and Apache read it."""
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
