"""``loadcurve load mongodb://…`` and the like: one load on one database."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from loadcurve._engine import Database, DatabaseError
from loadcurve.cli.followed_load import followed
from loadcurve.cli.load_study import Options, cpus_of, database_load
from loadcurve.cli.watched_load import (
    conclude,
    failures_in_words,
    talk,
    warn_of_disturbance,
    watched_by,
)
from loadcurve.errors import BadInput, NothingMeasured
from loadcurve.exit_codes import EXIT_DONE, EXIT_INTERRUPTED, EXIT_INVALID
from loadcurve.generate.generator import LoadInterrupted
from loadcurve.host.look import Look
from loadcurve.loads.plan import DatabasePlan
from loadcurve.loads.values import ENGINE_NAME
from loadcurve.redaction import without_password
from loadcurve.result.folder import refuse_used_folder
from loadcurve.result.load import LoadResult
from loadcurve.runs.database import counted, refusal_in_words
from loadcurve.runs.plan import DatabasePlans
from loadcurve.server.password import with_password
from loadcurve.toml.secret import secret_in, variable
from loadcurve.units import plural


def load_command(url: str, options: Options, *, json_output: bool) -> int:
    """Run one load, print its result on stdout, and return the exit code.

    What the load phase has inserted stays, because a run phase follows.

    Raises:
        BadInput: an option cannot be used, or the load may not change the table.
        NothingMeasured: the database cannot be reached, or nothing was answered.

    """
    look = Look()
    url = _with_given_password(url, options)
    load = database_load(options, url)
    if load.generator != ENGINE_NAME:
        # What another command has loaded into the table is not known, and its keys may be others.
        text = (
            "another generator has to load what it asks for: put the load into a study, or remove this option"
        )
        raise options.at_fault("generator", text)
    if options.values["out"] is not None:
        refuse_used_folder(options.values["out"])
    plans = DatabasePlans(url, dict(options.pairs("settings")), cpus_of(options.values["cpus"]))
    seed = options.values["seed"]
    plan = plans.load_phase(load, seed) if load.phase == "load" else plans.run_phase(load, seed)
    warn_of_disturbance(look)
    with _refusals_reported(plan.url):
        table = Database(plan.target.to_json())
        before = _made_ready(table, plan, options)
    with followed(options, plan.url, plan) as follower:
        try:
            result = watched_by(options, plan, follower)
        except LoadInterrupted as interrupt:
            conclude(follower, interrupt.result, json_output=json_output)
            return EXIT_INTERRUPTED
        if plan.load.phase == "load":
            result = counted(result, table, before + (plan.requests_total or 0))
        result = conclude(follower, result, json_output=json_output)
    if plan.load.phase == "run" and (result.errors["not_found"] or result.errors["rejected"]):
        # The load has been measured, whether or not the database can still count.
        with suppress(DatabaseError):
            _explain_other_records(plan, result, table.count())
    if not result.requests.answered:
        failed = failures_in_words(result)
        raise NothingMeasured(f"{result.load.address}: no operation was answered: {failed}")
    return EXIT_INVALID if result.verdict.status == "invalid" else EXIT_DONE


def _with_given_password(url: str, options: Options) -> str:
    """Return the URL with the password that a file or the environment holds, where one was named."""
    file, name = options.values["password_file"], options.values["password_env"]
    if file is None and name is None:
        return url
    if file is not None and name is not None:
        raise BadInput("--password-env: cannot be combined with --password-file; keep one of the two")
    try:
        return with_password(url, variable(name) if file is None else secret_in(file))
    except BadInput as error:
        raise BadInput(f"{'--password-env' if file is None else '--password-file'}: {error}") from None


def _explain_other_records(plan: DatabasePlan, result: LoadResult, found: int) -> None:
    """Say that a table held other records than the workload begins with, which explains some failures."""
    inserted = sum(one.answered for one in result.operations if one.operation == "insert")
    if plan.workload.mix.delete or found - inserted == plan.workload.records:
        return
    where = f"{plan.load.namespace}.{plan.load.table}"
    talk().print(
        f"{where} holds {plural(found, 'record')}, but this load assumed {plan.workload.records:,} at its "
        "start: reads of missing records fail, and inserts of existing ones are refused. Set --records to "
        "the number of records in the table, or start over with --phase load --drop."
    )


@contextmanager
def _refusals_reported(url: str) -> Iterator[None]:
    """Tell what is wrong with the target, and what the database says."""
    try:
        yield
    except DatabaseError as error:
        raise NothingMeasured(f"{without_password(url)}: {refusal_in_words(error)}") from None
    except ValueError as error:
        raise BadInput(str(error)) from None


def _made_ready(table: Database, plan: DatabasePlan, options: Options) -> int:
    """Remove what may be removed, make the table for the load phase, and return how many records it holds.

    Raises ``BadInput``: the table is not one that this load may drop, fill or change.
    """
    where = f"{plan.load.namespace}.{plan.load.table}"
    drop, drop_table = options.values["drop"], options.values["drop_table"]
    if drop_table is not None and drop_table != plan.load.table:
        raise BadInput(f"--drop-table {drop_table}: the load is on {plan.load.table}; expected the same name")
    if plan.load.phase == "run" and (drop or drop_table is not None):
        # It would end with an error for want of the records that it had just removed.
        raise BadInput(
            f"{'--drop' if drop else '--drop-table'}: the run phase asks for the records of the table, so it "
            "removes none; leave the option out, or start over with --phase load"
        )
    exists = table.exists()
    is_ours = exists and table.is_ours()
    if exists and drop and not is_ours and drop_table is None:
        raise BadInput(
            f"--drop: {where} was not created by Loadcurve and may contain other data; to remove it "
            f"anyway, name it: --drop-table {plan.load.table}"
        )
    if exists and (drop or drop_table is not None):
        table.remove()
        exists = False
    if exists and not is_ours and options.values["table"] is None:
        raise BadInput(
            f"{where} already exists and was not created by Loadcurve; choose another with --namespace or "
            f"--table, or confirm that it is meant: --table {plan.load.table}"
        )
    if plan.load.phase == "run":
        if not exists:
            raise BadInput(f"{where} does not exist; insert its records first, with --phase load")
        return 0
    if not exists:
        table.create()
        return 0
    held = table.count()
    if held and not plan.workload.insert_start:
        raise BadInput(
            f"{where} holds {plural(held, 'record')} already; start over with --drop, or insert different "
            f"ones with -p insertstart={held} and a higher --records"
        )
    return held
