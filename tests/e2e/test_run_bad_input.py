"""`loadcurve run`: a study or an option that cannot be used is refused before anything happens."""

import pytest

from support.sandbox import finish
from support.tiny_study import study_text


def test_a_mistake_in_the_study_is_named_with_its_line(sandbox):
    sandbox.write("tiny.toml", study_text(load="conections = 3\nrequests_total = 10"))
    finished = sandbox.run("run", "tiny.toml", "--out", "run")
    assert (finished.returncode, finished.stdout) == (2, "")
    assert "tiny.toml:10: " in finished.stderr
    assert 'did you mean "connections"?' in finished.stderr
    assert_nothing_happened(sandbox)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere.toml"], "nowhere.toml: there is no such file"),
        (["quikstart"], 'did you mean "quickstart"?'),
        (["tiny.toml", "--only", "limmit"], 'did you mean "limit"?'),
        (["tiny.toml", "--trials", 0], "--trials"),
        (["tiny.toml", "--catalog", "nowhere"], "nowhere is not a folder"),
    ],
)
def test_a_mistake_on_the_command_line_is_named(arguments, said, sandbox):
    sandbox.write("tiny.toml", study_text())
    finished = sandbox.run("run", *arguments, "--out", "run")
    assert (finished.returncode, finished.stdout) == (2, "")
    assert said in finished.stderr
    assert "Traceback" not in finished.stderr
    assert_nothing_happened(sandbox)


@pytest.mark.parametrize(
    ("study", "temporary"),
    [("tiny-\udcff.toml", "tmp"), ("tiny.toml", "tmp-\udcff")],
    ids=["study", "TMPDIR"],
)
def test_a_path_that_no_record_can_name_is_refused(study, temporary, sandbox):
    """A byte that is no UTF-8 in a path is one of these surrogates in Python."""
    sandbox.write(study, study_text())
    folder = sandbox.folder / temporary
    folder.mkdir(exist_ok=True)
    finished = finish(sandbox.start("run", study, "--out", "run", TMPDIR=str(folder)))
    assert (finished.returncode, finished.stdout) == (2, "")
    assert "the path is not valid UTF-8, but records contain it" in finished.stderr
    assert_nothing_happened(sandbox)


def assert_nothing_happened(sandbox):
    """No result was written, and no start of a server was recorded."""
    assert not (sandbox.work / "run").exists()
    assert list(sandbox.state.iterdir()) == []
