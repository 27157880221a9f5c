"""How long a study will take."""

from loadcurve.study.model import Study

TRIAL_START_S = 1.0
"""What starting, verifying and stopping one server takes, about."""


def estimated_duration_s(study: Study) -> float | None:
    """Return about how long running ``study`` takes, in seconds.

    ``None`` where the load ends after a number of requests: how long that takes is what the study finds out.
    """
    if study.load.duration_s is None:
        return None
    points = len(study.points())
    starts = points if study.trials.restart == "point" else 1
    trial_s = points * (study.load.warmup_s + study.load.duration_s) + starts * TRIAL_START_S
    return trial_s * study.trials.count * len(study.servers)
