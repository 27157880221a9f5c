"""What is taken of a server's reflection, and what is not: versions, imports, bounds, one deadline."""

import pytest
from google.protobuf import descriptor_pb2

from loadcurve._engine import encode_message, schema_methods
from loadcurve.errors import BadInput, NothingMeasured
from loadcurve.loads.http import ClosedLoad
from loadcurve.server import reflection
from loadcurve.server.asked import Site
from loadcurve.server.transport import CLEAR_TEXT

SITE = Site("127.0.0.1:1", "127.0.0.1:1", CLEAR_TEXT, 10.0)
TEXT = descriptor_pb2.FieldDescriptorProto.TYPE_STRING
UNIMPLEMENTED = ("UNIMPLEMENTED", None)


def load(path: str = "/h.Hello/Say") -> ClosedLoad:
    return ClosedLoad.model_validate(
        {
            "model": "closed",
            "messages": "grpc",
            "requests": [path],
            "connections": 1,
            "duration": "1s",
            "grpc": {"message": '{"name": "x"}'},
        },
        context={"folder": "."},
    )


def file(name: str, *imports: str, public: bool = False) -> descriptor_pb2.FileDescriptorProto:
    """A file with a message of its own name."""
    made = descriptor_pb2.FileDescriptorProto(name=name, package="h", dependency=imports, syntax="proto3")
    made.public_dependency.extend(range(len(imports)) if public else ())
    made.message_type.add(name=f"Of_{name}").field.add(name="name", number=1, type=TEXT, label=1)
    return made


def service(*imports: str, of: str = "main") -> descriptor_pb2.FileDescriptorProto:
    """The file of the service, whose method takes the message of a file."""
    made = file("main", *imports)
    made.service.add(name="Hello").method.add(name="Say", input_type=f".h.Of_{of}", output_type=".h.Of_main")
    return made


def edition() -> descriptor_pb2.FileDescriptorProto:
    """The file of the service in an edition of protobuf."""
    made = service()
    made.syntax = "editions"
    return made


def answer_of(*files: descriptor_pb2.FileDescriptorProto) -> bytes:
    """An answer with files: field 4 of the response, whose field 1 they are."""
    inner = b"".join(field(1, one.SerializeToString()) for one in files)
    return field(4, inner)


def field(number: int, content: bytes) -> bytes:
    """A field of bytes (protobuf, Encoding)."""
    return varint(number * 8 + 2) + varint(len(content)) + content


def varint(number: int) -> bytes:
    made = b""
    while number >= 128:
        made, number = made + bytes([number % 128 + 128]), number // 128
    return made + bytes([number])


class Script:
    """A server that answers by rules."""

    def __init__(self, monkeypatch, answer, *, versions=("v1", "v1alpha")):
        self.answer, self.versions = answer, versions
        self.asked, self.timeouts_s = [], []
        monkeypatch.setattr(reflection, "answer_as_it_comes", self)

    def __call__(self, _load, request, site, take):
        version = request.path.split(".")[2]
        question = request.body
        self.timeouts_s.append(site.timeout_s)
        self.asked.append((version, question))
        if version not in self.versions:
            return 200, UNIMPLEMENTED
        answered = self.answer(question)
        if isinstance(answered, tuple):
            return 200, answered
        take(b"\0" + len(answered).to_bytes(4))
        take(answered)
        return 200, ("OK", None)


def by_name(*files, symbol="h.Hello"):
    """Answer with the file that is asked for alone."""
    known = {field(3, one.name.encode()): one for one in files}
    known[field(4, symbol.encode())] = files[0]

    def answer(question):
        if question == field(7, b""):
            return field(6, field(1, field(1, symbol.encode())))
        if question not in known:
            return field(7, b"\x08\x05" + field(2, b"lost"))
        return answer_of(known[question])

    return answer


def test_the_older_version_is_asked_where_the_newer_one_is_not_implemented(monkeypatch):
    script = Script(monkeypatch, by_name(service("part"), file("part")), versions=["v1alpha"])
    assert schema_methods(reflection.reflected(load(), SITE)) == ["h.Hello/Say"]
    assert [version for version, _ in script.asked] == ["v1", "v1alpha", "v1alpha"]


def test_files_that_are_imported_are_asked_for_once_each(monkeypatch):
    files = [service("a", "b", of="c"), file("a", "c", public=True), file("b", "c"), file("c")]
    script = Script(monkeypatch, by_name(*files))
    found = reflection.reflected(load(), SITE)
    assert encode_message(found, [], "/h.Hello/Say", '{"name": "x"}') == b"\x0a\x01x"
    assert len(script.asked) == len(files)


def test_a_server_that_sends_all_files_at_once_is_asked_once(monkeypatch):
    files = [service("a"), file("a")]
    script = Script(monkeypatch, lambda _: answer_of(*files))
    reflection.reflected(load(), SITE)
    assert len(script.asked) == 1


@pytest.mark.parametrize("public", [False, True])
def test_files_that_import_each_other_end(monkeypatch, public):
    # protobuf forbids it, and a compiler would not make them.
    files = [service("a"), file("a", "b", public=public), file("b", "a", public=public)]
    script = Script(monkeypatch, by_name(*files))
    found = reflection.reflected(load(), SITE)
    assert encode_message(found, [], "h.Hello/Say", '{"name": "x"}') == b"\x0a\x01x"
    assert len(script.asked) == 3


def test_layers_of_files_that_import_all_of_the_next_one_publicly_end_soon(monkeypatch):
    # There are 2 to the 40th ways through them.
    names = [(f"a{layer}", f"b{layer}") for layer in range(40)]
    layers = [
        file(name, *below, public=True)
        for both, below in zip(names, [*names[1:], ()], strict=True)
        for name in both
    ]
    everything = [name for both in names for name in both]
    Script(monkeypatch, lambda _: answer_of(service(*everything), *layers))
    assert schema_methods(reflection.reflected(load(), SITE)) == ["h.Hello/Say"]


@pytest.mark.parametrize(
    ("answer", "parts"),
    [
        (by_name(service("lost")), ['no file "lost", which "main" imports']),
        (lambda _: answer_of(service("a")), ['no file "a", which "main" imports']),
        (lambda question: answer_of(endless(question)), ["more than 500 files"]),
        (lambda _: answer_of(service("a"), file("a"), *map(file, map(str, range(600)))), ["more than 500"]),
        (lambda _: bytes(reflection.BYTES_MAX + 1), ["more than 8 MiB"]),
        (lambda _: b"\xff\xff", ["cannot be used"]),
        (lambda _: answer_of(service(of="nothing")), ["cannot be used", "nothing"]),
        (lambda _: answer_of(edition()), ["cannot be used", 'main has the syntax "editions"']),
        (lambda _: ("PERMISSION_DENIED", "not for you"), ['PERMISSION_DENIED: "not for you"']),
        (lambda _: field(7, b"\x08\x07" + field(2, b"no")), ['PERMISSION_DENIED: "no"']),
    ],
)
def test_what_cannot_be_used_is_refused_with_what_to_give_instead(monkeypatch, answer, parts):
    Script(monkeypatch, answer)
    with pytest.raises(NothingMeasured) as refused:
        reflection.reflected(load(), SITE)
    for part in ["127.0.0.1:1: its reflection gives no descriptors", "--proto FILE", *parts]:
        assert part in str(refused.value)


def endless(question: bytes) -> descriptor_pb2.FileDescriptorProto:
    """The file of the name that is asked for, a number, which imports the one of the next number."""
    if question == field(4, b"h.Hello"):
        return service("0")
    name = question[2:].decode()
    return file(name, str(int(name) + 1))


def test_a_server_without_reflection_is_refused(monkeypatch):
    Script(monkeypatch, by_name(service()), versions=[])
    with pytest.raises(BadInput, match=r"has no reflection .+--proto FILE"):
        reflection.reflected(load(), SITE)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/h.Hallo/Say", 'no service "h.Hallo"; it has h.Hello; did you mean "h.Hello"?'),
        ("/h.Hello/Sai", 'no method "h.Hello/Sai"; it has h.Hello/Say; did you mean "h.Hello/Say"?'),
    ],
)
def test_names_that_the_server_does_not_know_are_refused_with_the_nearest(monkeypatch, path, said):
    Script(monkeypatch, by_name(service()))
    with pytest.raises(BadInput) as refused:
        reflection.reflected(load(path), SITE)
    assert said in str(refused.value)


def test_all_questions_together_have_one_deadline(monkeypatch):
    clock = iter(range(1000))
    monkeypatch.setattr(reflection.time, "monotonic", lambda: next(clock))
    script = Script(monkeypatch, by_name(service("a", "b"), file("a"), file("b")))
    reflection.reflected(load(), SITE)
    # The deadline is taken at 0 s, and each question one second later than the one before.
    assert script.timeouts_s == [9, 8, 7]
