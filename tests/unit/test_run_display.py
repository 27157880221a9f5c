"""What a run tells while it goes on."""

import io

from rich.console import Console

from loadcurve.cli.display import RunDisplay
from loadcurve.study.model import Study
from loadcurve.study.order import trial_order


def test_the_time_that_a_run_takes_is_that_of_the_servers_that_are_measured():
    study = Study.model_validate(
        {
            "title": "T",
            "content": {"a": "1KiB"},
            "load": {"model": "closed", "requests": ["/a"], "warmup": "2s", "duration": "7s"},
            "sweep": {"connections": [1]},
            "trials": {"count": 3},
            "servers": {"limit": {}, "nginx": {}},
        }
    )
    talk = io.StringIO()
    # One of the two is not installed; 10 s are a second for the start, and warm-up and load.
    RunDisplay(Console(file=talk), live=False).begins(study, trial_order(["limit"], 3, seed=1))
    assert talk.getvalue() == "T: 3 trials of 1 point, about 0:30\n"
