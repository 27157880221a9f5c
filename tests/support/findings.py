"""A finding as any finder may return one."""

from typing import Any

from loadcurve.explain.finding import Evidence, Finding


def finding(*connections: float, **changes: Any) -> Finding:
    """A finding about nginx at these numbers of connections, with changes."""
    usual = {
        "code": "cpu_limit",
        "weight": "explains",
        "certainty": "likely",
        "server": "nginx",
        "points": [{"connections": number} for number in connections],
        "trials": [0, 3, 6],
        "trials_measured": 5,
        "seen": "The server used 1.95 of the 2 CPUs that it had.",
        "evidence": [Evidence(name="CPU of the server", value=1.95, unit="CPUs")],
        "cause": "The server is at the limit of its CPUs.",
        "advice": "Give it more.",
    }
    return Finding.model_validate(usual | changes)
