"""Files of any content: descriptions of servers and run folders are read or refused, whatever is in them."""

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as some

from loadcurve.errors import BadInput
from loadcurve.result.folder import RunFolder, read_run
from loadcurve.result.run_files import RUN_COPY_FILE, RUN_FILE, STUDY_FILE, TRIALS_FILE
from loadcurve.server.catalog import read_entry
from loadcurve.server.description import ServerDescription
from loadcurve.server.packaged import DESCRIPTION_FILE, PACKAGED_CATALOG
from support import synthetic_run as synthetic

EXAMPLES = 50
"""Of each kind of file."""

KEYS = [field.alias or name for name, field in ServerDescription.model_fields.items()]
COMPLETE = 'title = "s"\nbinary = ["s"]\nstart = ["s"]\n[version]\ncommand = ["s"]\npattern = "(.)"\n'
"""A description that is taken."""
PACKAGED = [path.read_bytes() for path in sorted(PACKAGED_CATALOG.glob(f"*/{DESCRIPTION_FILE}"))]
TEMPLATE = "server.conf.j2"

RECORD = synthetic.run_record()
RECORDS = synthetic.trial_records(RECORD)[:2]

texts = some.text(max_size=20) | some.sampled_from(
    [*KEYS, TEMPLATE, "{port}", "{", "1s", "0", "..", "x" * 300]
)
values = some.recursive(
    texts | some.booleans() | some.integers() | some.floats(),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


def as_toml(value: object) -> str:
    """Write a value as TOML does."""
    match value:
        case dict():
            return "{" + ", ".join(f"{as_toml(key)} = {as_toml(one)}" for key, one in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(as_toml, value)) + "]"
        case str():
            # JSON escapes all that TOML does, but for one character.
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case bool():
            return str(value).lower()
        case _:
            return str(value)


@some.composite
def descriptions(draw: some.DrawFn) -> bytes:
    """Draw a complete description, with values of any kind for some of its keys."""
    others = draw(some.dictionaries(some.sampled_from(KEYS) | texts, values, min_size=1, max_size=3))
    given = {"title": "s", "binary": ["s"], "start": ["s"], **others}
    if "from_study" not in given:
        given.setdefault("version", {"command": ["s"], "pattern": "(.)"})
    return "\n".join(f"{as_toml(key)} = {as_toml(value)}" for key, value in given.items()).encode()


@some.composite
def changed(draw: some.DrawFn, files: list[bytes]) -> bytes:
    """Draw one of these files with some of its parts replaced."""
    data = draw(some.sampled_from(files))
    for _ in range(draw(some.integers(1, 3))):
        begin = draw(some.integers(0, len(data)))
        end = draw(some.integers(begin, min(len(data), begin + 40)))
        data = data[:begin] + draw(some.binary(max_size=20) | texts.map(str.encode)) + data[end:]
    return data


@contextmanager
def new_folder() -> Iterator[Path]:
    """Give a folder of one example."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def refusal(read: Callable[[], object]) -> str | None:
    """Return what is said where a file is refused; any error but ``BadInput`` comes out."""
    try:
        read()
    except BadInput as error:
        return str(error)
    return None


def read_server(description: bytes, template: bytes = b"listen {{ port }}\n") -> None:
    """Read a server with this description and this template; no error but ``BadInput`` may come out."""
    with new_folder() as folder:
        (folder / DESCRIPTION_FILE).write_bytes(description)
        (folder / TEMPLATE).write_bytes(template)
        assert refusal(lambda: read_entry(folder)) != ""


@settings(max_examples=EXAMPLES)
@given(some.binary(max_size=200) | changed(PACKAGED) | descriptions())
@example(f'base = "a\\u0000b"\n{COMPLETE}'.encode())
@example(f'base = "{"x" * 300}"\n{COMPLETE}'.encode())
@example(COMPLETE.replace("(.)", "(.{9999999999})").encode())
@example(COMPLETE.replace("(.)", "(" * 2000 + ")" * 2000).encode())
@example(f"user = [{'1' * 5000}]\n{COMPLETE}".encode())
@example(f"{'.'.join('a' * 2000)} = 1\n{COMPLETE}".encode())
@example(f"user = {'[' * 2000}{']' * 2000}\n{COMPLETE}".encode())
def test_a_description_of_any_content_is_read_or_refused(description: bytes):
    read_server(description)


@settings(max_examples=EXAMPLES)
@given(
    some.binary(max_size=100) | changed([b'{% if tls %}a{% endif %}{{ port | quoted }}{% include "b" %}\n'])
)
@example(b"\xff")
@example(b"{{ " + b"(" * 2000 + b")" * 2000 + b" }}")
@example(b"{{ " + b"1" * 5000 + b" }}")
def test_a_template_of_any_content_is_read_or_refused(template: bytes):
    read_server(f'config = {{ "server.conf" = "{TEMPLATE}" }}\n{COMPLETE}'.encode(), template)


def test_the_description_that_others_are_made_of_is_taken():
    with new_folder() as folder:
        (folder / DESCRIPTION_FILE).write_text(COMPLETE)
        assert read_entry(folder).description.title == "s"


@pytest.fixture(scope="module")
def run_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a run folder that is read, by name."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    with RunFolder.create(folder, RECORD, "title = 'a study'\n") as writer:
        for record in RECORDS:
            writer.append(record)
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


json_values = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | texts,
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


@some.composite
def replaced_values(draw: some.DrawFn, objects: list[bytes]) -> bytes:
    """Draw objects of JSON, one a line: in one of them a value is replaced and the checksum left out."""
    lines = [json.loads(one) for one in objects]
    place = draw(some.sampled_from(lines))
    place.pop("sha256", None)
    while True:
        key = draw(some.sampled_from(range(len(place)) if isinstance(place, list) else sorted(place)))
        if not isinstance(place[key], dict | list) or not place[key] or draw(some.booleans()):
            break
        place = place[key]
    place[key] = draw(json_values)
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


@settings(max_examples=EXAMPLES)
@given(some.data())
def test_a_run_folder_of_any_content_is_read_or_refused(run_files: dict[str, bytes], data: some.DataObject):
    names = some.sampled_from([RUN_FILE, RUN_COPY_FILE, TRIALS_FILE, STUDY_FILE])
    files = dict(run_files)
    for name in data.draw(some.lists(names, min_size=1, max_size=3, unique=True)):
        contents = some.binary(max_size=200) | changed([files[name]])
        if name != STUDY_FILE:
            objects = files[name].splitlines() if name == TRIALS_FILE else [files[name]]
            contents |= replaced_values(objects)
        files[name] = data.draw(contents, label=name)
    with new_folder() as folder:
        for name, content in files.items():
            (folder / name).write_bytes(content)
        assert refusal(lambda: read_run(folder)) != ""
