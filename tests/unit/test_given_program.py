"""A program that is given by its path: what is said where there is none."""

from loadcurve.server.location import THIS_MACHINE


def test_a_program_that_is_not_there_is_named_with_the_nearest_that_is(tmp_path):
    for name in ("app.py", "README.md"):
        (tmp_path / name).touch()
    said = THIS_MACHINE.given_program(tmp_path / "ap.py")
    assert said == f'there is no program {tmp_path}/ap.py; did you mean "app.py"?'


def test_in_a_folder_that_is_not_there_nothing_is_near(tmp_path):
    assert THIS_MACHINE.given_program(tmp_path / "no" / "app") == f"there is no program {tmp_path}/no/app"
