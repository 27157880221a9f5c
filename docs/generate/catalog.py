"""The tables of the catalogue: what the texts of a ``server.toml`` may name, and each server's settings."""

from collections.abc import Mapping

from docs.generate.markdown import Tables, table

from loadcurve.server.catalog import load_catalog
from loadcurve.server.description import (
    BINARY_PLACES,
    PLACES,
    SECRET_PLACES,
    START_PLACES,
    TEMPLATE_PLACES,
    URL_PLACES,
)
from loadcurve.server.settings import IntegerSetting, QuantitySetting, Setting, TextSetting

_PLACES = {
    "address": "the address on which the server listens",
    "binary": "the server's program",
    "binary_folder": "the folder of that program",
    "build": "the folder of what was built from these sources",
    "certificate_file": "the server's certificate in PEM, where `tls` is on; otherwise empty",
    "certificate_key_file": "the key of that, which the server's user may read; otherwise empty",
    "content": "the folder with the content; a database has none",
    "entry": "the folder of `server.toml`",
    "group": "the group of the workers of root's server",
    "native": "the folder of Loadcurve's own programs",
    "servers": "the folder that `loadcurve servers install` installs servers in",
    "password": "a password that each start draws anew",
    "port": "the port on which the server listens",
    "private": "the private folder of this start, with the configuration",
    "python": "the Python that runs Loadcurve",
    "scratch": "a folder in the private one where the server may write",
    "user": "the user of the workers of root's server",
    "version": 'the server\'s version; `version is before("1.25.1")` compares it',
}
_OWN = "the names of `folders` and `files`"
_TLS = "and where there is a setting `tls`, `{certificate_file}` and `{certificate_key_file}`"
_KNOWN: Mapping[str, tuple[frozenset[str], str]] = {
    "binary": (BINARY_PLACES | {"build"}, ""),
    "build": (frozenset({"entry", "build"}), ""),
    "folders": (PLACES | {"build"}, ""),
    "files": (PLACES | {"build"}, "the names of `folders`"),
    "version": (PLACES, _OWN),
    "prepare, start, check": (START_PLACES, f"{_OWN}, the settings; {_TLS}"),
    "environment": (START_PLACES | SECRET_PLACES, f"{_OWN}, the settings; {_TLS}"),
    "templates of config": (TEMPLATE_PLACES, f"{_OWN}, the settings; {_TLS}"),
    "url": (URL_PLACES, ""),
}


def _placeholders() -> str:
    return table(("placeholder", "meaning"), ((f"`{{{name}}}`", one) for name, one in _PLACES.items()))


def _known_placeholders() -> str:
    rows = []
    for key, (names, others) in _KNOWN.items():
        listed = ", ".join(f"`{{{name}}}`" for name in sorted(names))
        rows.append((f"`{key}`", "; ".join(filter(None, [listed, others]))))
    return table(("in", "known are"), rows)


def _servers() -> str:
    sections = []
    for entry in load_catalog():
        rows = (
            (f"`{name}`", one.doc, _values(one), f"`{_text(one.default)}`")
            for name, one in entry.description.settings.items()
        )
        sections += [f"## {entry.name}\n", f"{entry.description.title}.\n"]
        if entry.description.settings:
            sections.append(table(("setting", "meaning", "values", "default"), rows))
    return "\n".join(sections)


def _values(setting: Setting) -> str:
    match setting:
        case IntegerSetting(minimum=minimum, maximum=maximum, auto=auto):
            limits = f"{minimum} to {maximum:,}" if maximum is not None else f"from {minimum}"
            return f'{limits}, or "auto"' if auto else limits
        case TextSetting(choices=list(choices)):
            return ", ".join(f"`{one}`" for one in choices)
        case QuantitySetting(type=kind):
            return f"a {kind}"
        case _:
            return {"boolean": "true or false", "share": "0 to 1", "text": "a text"}[setting.type]


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


CATALOG_TABLES: Tables = {
    "placeholders": _placeholders,
    "known-placeholders": _known_placeholders,
    "servers": _servers,
}
