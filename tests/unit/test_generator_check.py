"""The account that a server keeps of a load, as it is counted to check a generator."""

from pathlib import Path

from loadcurve.runs.generator_check import lines_at_rest


class LaggingLog(type(Path())):
    """A log to which the server adds one more line before each of the first five readings."""

    def read_bytes(self) -> bytes:
        readings = self.with_suffix(".readings")
        count = min(5, len(readings.read_text()) + 1) if readings.exists() else 1
        readings.write_text("." * count)
        return b"GET / 200\n" * count


def test_a_log_that_lags_behind_the_answers_is_counted_whole(tmp_path):
    log = LaggingLog(tmp_path / "access.log")
    log.touch()
    assert lines_at_rest(log) == 5


def test_a_log_that_no_request_has_created_yet_has_no_lines(tmp_path):
    assert lines_at_rest(tmp_path / "access.log") == 0
