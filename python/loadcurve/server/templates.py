"""The templates of a server's configuration files: rendered for a start, and checked when they are read."""

import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import jinja2
import jinja2.meta
import jinja2.nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from loadcurve.errors import BadInput, sentence
from loadcurve.server.settings import unknown_name
from loadcurve.server.versions import is_before
from loadcurve.toml.quantities import parse_binary_size_bytes


class Templates:
    """The templates of one server: each is looked for in these folders, in their order."""

    def __init__(self, folders: Sequence[Path], filled: Mapping[str, str] = MappingProxyType({})) -> None:
        """Name the folders; nothing is read. ``filled`` has what takes the places of templates, by name."""
        self._loader = jinja2.FileSystemLoader(folders)
        self._environment = _environment(self._loader)
        self._filled = filled

    @property
    def folders(self) -> list[Path]:
        """The folders in which templates are looked for."""
        return [Path(folder) for folder in self._loader.searchpath]

    def render(self, template: str, names: Mapping[str, object]) -> str:
        """Return a template's text with these names filled in; raises BadInput where that cannot be."""
        try:
            if template in self._filled:
                return self._environment.from_string(self._filled[template]).render(names)
            return self._environment.get_template(template).render(names)
        except jinja2.TemplateError as error:
            raise BadInput(
                sentence(f"The template {template} cannot be filled in: {error.message}")
            ) from None

    def with_blocks(
        self, templates: Iterable[str], blocks: Mapping[str, str], known: frozenset[str]
    ) -> "Templates":
        """Return the same templates with texts, which are templates, too, at the ends of their blocks.

        Raises ``BadInput``: no template has such a block, or a text has a fault or uses an unknown name.
        """
        filled, there = {}, set[str]()
        for template in templates:
            of_template = self._blocks_of(template)
            there |= of_template
            own = {name: text for name, text in blocks.items() if name in of_template}
            if own:
                filled[template] = _extended(template, own)
        for name, text in blocks.items():
            if name not in there:
                raise BadInput(unknown_name(f"no template has a block `{name}`", name, there))
            try:
                used, referenced = _names_in(text, name)
            except jinja2.TemplateSyntaxError as error:
                raise BadInput(f"{name}, line {error.lineno}: {error.message}") from None
            if referenced:
                raise BadInput(f"{name} names the template {min(referenced)}, which a block cannot")
            if unknown := used - known:
                raise BadInput(
                    unknown_name(f"{name} uses an unknown name `{min(unknown)}`", min(unknown), known)
                )
        return Templates(self.folders, filled)

    def _blocks_of(self, template: str) -> set[str]:
        """Return the blocks of a template, and of those that it extends."""
        text, file, _ = self._loader.get_source(self._environment, template)
        syntax = self._environment.parse(text, filename=file)
        found = {block.name for block in syntax.find_all(jinja2.nodes.Block)}
        parents = [one.template for one in syntax.find_all(jinja2.nodes.Extends)]
        names = [one.value for one in parents if isinstance(one, jinja2.nodes.Const)]
        return found.union(*map(self._blocks_of, names))

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


def _extended(template: str, blocks: Mapping[str, str]) -> str:
    """Return a template that extends another one, with texts behind what its blocks have."""
    parts = [
        f"{{% block {name} %}}{{{{ super() }}}}{text}\n{{% endblock %}}\n" for name, text in blocks.items()
    ]
    return f"{{% extends {json.dumps(template)} %}}\n{''.join(parts)}"


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
