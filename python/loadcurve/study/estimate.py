"""How long a study will take."""

from collections.abc import Mapping

from loadcurve.study.model import Study

TRIAL_START_S = 1.0
"""What starting, verifying and stopping one server takes, about."""


def estimated_duration_s(study: Study, trials: Mapping[str, int]) -> float | None:
    """Return about how long a run of ``study`` takes, in seconds, with this number of trials of each arm.

    ``None`` where the load ends after a number of requests or connections and these do not come at a constant
    rate, and where records are loaded: how long that takes is what the study finds out.
    """
    points = study.points()
    starts = len(points) if study.trials.restart == "point" else 1
    total_s = 0.0
    for name, count in trials.items():
        loads_s = [study.arms[name].load_at(point).expected_s for point in points]
        known_s = [load_s for load_s in loads_s if load_s is not None]
        if len(known_s) < len(points):
            return None
        total_s += (sum(known_s) + starts * TRIAL_START_S) * count
    return total_s
