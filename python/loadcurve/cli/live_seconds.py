"""What the seconds of a long load say to whoever follows it: rate, latencies, failures, CPU of both sides."""

from loadcurve.generate.generator import CpuSeconds, Progress
from loadcurve.watch.live import LiveFile, LiveSecond


class LiveSeconds:
    """Takes how far a load is, and keeps the seconds of it that are due."""

    def __init__(self, file: LiveFile) -> None:
        """Keep them in a file."""
        self._file = file
        self._cpu: CpuSeconds | None = None

    def begins(self, interval_s: float | None) -> None:
        """Forget the load before; see :meth:`LiveFile.begins`."""
        self._file.begins(interval_s)
        self._cpu = None

    def take(self, progress: Progress) -> None:
        """Keep the last second, where one is over and due."""
        last, at_s = progress.last_second, progress.elapsed_s
        if last is None or at_s is None or not self._file.is_due(at_s):
            return
        before, self._cpu = self._cpu, None if progress.cpu is None else progress.cpu()
        server, generator = (None, None) if self._cpu is None else self._cpu.used_since(before)
        p50_ms, p90_ms, p99_ms = last.latency_ms or (None, None, None)
        self._file.add(
            LiveSecond(
                at_s=at_s,
                rate_rps=last.answered / last.length_s,
                p50_ms=p50_ms,
                p90_ms=p90_ms,
                p99_ms=p99_ms,
                failed=progress.failed,
                answered=progress.answered,
                server_cpus=server,
                generator_cpus=generator,
            )
        )
