"""Every regular expression of the product takes a time that grows with the text alone, whatever the text is.

Texts come from strangers: files of other tools, headers, messages of drivers. For each pattern texts are made
of its own parts, repeated and then broken off, and the slowest of them is read at two lengths. A quadratic
pattern takes 16 times as long for four times the text, a linear one four times as long.
"""

import ast
import builtins
import heapq
import importlib
import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from pathlib import Path
from re import _parser as parser  # type: ignore[attr-defined] # what re itself reads patterns with
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

import loadcurve
from loadcurve.redaction import hidden, study_without_secrets, without_passwords
from loadcurve.report.reasons import grouped_alike
from loadcurve.result.differences import with_placeholders
from loadcurve.tools.errors import errors_of
from loadcurve.tools.process import thrown_in

PACKAGE = Path(loadcurve.__file__).parent
LENGTHS = 10_000, 40_000
SHORTER_LENGTHS = (625, 2_500), (2_500, 10_000)
"""Between which a pattern that is worse than quadratic is found before it takes for hours."""
RATIO_MAX = 8
"""Between 4, which is linear, and 16."""
REPETITIONS = 3
COMPARISONS = 3
TOO_SHORT_NS = 10_000_000
"""A quadratic pattern takes many times as long for the longest text, so here there is nothing to compare;
what takes less is also short enough to be disturbed by the machine nine times in a row."""
TRIED_LENGTH = 400
TRIED_AGAIN = 8
"""Of the texts of that length, the slowest at a first reading: these are read again, to be compared."""
OF_LINES = {"once", "optional", "all_of", "number"}
"""The methods of ``text_lines.Lines`` that match each line of a file with a pattern."""
OF_RE = {"compile", "search", "match", "fullmatch", "sub", "split", "findall", "finditer"}


class Used(NamedTuple):
    """A pattern, and how a text is looked through for it."""

    place: str
    pattern: Any
    flags: int
    method: str


class Names(dict[str, Any]):
    """What a pattern is put together from; what only a call knows is an ``x``."""

    def __init__(self, module: object) -> None:
        super().__init__()
        self.known = vars(module)

    def __missing__(self, name: str) -> Any:
        if name in self.known or hasattr(builtins, name):
            raise KeyError(name)
        return "x"


def patterns_of(path: Path, methods: dict[str, set[str]]) -> Iterator[Used]:
    name = "loadcurve." + ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
    try:
        module: Any = importlib.import_module(name.removesuffix(".__init__"))
    except ModuleNotFoundError:
        # Of an extra that is not installed here; its patterns are written out.
        module = SimpleNamespace(re=re)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}

    def value_of(node: ast.expr) -> Any:
        try:
            return eval(compile(ast.Expression(node), name, "eval"), vars(module), Names(module))
        except (AttributeError, KeyError, TypeError):
            # What a catalogue or a study gives, which is no text of strangers.
            return None

    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
            continue
        is_re = isinstance(node.func.value, ast.Name) and node.func.value.id == "re"
        is_of_lines = node.func.attr in OF_LINES and isinstance(
            node.args[0], ast.Constant | ast.JoinedStr | ast.BinOp
        )
        if not (is_re and node.func.attr in OF_RE) and not is_of_lines:
            continue
        pattern = value_of(node.args[0])
        if isinstance(pattern, re.Pattern):
            pattern = pattern.pattern
        if not isinstance(pattern, str | bytes) or pattern in ("x", b"x"):
            continue
        given = [one.value for one in node.keywords if one.arg == "flags"]
        if node.func.attr in {"compile", "search", "match", "fullmatch", "findall"}:
            given += node.args[{"compile": 1}.get(node.func.attr, 2) :]
        flags = (value_of(given[0]) if given else 0) or 0
        used = {node.func.attr}
        if is_of_lines:
            used = {"match"}
        elif node.func.attr == "compile":
            parent = parents.get(node)
            target = parent.targets[0] if isinstance(parent, ast.Assign) else getattr(parent, "target", None)
            used = methods.get(target.id, set()) if isinstance(target, ast.Name) else set()
        for method in sorted(used or {"search"}):
            looked = method if method in {"match", "fullmatch"} else "search"
            yield Used(f"{path.relative_to(PACKAGE)}:{node.lineno}", pattern, int(flags), looked)


def all_patterns() -> list[Used]:
    paths = sorted(path for path in PACKAGE.rglob("*.py") if "catalog" not in path.parts)
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    methods: dict[str, set[str]] = {}
    for text in texts.values():
        for name, method in re.findall(
            r"\b(_?[A-Z][A-Z0-9_]*)\.(search|match|fullmatch|sub|split|findall|finditer)\(", text
        ):
            methods.setdefault(name, set()).add(method)
    used = (
        one
        for path in paths
        if "re." in texts[path] or "lines." in texts[path]
        for one in patterns_of(path, methods)
    )
    return list({(one.pattern, one.flags, one.method): one for one in used}.values())


CATEGORIES = {"CATEGORY_DIGIT": "0", "CATEGORY_SPACE": " ", "CATEGORY_WORD": "a"}


def character(items: Any) -> str:
    """Return a character that a class has, or does not exclude."""
    pattern = "".join(map(str, ()))
    excluded = [item for item in items if str(item[0]) != "NEGATE"]
    is_negated = len(excluded) < len(items)
    if is_negated:
        taken = {chr(value) for op, value in excluded if str(op) == "LITERAL"}
        return next(one for one in "a0.- /" + pattern if one not in taken)
    op, value = excluded[0]
    match str(op):
        case "LITERAL":
            return chr(value)
        case "RANGE":
            return chr(value[0])
        case _:
            return CATEGORIES.get(str(value), "-")


def least(tree: Any) -> str:
    """Return a short text that a part of a pattern matches, as far as that shows without looking around."""
    text = ""
    for op, value in tree:
        match str(op):
            case "LITERAL":
                text += chr(value)
            case "NOT_LITERAL":
                text += "a" if value != ord("a") else "b"
            case "ANY":
                text += "a"
            case "IN":
                text += character(value)
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                text += value[0] * least(value[2])
            case "SUBPATTERN":
                text += least(value[3])
            case "ATOMIC_GROUP":
                text += least(value)
            case "BRANCH":
                text += least(value[1][0])
    return text


def begins(tree: Any, before: str = "") -> Iterator[str]:
    """Yield texts that lead up to each repetition of a pattern."""
    for op, value in tree:
        match str(op):
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                yield before
                yield from begins(value[2], before)
            case "SUBPATTERN":
                yield from begins(value[3], before)
            case "ATOMIC_GROUP":
                yield from begins(value, before)
            case "BRANCH":
                for branch in value[1]:
                    yield from begins(branch, before)
        before += least([(op, value)])


def units(tree: Any) -> Iterator[str]:
    """Yield what a pattern is made of: its words, its characters, one of each of its classes."""
    word = ""
    for op, value in [*tree, ("END", None)]:
        if str(op) == "LITERAL":
            word += chr(value)
            continue
        if word:
            yield from (word, word[-1])
            word = ""
        match str(op):
            case "IN":
                yield character(value)
            case "ANY" | "NOT_LITERAL":
                yield "a"
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                yield least(value[2])
                yield from units(value[2])
            case "SUBPATTERN":
                yield from units(value[3])
            case "ATOMIC_GROUP":
                yield from units(value)
            case "BRANCH":
                for branch in value[1]:
                    yield from units(branch)
            case "ASSERT" | "ASSERT_NOT":
                yield from units(value[1])


Text = Callable[[int], str]


def texts_against(used: Used) -> Iterator[Text]:
    """Yield texts of any length that may be slow to look through."""
    pattern = used.pattern if isinstance(used.pattern, str) else used.pattern.decode("latin-1")
    tree = parser.parse(pattern, used.flags & ~re.ASCII)
    parts = list(dict.fromkeys(filter(None, [*units(tree), least(tree)])))[:8]
    repeated = [*parts, *("".join(pair) for pair in product(parts, repeat=2))]
    starts = list(dict.fromkeys(["", *begins(tree)]))[:4]
    for begin, unit, end in product(starts, repeated, ["", "\0", " \0"]):
        yield lambda length, begin=begin, unit=unit, end=end: begin + unit * (length // len(unit)) + end


def time_ns(read: Callable[[Any], object], text: Any) -> int:
    begin = time.thread_time_ns()
    read(text)
    return time.thread_time_ns() - begin


def least_ns(read: Callable[[Any], object], text: Any) -> int:
    """Return what the reading takes: whatever else happens only adds to it."""
    return min(time_ns(read, text) for _ in range(REPETITIONS))


def slowest_of(texts: Iterable[Text], read: Callable[[Any], object], count: int) -> list[Text]:
    """Return the texts that take longest to read while they are short."""

    def once(text: Text) -> int:
        return time_ns(read, text(TRIED_LENGTH))

    tried = heapq.nlargest(TRIED_AGAIN, texts, key=once)
    return heapq.nlargest(count, tried, key=lambda text: least_ns(read, text(TRIED_LENGTH)))


def growth(read: Callable[[Any], object], text: Callable[[int], Any]) -> float:
    """Return how much longer the longer text takes; 0 where that is too short to tell."""
    for lengths in (*SHORTER_LENGTHS, LENGTHS):
        # What else the machine does may disturb one comparison, and not all.
        for _ in range(COMPARISONS):
            found = growth_between(read, text, lengths)
            if found <= RATIO_MAX:
                break
        else:
            break
    return found


def growth_between(
    read: Callable[[Any], object], text: Callable[[int], Any], lengths: tuple[int, int]
) -> float:
    short, long = map(text, lengths)
    # Of most texts one reading shows it: the least of several would be shorter still.
    if time_ns(read, long) < TOO_SHORT_NS or (longer := least_ns(read, long)) < TOO_SHORT_NS:
        return 0.0
    return longer / least_ns(read, short)


@pytest.mark.parametrize("used", all_patterns(), ids=lambda used: f"{used.place} {used.method}")
def test_a_pattern_is_linear_in_the_text(used: Used):
    compiled = re.compile(used.pattern, used.flags)
    read = compiled.finditer if used.method == "search" else getattr(compiled, used.method)
    look = (lambda text: deque(read(text), maxlen=0)) if used.method == "search" else read
    encoded = (lambda text: text.encode("latin-1", "replace")) if isinstance(used.pattern, bytes) else str
    texts = [lambda length, text=text: encoded(text(length)) for text in texts_against(used)]
    for text in slowest_of(texts, look, 2):
        assert growth(look, text) < RATIO_MAX, f"{used.pattern!r} on {text(40)!r}"


@pytest.mark.parametrize(
    ("pattern", "is_linear"),
    [
        # As patterns of this product once were.
        (r"(?P<scheme>[A-Za-z][\w+.-]*)://\S+", False),
        (r"dial.*(i/o timeout|timed out)", False),
        (r"\b(?:[a-z]\w*\.)+\w*(?:Exception|Error)\b.*", False),
        (r"[^\s\"';=]*/loadcurve-content-[^\s\"';/]+", False),
        (r"\S+/\d\S*", False),
        (r"(?<!\S)\S+/\d\S*", True),
        (r"(?:a+)b", False),
        ("ab", True),
    ],
)
def test_the_texts_find_what_is_quadratic(pattern: str, is_linear: bool):
    used = Used("here", pattern, 0, "search")
    compiled = re.compile(pattern)
    look = lambda text: deque(compiled.finditer(text), maxlen=0)  # noqa: E731
    [slowest] = slowest_of(texts_against(used), look, 1)
    assert (growth(look, slowest) < RATIO_MAX) == is_linear


READERS: dict[str, Callable[[str], object]] = {
    "hidden": hidden,
    "without_passwords": without_passwords,
    "study_without_secrets": lambda text: study_without_secrets(
        "# " + text.replace("\n", " ").replace("\0", "") + "\n"
    ),
    "differences": with_placeholders,
    "errors_of": lambda text: errors_of({text: 1}),
    "last_words": thrown_in,
    "alike": lambda text: grouped_alike([text]),
}
"""What reads texts of strangers by several patterns, or by none."""


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "a",
            "a.",
            "a:",
            "a://",
            "a:// ",
            "://",
            "http://a@",
            "http://a:b,",
            "/",
            "=",
            "token",
            "token ",
            "token=",
            "?a",
        ),
        *(
            "dial",
            "dial ",
            "&",
            ",",
            "@",
            "[",
            "0",
            "0,",
            " ",
            "\t",
            "\n",
            "aException",
            "a.aException.",
            "'",
            '"',
        ),
        *("/loadcurve-", "/loadcurve-content-", "a 1, ", "a 1 and "),
    ],
)
@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_what_reads_texts_of_strangers_is_linear(read: Callable[[str], object], unit: str):
    assert growth(read, lambda length: unit * (length // len(unit))) < RATIO_MAX
