"""A load that is kept as a run, written as a page, or followed on one: ``--out``, ``--html``, ``--watch``."""

import shlex
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from loadcurve.cli.console import new_console
from loadcurve.cli.load_study import Options
from loadcurve.cli.report_packages import INSTALL, missing_packages
from loadcurve.errors import BadInput
from loadcurve.generate.generator import Plan, Progress
from loadcurve.result.load import LoadResult
from loadcurve.result.machine import judged

if TYPE_CHECKING:
    from loadcurve.cli.live_seconds import LiveSeconds
    from loadcurve.runs.one_load import OneLoadRun


class Follower:
    """Nobody follows the load, and nothing is kept of it."""

    def on_progress(self, progress: Progress) -> None:
        """Take how far the load is."""

    def ends(self, result: LoadResult) -> LoadResult:
        """Keep the result, and return it with what the machine gives as reasons for doubt."""
        return judged(result)

    def report(self, *, json_output: bool) -> None:
        """Write the report, and say where it is: behind the result, or on stderr where that is JSON."""


NO_FOLLOWER = Follower()


class _Kept(Follower):
    """The load goes into a run folder."""

    def __init__(
        self, run: "OneLoadRun", seconds: "LiveSeconds", folder: Path | None, page: Path | None
    ) -> None:
        """Follow a load in ``run``; ``folder`` and ``page`` are what the person has named."""
        self._run = run
        self._seconds = seconds
        self._folder = folder
        self._page = page

    def on_progress(self, progress: Progress) -> None:
        self._run.look()
        self._seconds.take(progress)

    def ends(self, result: LoadResult) -> LoadResult:
        return self._run.add(result)

    def report(self, *, json_output: bool) -> None:
        told = self._reported()
        out = new_console(stderr=json_output)
        for path in told:
            out.print(Text(str(path)), soft_wrap=True)

    def _reported(self) -> list[Path]:
        """Write the report, where that can be done here, and return what the person has asked for."""
        if missing_packages():
            # Where the page was asked for, the load was refused.
            assert self._folder is not None, "a page is checked before the load"  # noqa: S101
            return [self._folder]
        from loadcurve.analysis.analysis import analyse
        from loadcurve.analysis.numbers import keep_numbers
        from loadcurve.report.files import write_own_page
        from loadcurve.report.html import render_page
        from loadcurve.report.run_summary import numbers_of
        from loadcurve.report.section import Report
        from loadcurve.result.folder import read_run
        from loadcurve.result.run_files import REPORT_FILE
        from loadcurve.result.summary import source_of

        source = source_of(self._run.path)
        run = read_run(self._run.path)
        analysis = analyse(run)
        keep_numbers(self._run.path, numbers_of(analysis, source))
        page = render_page(Report(run, analysis))
        write_own_page(self._run.path / REPORT_FILE, page)
        told = [] if self._folder is None else [self._folder / REPORT_FILE]
        if self._page is not None:
            write_own_page(self._page, page)
            told.append(self._page)
        return told


def check_following(options: Options) -> None:
    """See, before anything is touched, that a load can be kept and followed as the options ask.

    A folder whose report must be made elsewhere, or later, is warned of. Raises ``BadInput``: a page cannot
    be written or served, or an address is given for no page.
    """
    folder, page, watch_at = options.values["out"], options.values["html"], _watched_at(options)
    _require_writable(page)
    missing = missing_packages() if folder or page or watch_at else []
    if not missing:
        return
    lacks = f"this installation runs loads only, because it lacks {missing[0]}"
    if page is not None or watch_at is not None:
        option = "--watch" if page is None else f"--html {page}"
        raise BadInput(f"{option}: {lacks}. To have a page, install what it requires: {INSTALL}")
    new_console(stderr=True).print(
        Text(
            f"--out {folder}: the records are kept without a report: {lacks}. Once the rest is installed, "
            f"`loadcurve report {shlex.quote(str(folder))}` writes it: {INSTALL}"
        ),
        soft_wrap=True,
    )


@contextmanager
def followed(options: Options, url: str, plan: Plan) -> Iterator[Follower]:
    """Keep a load and let it be followed inside the block, as the options ask.

    :func:`check_following` has passed. Raises ``BadInput``: the folder cannot be written, or the page cannot
    listen.
    """
    folder, page, watch_at = options.values["out"], options.values["html"], _watched_at(options)
    if folder is None and page is None and watch_at is None:
        yield NO_FOLLOWER
        return
    from loadcurve.cli.live_seconds import LiveSeconds
    from loadcurve.runs.one_load import TRIAL, OneLoad, OneLoadRun
    from loadcurve.server.temporary import temporary_folder
    from loadcurve.watch.live import LiveFile, interval_of_one_load_s
    from loadcurve.watch.progress import ProgressFile, RunProgress

    with ExitStack() as stack:
        place = folder or stack.enter_context(temporary_folder("the run of one load"))
        load = OneLoad(url, options.table, plan)
        run = stack.enter_context(OneLoadRun(load, place))
        if watch_at is not None:
            from loadcurve.watch.address import Address, Listener, announcement
            from loadcurve.watch.process import page_beside_run

            listener = Listener.at(Address.parse(watch_at))
            new_console(stderr=True).print(Text(announcement(listener)), soft_wrap=True)
            stack.enter_context(page_beside_run(place, listener, run.observers))
        seconds, progress = stack.enter_context(LiveFile(place)), stack.enter_context(ProgressFile(place))
        warmup_s, duration_s = plan.load.warmup_s, plan.load.duration_s
        seconds.begins(interval_of_one_load_s(warmup_s, duration_s))
        progress.write(
            RunProgress(
                format="loadcurve-progress/1",
                trial=TRIAL,
                trials_planned=1,
                point=load.point,
                since_unix_s=time.time(),
                since_monotonic_s=time.monotonic(),
                warmup_s=warmup_s,
                duration_s=duration_s,
                counted="points",
                over=0,
                planned=1,
                at_most=False,
                left_s=None if duration_s is None else warmup_s + duration_s,
            )
        )
        yield _Kept(run, LiveSeconds(seconds), folder, page)


def _watched_at(options: Options) -> str | None:
    """Return where the page listens; ``None`` where none is asked for."""
    from loadcurve.watch.address import ANY_LOOPBACK_PORT

    address = options.values["watch_address"]
    if address is not None and not options.values["watch"]:
        raise BadInput("--watch-address: says where the page of --watch listens; add --watch")
    return (address or ANY_LOOPBACK_PORT) if options.values["watch"] else None


def _require_writable(page: Path | None) -> None:
    """Raise ``BadInput`` before the load where its page cannot be written behind it."""
    if page is None:
        return
    if page.is_dir():
        raise BadInput(f"--html {page}: is a folder; expected the name of a file, such as page.html")
    if not page.absolute().parent.is_dir():
        raise BadInput(
            f"--html {page}: there is no folder {page.absolute().parent}; make it, or choose another"
        )
