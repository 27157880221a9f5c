"""How limits of processor time hold control groups back."""

from loadcurve.record import Count, Record, Time


class Throttling(Record):
    """How limits of processor time held the server's control groups back."""

    periods: Count
    throttled_periods: Count
    throttled_s: Time
    """Summed over the CPUs on which a group had to wait."""
