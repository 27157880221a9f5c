"""One load while it is under way, and its result on stdout."""

import sys
from contextlib import AbstractContextManager, nullcontext

from rich.console import Console
from rich.live import Live
from rich.text import Text

from loadcurve.cli.console import new_console
from loadcurve.cli.followed_load import NO_FOLLOWER, Follower
from loadcurve.cli.live_line import CONNECTING, how_far, live_line
from loadcurve.cli.live_metrics import cpus_beside, published
from loadcurve.cli.load_study import Options
from loadcurve.errors import BadInput
from loadcurve.generate.generator import Generator, Plan, Progress
from loadcurve.generate.load_machine import LoadMachine
from loadcurve.host.look import Look, warning
from loadcurve.metrics.live import LiveLoad
from loadcurve.result.load import LoadResult
from loadcurve.result.machine import others_are_expected
from loadcurve.runs.chosen import CHOSEN

REFRESH_PER_SECOND = 4


def talk() -> Console:
    """Return the console for what is no result."""
    return new_console(stderr=True)


def warn_of_disturbance(look: Look) -> None:
    """Say what else takes CPU time on this machine, unless that is expected."""
    if not others_are_expected() and (found := look.disturbance()) is not None:
        talk().print(warning(found), markup=False, highlight=False)


def _say(text: str) -> None:
    """Print a sentence, which may have brackets of others."""
    talk().print(Text(text), soft_wrap=True)


def watched_by(options: Options, plan: Plan, follower: Follower = NO_FOLLOWER) -> LoadResult:
    """Run the load from the machines that were asked for, or from this process, as :func:`watched`.

    Raises ``BadInput``: a machine has no possible name, or there are fewer nodes.
    """
    machines, nodes = options.values["load_machines"], options.values["on_ray"]
    if machines and nodes:
        raise BadInput("--from and --on-ray both set where the load comes from: use one of them")
    if options.values["ray_address"] and not nodes:
        raise BadInput("--ray-address names a cluster, and --on-ray N how many nodes of it send the load")
    metrics, otlp = options.values["metrics"], options.values["otlp"]
    with published(metrics, otlp, cpus_beside(plan.cpus), _say) as live:
        if not machines and not nodes:
            return watched(plan, live=live, follower=follower)
        from loadcurve.generate.many import ManyMachines

        with (
            _nodes(nodes, options.values["ray_address"])
            if nodes
            else machines_named(machines, "--from") as found
        ):
            return watched(plan, ManyMachines(found), live, follower)


def machines_named(
    machines: str, option: str, study: str | None = None
) -> AbstractContextManager[list[LoadMachine]]:
    """Return the load machines that an option names: ``here``, machines of a study, or destinations of ssh.

    Raises ``BadInput``: a name can be neither.
    """
    from loadcurve.cli.machines import table_of
    from loadcurve.generate.load_machines import load_machines
    from loadcurve.machines.table import HERE

    names = [name.strip() for name in machines.split(",")]
    try:
        tables = {name: table_of(name, study) for name in names if name != HERE}
    except BadInput as error:
        raise BadInput(f"{option} {machines}: {error}") from None
    return load_machines(names, tables)


def _nodes(count: int, address: str) -> AbstractContextManager[list[LoadMachine]]:
    from loadcurve.generate.load_machines import RAY_IS_MISSING, has_ray, load_nodes

    if not has_ray():
        raise BadInput(f"--on-ray {count}: {RAY_IS_MISSING}")
    return load_nodes(count, address or None)


def watched(
    plan: Plan,
    generator: Generator | None = None,
    live: LiveLoad | None = None,
    follower: Follower = NO_FOLLOWER,
) -> LoadResult:
    """Run the load, here unless by another generator; where stderr is a terminal, it shows one live line.

    ``live`` shows it to other systems, and ``follower`` to whoever follows it. The result is not judged yet.
    """
    generator = CHOSEN if generator is None else generator
    console = talk()
    line = Text(CONNECTING, overflow="ellipsis", no_wrap=True)
    display = (
        Live(line, console=console, refresh_per_second=REFRESH_PER_SECOND, transient=True)
        if console.is_terminal
        else nullcontext()
    )

    def observe(progress: Progress) -> None:
        _show_progress(line, progress, plan, console.width)
        if live is not None:
            live.show({}, progress)
        follower.on_progress(progress)

    with display:
        return generator.run(plan, observe)


def _show_progress(line: Text, progress: Progress, plan: Plan, width: int) -> None:
    line.plain = live_line(how_far(progress, plan), progress, plan.kind, width)


def print_result(result: LoadResult, *, json_output: bool) -> None:
    """Print a result on stdout, as JSON or for people."""
    if json_output:
        sys.stdout.write(result.model_dump_json(by_alias=True) + "\n")
        return
    from loadcurve.report.load import load_summary

    new_console().print(load_summary(result))


def conclude(follower: Follower, result: LoadResult, *, json_output: bool) -> LoadResult:
    """Keep a result, print it, and write its report behind it; return it with the machine's doubts."""
    result = follower.ends(result)
    print_result(result, json_output=json_output)
    follower.report(json_output=json_output)
    return result


def failures_in_words(result: LoadResult) -> str:
    """Say why a load got no answer."""
    counts = result.errors.nonzero()
    return (
        ", ".join(f"{count} {name}" for name, count in counts.items())
        or "the load ended before the first answer"
    )
