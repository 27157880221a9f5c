"""What is asked of a server after a load: a figure that cannot be had never costs what was measured."""

from loadcurve.probe.window import nothing_observed
from loadcurve.result.load import LoadResult
from loadcurve.result.outcomes import Caveat
from loadcurve.result.probe import ProbeRecord
from loadcurve.result.records import LimitUse
from loadcurve.server.failure import ServerFailure
from loadcurve.server.live import LiveProbe, LiveServer


def seen_during(load: LoadResult, probe: LiveProbe) -> ProbeRecord:
    """Return what a probe saw during a load that is over; nothing, with the reason, where that fails.

    Raises ``ServerFailure`` where it shows that the server has ended, which the load may not show.
    """
    try:
        return probe.observed(load)
    except Exception as error:  # noqa: BLE001 -- whatever it is, the load was measured
        _require_server(error)
        text = f"the probe's samples cannot be summed up ({_in_words(error)})"
        return nothing_observed([Caveat.of("probe_unreadable", text)])


def limit_use_after(server: LiveServer) -> LimitUse | None:
    """Return how a server has used its limits, ``None`` where that fails; raises as :func:`seen_during`."""
    try:
        return server.limit_use()
    except Exception as error:  # noqa: BLE001 -- whatever it is, the load was measured
        _require_server(error)
        return None


def _require_server(error: Exception) -> None:
    """Raise the error where it is one of the server; that its machine is lost is found by the next step."""
    if isinstance(error, ServerFailure) and error.code != "machine_lost":
        raise error


def _in_words(error: Exception) -> str:
    return ": ".join(filter(None, (type(error).__name__, " ".join(str(error).split()))))
