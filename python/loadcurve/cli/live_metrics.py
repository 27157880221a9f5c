"""The options ``--metrics`` and ``--otlp``: a load's figures for other systems while it runs."""

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from ipaddress import ip_address

from loadcurve.errors import BadInput
from loadcurve.metrics.live import LiveLoad
from loadcurve.watch.address import Address

_INSTALL = "pip install 'loadcurve[metrics]'"


@contextmanager
def published(
    metrics: str | None, otlp: str | None, cpus: Collection[int] | None, say: Callable[[str], None]
) -> Iterator[LiveLoad | None]:
    """Show a load to other systems inside the block, by threads on these CPUs; ``None`` where nobody asks.

    Raises ``BadInput``: an address cannot be used, or the client library of an option is not installed.
    """
    if metrics is None and otlp is None:
        yield None
        return
    live = LiveLoad()
    with ExitStack() as stack:
        if metrics is not None:
            address = Address.parse(metrics, "--metrics")
            try:
                from loadcurve.metrics.prometheus import served
            except ImportError as error:
                raise _missing("--metrics", "prometheus-client", error) from error
            url = stack.enter_context(served(live, address.host, address.port, cpus))
            say(f"metrics: {url}")
            if not _is_loopback(address.host):
                say(f"Warning: {address.host} can be reached from other machines, without a password.")
        if otlp is not None:
            try:
                from loadcurve.metrics.otlp import pushed
            except ImportError as error:
                raise _missing("--otlp", "opentelemetry-exporter-otlp-proto-http", error) from error
            stack.enter_context(pushed(live, otlp, cpus, say))
        yield live


def cpus_beside(load: Collection[int]) -> Collection[int] | None:
    """Return the CPUs that a load leaves free; ``None``, which is all, where it has every one."""
    return sorted(os.sched_getaffinity(0) - set(load)) or None


def _missing(option: str, library: str, error: ImportError) -> BadInput:
    return BadInput(f"{option}: {library} is not installed ({error}); install it with: {_INSTALL}")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
