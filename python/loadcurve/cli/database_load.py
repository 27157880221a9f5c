"""``loadcurve load mongodb://…`` and the like: one load on one database."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from loadcurve._engine import Database, DatabaseError
from loadcurve.cli.exit_codes import EXIT_DONE, EXIT_INTERRUPTED, EXIT_INVALID
from loadcurve.cli.load_plan import DEFAULT_DURATION, cpus_of, rate_of, seconds_of
from loadcurve.cli.watched_load import failures_in_words, print_result, watched
from loadcurve.errors import BadInput, NothingMeasured
from loadcurve.run.database import marked_by_count, refusal_in_words
from loadcurve.run.database_plan import EngineDatabasePlan, Phase, records_inserted
from loadcurve.run.load import LoadInterrupted
from loadcurve.run.plan import EngineStop
from loadcurve.server.protocol import without_password
from loadcurve.study.database_load import DEFAULT_TABLE
from loadcurve.study.problems import Problem
from loadcurve.study.rates import Arrivals
from loadcurve.study.tables import Duration, Timeout, Warmup
from loadcurve.study.workload import ChosenWorkload, InvalidWorkload, choose_workload


@dataclass(frozen=True)
class DatabaseOptions:
    """The options as the person gave them."""

    url: str
    workload: str | None
    properties: tuple[str, ...]
    phase: Phase
    threads: int | None
    operations: int | None
    duration: str | None
    rate: str | None
    arrivals: Arrivals
    records: int | None
    batch: int
    namespace: str
    table: str | None
    settings: tuple[str, ...]
    verify_values: bool
    drop: bool
    drop_table: str | None
    seed: int
    warmup: str
    timeout: str
    cpus: str


def database_load_command(options: DatabaseOptions, *, json_output: bool) -> int:
    """Run one load, print its result on stdout, and return the exit code.

    What the load phase has inserted stays, because a run phase follows.

    Raises:
        BadInput: an option cannot be used, or the load may not change the table.
        NothingMeasured: the database cannot be reached, or nothing was answered.

    """
    plan = database_plan_of(options)
    with _refusals_told(plan.url):
        table = Database(plan.target.to_json())
        before = _made_ready(table, plan, options)
    try:
        result = watched(plan)
    except LoadInterrupted as interrupt:
        print_result(interrupt.result, json_output=json_output)
        return EXIT_INTERRUPTED
    if plan.phase == "load":
        with _refusals_told(plan.url):
            result = marked_by_count(result, table.count(), before + records_inserted(plan.workload))
    print_result(result, json_output=json_output)
    if not result.requests.answered:
        failed = failures_in_words(result)
        raise NothingMeasured(f"{result.load.address}: no operation was answered: {failed}")
    return EXIT_INVALID if result.verdict.status == "invalid" else EXIT_DONE


def database_plan_of(options: DatabaseOptions) -> EngineDatabasePlan:
    """Return the plan that the options ask for; raises BadInput where one of them cannot be used."""
    workload = _workload(options)
    records = {} if options.records is None else {"records": options.records}
    numbers = workload.numbers.model_copy(update=records)
    threads = options.threads or workload.said.get("threads", 1)
    rate = rate_of("--rate", options.rate) or workload.said.get("rate_rps")
    cpus = cpus_of(options.cpus)
    is_run = options.phase == "run"
    if not is_run:
        _refuse_ends(options)
    elif options.batch > 1:
        raise BadInput("--batch: only the load phase inserts in batches; leave it out")
    return EngineDatabasePlan(
        url=options.url,
        namespace=options.namespace,
        table=options.table or workload.said.get("table", DEFAULT_TABLE),
        settings=_pairs("--set", options.settings),
        timeout_s=seconds_of("--timeout", options.timeout, Timeout),
        workload=numbers,
        workload_name=workload.name,
        phase=options.phase,
        threads=threads,
        batch=options.batch,
        rate_rps=rate,
        arrivals=None if rate is None else options.arrivals,
        stop=_stop(options, workload) if is_run else EngineStop(requests_total=records_inserted(numbers)),
        warmup_s=seconds_of("--warmup", options.warmup, Warmup),
        seed=options.seed,
        generator_threads=min(max(1, len(cpus)), threads),
        cpus=cpus,
    )


def _workload(options: DatabaseOptions) -> ChosenWorkload:
    if options.workload is None:
        raise BadInput(
            "--workload: missing; expected one of a to f, or the name of a file of YCSB properties"
        )
    given = _pairs("-p", options.properties)
    verified = {"dataintegrity": "true"} if options.verify_values else {}
    try:
        return choose_workload(options.workload, {**given, **verified}, Path())
    except InvalidWorkload as error:
        raise BadInput("\n".join(map(_option_in_words, error.problems))) from None


def _option_in_words(problem: Problem) -> str:
    key, *rest = problem.path
    option = f"-p {rest[0]}" if key == "properties" else "--workload"
    return f"{option}: {problem.text}"


def _pairs(option: str, given: Sequence[str]) -> Mapping[str, str]:
    pairs = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise BadInput(f"{option} {text}: expected NAME=VALUE")
        pairs[name] = value
    return pairs


def _refuse_ends(options: DatabaseOptions) -> None:
    ends = {"--operations": options.operations, "--duration": options.duration}
    for name, value in ends.items():
        if value is not None:
            raise BadInput(
                f"{name}: the load phase ends when its records are inserted; give their number with --records"
            )
    if seconds_of("--warmup", options.warmup, Warmup):
        raise BadInput("--warmup: the load phase inserts each record once; leave it out")


def _stop(options: DatabaseOptions, workload: ChosenWorkload) -> EngineStop:
    """Return when the run phase ends: as the options say, or else the workload's file, or after 10 s."""
    if options.duration is not None and options.operations is not None:
        raise BadInput("--duration and --operations: the load ends by one of them; give only one")
    if options.duration is not None:
        return EngineStop(duration_s=seconds_of("--duration", options.duration, Duration))
    operations = options.operations or workload.said.get("operations")
    if operations is not None:
        return EngineStop(requests_total=operations)
    longest_s = workload.said.get("duration_s")
    return EngineStop(duration_s=longest_s or seconds_of("--duration", DEFAULT_DURATION, Duration))


@contextmanager
def _refusals_told(url: str) -> Iterator[None]:
    """Tell what is wrong with the target, and what the database says."""
    try:
        yield
    except DatabaseError as error:
        raise NothingMeasured(f"{without_password(url)}: {refusal_in_words(error)}") from None
    except ValueError as error:
        raise BadInput(str(error)) from None


def _made_ready(table: Database, plan: EngineDatabasePlan, options: DatabaseOptions) -> int:
    """Remove what may be removed, make the table for the load phase, and return how many records it holds.

    Raises:
        BadInput: the table is not one that this load may drop, fill or change.

    """
    where = f"{plan.namespace}.{plan.table}"
    exists = table.exists()
    if options.drop_table is not None and options.drop_table != plan.table:
        raise BadInput(
            f"--drop-table {options.drop_table}: the load is on {plan.table}; expected the same name"
        )
    is_ours = exists and table.is_ours()
    if exists and options.drop and not is_ours and options.drop_table is None:
        raise BadInput(
            f"--drop: {where} was not made by Loadcurve, so it may hold another's data; "
            f"if it is to go, name it: --drop-table {plan.table}"
        )
    if exists and (options.drop or options.drop_table is not None):
        table.remove()
        exists = False
    if exists and not is_ours and options.table is None:
        raise BadInput(
            f"{where} is there already and was not made by Loadcurve; choose another with --namespace or "
            f"--table, or say that you mean it: --table {plan.table}"
        )
    if plan.phase == "run":
        if not exists:
            raise BadInput(f"{where} is not there; insert its records first, with --phase load")
        return 0
    if not exists:
        table.create()
        return 0
    held = table.count()
    if held and not plan.workload.insert_start:
        raise BadInput(
            f"{where} holds {held:,} records already; begin anew with --drop, or insert others with "
            f"-p insertstart={held}"
        )
    return held
