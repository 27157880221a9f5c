"""Following a run whose folder is only about to be made."""

import pytest

from loadcurve.cli import watch
from loadcurve.errors import BadInput
from loadcurve.watch.following import FollowedRun
from support import synthetic_run as synthetic


def test_a_run_that_begins_a_moment_later_is_followed(tmp_path, monkeypatch, capsys):
    looks = []

    def look(followed: FollowedRun) -> object:
        looks.append(followed)
        if len(looks) == 3:
            synthetic.write_run(tmp_path / "run")
        return read(followed)

    read = FollowedRun.read
    monkeypatch.setattr(FollowedRun, "read", look)
    monkeypatch.setattr(watch, "BEGINS_WITHIN_S", 60.0)
    run = watch._begun(tmp_path / "run")
    assert (run.folder, len(looks)) == (tmp_path / "run", 3)
    assert "no run has begun in" in capsys.readouterr().err


def test_a_folder_with_other_things_in_it_is_refused_at_once(tmp_path, monkeypatch, capsys):
    (tmp_path / "mine.txt").write_text("mine")
    monkeypatch.setattr(watch, "BEGINS_WITHIN_S", 60.0)
    with pytest.raises(BadInput, match="is not a run folder"):
        watch._begun(tmp_path)
    assert capsys.readouterr().err == ""
