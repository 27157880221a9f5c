"""Reading a study file that can be used, and refusing files that are no studies."""

import os

import pytest

from loadcurve.errors import BadInput
from support.cases import changed
from support.good_study import GOOD, problems_in, write
from support.read_study import read_study


def test_a_good_study_is_read(tmp_path):
    study = read_study(write(tmp_path, GOOD))
    assert study.title == "One file"
    assert study.question is None
    assert study.content.files == {"1k.txt": 1024}
    assert study.load.warmup_s == 0.5
    assert study.sweep == {"connections": [1, 10]}
    assert (study.trials.count, study.trials.restart) == (3, "point")
    assert (study.host.server_cpus, study.host.load_cpus) == ([0], [1])
    assert study.servers["other"].settings == {"workers": 2}


def test_a_study_may_begin_with_a_byte_order_mark(tmp_path):
    assert read_study(write(tmp_path, "\ufeff" + GOOD)).title == "One file"


def test_a_path_may_carry_a_query(tmp_path):
    study = read_study(write(tmp_path, changed(GOOD, '["/1k.txt"] -> ["/1k.txt?size=1"]')))
    assert study.load.requests == ["/1k.txt?size=1"]


def test_a_folder_of_content_counts_from_the_study_file(tmp_path):
    (tmp_path / "site").mkdir()
    study = read_study(write(tmp_path, changed(GOOD, '"1k.txt" = "1KiB" -> folder = "site"')))
    assert study.content.folder == (tmp_path / "site").resolve()
    assert study.content.files == {}


def test_a_program_counts_from_the_study_file(tmp_path, monkeypatch):
    study_folder, elsewhere = tmp_path / "study", tmp_path / "elsewhere"
    study_folder.mkdir()
    elsewhere.mkdir()
    file = write(study_folder, changed(GOOD, 'use = "nginx" -> use = "nginx"\nbinary = "bin/nginx"'))
    monkeypatch.chdir(elsewhere)
    assert read_study(file).servers["other"].binary == study_folder / "bin/nginx"


def test_a_file_of_the_content_may_be_given_as_a_text(tmp_path):
    study = read_study(write(tmp_path, changed(GOOD, '"1k.txt" = "1KiB" -> "1k.txt" = { text = "1KiB" }')))
    assert study.content.files == {"1k.txt": "1KiB"}


@pytest.mark.parametrize(("text", "line"), [("a = \n", 1), ("a = 1\n[b\n", 2), ("a = 1\n\na = 2\n", 3)])
def test_text_that_is_not_toml_is_reported_with_its_line(tmp_path, text, line):
    (problem,) = problems_in(tmp_path, text)
    assert problem.startswith(f":{line}: not TOML at column ")


def test_what_only_a_later_toml_allows_is_reported_with_its_line(tmp_path):
    (problem,) = problems_in(tmp_path, "a = 1\nb = { c = 1,\n d = 2 }\n")
    assert problem.startswith(": not TOML 1.0: ")
    assert "line 2" in problem


def test_a_file_that_is_not_there_is_reported(tmp_path):
    with pytest.raises(BadInput, match=r"none\.toml: there is no such file"):
        read_study(tmp_path / "none.toml")


def test_a_folder_is_no_study(tmp_path):
    with pytest.raises(BadInput, match="this is a folder; expected a TOML file"):
        read_study(tmp_path)


def test_a_binary_file_is_no_study(tmp_path):
    path = tmp_path / "s.toml"
    path.write_bytes(b'title = "x"\n\xff\xfe\x00')
    with pytest.raises(BadInput, match=r"s\.toml:2: not UTF-8 text"):
        read_study(path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_may_not_be_read_is_reported(tmp_path):
    path = write(tmp_path, GOOD)
    path.chmod(0)
    with pytest.raises(BadInput, match="cannot be read: Permission denied"):
        read_study(path)
