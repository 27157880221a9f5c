"""The command line: its help at 80 columns, and what it says of words that it cannot use."""

import re
import sys
from importlib.metadata import PackageNotFoundError

import pytest
from docs.generate.command import read_command

from loadcurve.cli.foreign_options import OF_A_LOAD
from loadcurve.cli.main import main
from loadcurve.cli.servers import command_lines
from loadcurve.errors import BadInput, LoadcurveError, NothingMeasured
from support.command import Command

SUMMARY_LENGTH_MAX = 60
"""Behind the longest name of a subcommand a terminal of 80 columns has room for this many characters."""
_, SUBCOMMANDS = read_command()


@pytest.mark.parametrize("subcommand", SUBCOMMANDS, ids=lambda one: one.name)
def test_the_list_of_commands_shows_each_summary_whole(subcommand):
    assert len(subcommand.summary) <= SUMMARY_LENGTH_MAX
    assert subcommand.summary.endswith(".")
    assert subcommand.summary.count(".") - subcommand.summary.count("report.html") == 1


@pytest.mark.parametrize("subcommand", SUBCOMMANDS, ids=lambda one: one.name)
def test_help_and_reference_write_an_argument_in_one_form(subcommand, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    shown = Command(tmp_path).run(*subcommand.name.split()[1:], "--help").stdout
    assert shown.startswith(f"Usage: {subcommand.usage}\n")
    assert not re.search(r"[{}]|\\.{6}|…\\.", subcommand.usage)
    for argument in subcommand.arguments:
        assert re.search(rf"^  {re.escape(argument.names)}  ", shown, re.MULTILINE)


def test_what_is_typed_in_place_of_other_tools_options_exists_and_they_do_not():
    [load] = [one for one in SUBCOMMANDS if one.name == "loadcurve load"]
    known = {
        name for option in load.options for name in re.findall(r"(?<!\w)--?[A-Za-z][\w-]*", option.names)
    }
    assert not known & set(OF_A_LOAD)
    for other, ours in OF_A_LOAD.items():
        named = set(re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", ours))
        assert named or ours.startswith("nothing"), other
        # Of two tools that mean different things by one name, the other one's is named as well.
        assert named - {"--slo"} <= known | {other}, other


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("load http://x -c", "-c: the value is missing"),
        ("load http://x -c x", "-c/--connections: expected a whole number; see loadcurve load --help"),
        ("load http://x -c 0", "-c/--connections: expected at least 1; see loadcurve load --help"),
        (
            "load http://x --full-handshakes 2",
            "--full-handshakes: expected at most 1; see loadcurve load --help",
        ),
        (
            "load",
            (
                "URL: missing; expected where the load goes, such as http://127.0.0.1:8080/ "
                "(--urls has the requests alone); see loadcurve load --help"
            ),
        ),
        (
            "load http://x --io foo",
            "--io: 'foo' is not one of 'auto', 'uring', 'epoll'; see loadcurve load --help",
        ),
        (
            "load http://x y",
            "found y after the last argument; expected options; see loadcurve load --help",
        ),
        (
            "load http://x --foo 1",
            "there is no option --foo (did you mean --from or --io or --proto?); see loadcurve load --help",
        ),
        (
            "load http://x --data a",
            "there is no option --data (here it is --body TEXT, or --body @FILE); see loadcurve load --help",
        ),
        (
            "load http://x -r 10",
            "there is no option -r (here it is -R, the rate); see loadcurve load --help",
        ),
        (
            "run study.toml --check",
            (
                'there is no option --check (here it is "loadcurve studies check STUDY", which says what '
                "would run and how long it takes); see loadcurve run --help"
            ),
        ),
        (
            'load http://127.0.0.1:1/ -d {"a":1}',
            (
                '-d/--duration: found "{\\"a\\":1}"; expected a duration above 0, up to 10⁶ s, such as '
                '"500ms" or "1m"; a body is given by --body'
            ),
        ),
        ("lod", "there is no command lod (did you mean 'load'?); see loadcurve --help"),
        ("--zzz", "there is no option --zzz; see loadcurve --help"),
        (
            "servers check",
            (
                "found check; expected NAME, check NAME, install NAME…, install --all, or remove NAME…; "
                "see loadcurve servers --help"
            ),
        ),
        (
            "doctor --study s.toml",
            "--study requires --machine or --machines; see loadcurve doctor --help",
        ),
        ("doctor --noise-server nginx", "--noise-server requires --noise; see loadcurve doctor --help"),
        (
            "servers nginx --engine podman",
            "--engine goes with check: loadcurve servers check NAME; see loadcurve servers --help",
        ),
        (
            "servers install nginx --image x",
            "--image goes with check: loadcurve servers check NAME; see loadcurve servers --help",
        ),
        (
            "generators check wrk --json",
            (
                "--json is an option of the list alone, which has every generator; "
                "see loadcurve generators --help"
            ),
        ),
        (
            "gate quickstart --base a --head b --json --format md",
            "--json and --format md name two forms; remove one of the two; see loadcurve gate --help",
        ),
        (
            "history show --json --format openmetrics",
            (
                "--json and --format openmetrics name two forms; remove one of the two; "
                "see loadcurve history --help"
            ),
        ),
        ("run", "STUDY.toml: missing; expected a study file, or --resume RUN; see loadcurve run --help"),
    ],
)
def test_words_that_cannot_be_used_are_reported_as_all_bad_input_is(arguments, said, tmp_path):
    finished = Command(tmp_path).run(*arguments.split())
    assert (finished.returncode, finished.stdout, finished.stderr) == (2, "", f"loadcurve: {said}\n")


@pytest.fixture
def ended(monkeypatch, capfd):
    """Return what runs the program in this process: its exit code, what it says and what it talks."""

    def run(*arguments: str) -> tuple[int | str | None, str, str]:
        for stream in ("stdout", "stderr"):
            # They are replaced, and are those of the tests again afterwards.
            monkeypatch.setattr(sys, stream, getattr(sys, stream))
        monkeypatch.setattr(sys, "argv", ["loadcurve", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code, *capfd.readouterr()

    return run


@pytest.mark.parametrize(
    ("error", "code"), [(LoadcurveError, 1), (BadInput, 2), (NothingMeasured, 4), (KeyboardInterrupt, 130)]
)
def test_an_error_ends_the_program_with_its_own_code(error, code, ended, monkeypatch):
    def fail() -> None:
        raise error("it cannot be")

    monkeypatch.setattr("loadcurve.cli.main.app", fail)
    said = "" if error is KeyboardInterrupt else "loadcurve: it cannot be\n"
    assert ended() == (code, "", said)


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        (PackageNotFoundError("loadcurve"), "No package metadata was found for loadcurve"),
        (ModuleNotFoundError("No module named 'polars'"), "No module named 'polars'"),
    ],
)
def test_a_part_that_is_not_installed_is_not_put_down_to_memory(missing, said, ended, monkeypatch):
    def fail() -> None:
        raise missing

    monkeypatch.setattr("loadcurve.cli.main.app", fail)
    talk = f"loadcurve: this installation is incomplete: {said}. Install Loadcurve again\n"
    assert ended() == (1, "", talk)


def test_a_native_part_of_other_sources_is_named_with_what_builds_it(ended, monkeypatch):
    def fail() -> None:
        from loadcurve._engine import no_such_function  # noqa: F401

    monkeypatch.setattr("loadcurve.cli.main.app", fail)
    code, _, talk = ended()
    assert code == 1
    assert "native part was built from other sources: cannot import name 'no_such_function'" in talk
    assert talk.endswith("in a checkout: make setup\n")


def test_an_error_that_repeats_what_steers_a_terminal_does_not_steer_it(ended):
    code, _, talk = ended("report", "gone\x1b[2J\x07\x9b31m")
    assert (code, "gone" in talk) == (2, True)
    assert [sign for sign in talk if sign < " " or "\x7f" <= sign <= "\x9f"] == ["\n"]


def test_without_words_the_help_is_shown(tmp_path):
    finished = Command(tmp_path).run()
    assert (finished.returncode, finished.stdout) == (2, "")
    assert finished.stderr.startswith("Usage: loadcurve [OPTIONS] COMMAND [ARGS]...\n")


def test_commands_to_install_a_server_are_lines_whose_words_stay_whole():
    url = f"https://one.example/{'x' * 80}.tar.gz"
    assert command_lines(f"curl -sSf {url} | tar xz && make && make install", 40) == [
        "curl -sSf",
        url,
        "| tar xz &&",
        "make &&",
        "make install",
    ]
    assert command_lines("apt-get install nginx", 40) == ["apt-get install nginx"]
