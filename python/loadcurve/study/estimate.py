"""How long a study will take."""

from collections.abc import Mapping, Sequence

from loadcurve.study.model import Study

TRIAL_START_S = 1.0
"""What starting, verifying and stopping one server takes, about."""


def estimated_duration_s(study: Study, trials: Mapping[str, int]) -> float | None:
    """Return about how long a run of ``study`` takes, in seconds, with this number of trials of each arm.

    ``None`` where the load ends after a number of requests or connections and these do not come at a constant
    rate, and where records are loaded: how long that takes is what the study finds out.
    """
    points = study.points()
    warmup_s = study.trials.warmup.duration_s if study.trials.warmup else 0.0
    starts = len(points) if study.trials.restart == "point" else 1
    total_s = 0.0
    for name, count in trials.items():
        loads_s = [study.arms[name].load_at(point).expected_s for point in points]
        known_s = [load_s for load_s in loads_s if load_s is not None]
        if len(known_s) < len(points):
            return None
        total_s += (sum(known_s) + starts * (TRIAL_START_S + warmup_s)) * count
    if study.trials.every_s is None or not trials:
        return total_s
    # What is left of each interval but the last is a pause.
    blocks = max(trials.values())
    return max(total_s, study.trials.every_s * (blocks - 1) + total_s / max(blocks, 1))


def estimated_total_s(studies: Sequence[Study], trials: Mapping[str, int]) -> float | None:
    """Return about how long a run of one study, or of those of several loads, takes, in seconds.

    ``trials`` are the starts by arm; one of several servers at once is of one arm. ``None`` as in
    :func:`estimated_duration_s`.
    """
    lengths_s = [
        estimated_duration_s(study, {name: trials[name] for name in study.arms if name in trials})
        for study in studies
    ]
    known_s = [length_s for length_s in lengths_s if length_s is not None]
    return sum(known_s) if len(known_s) == len(lengths_s) else None
