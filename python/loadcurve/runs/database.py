"""A database under load: its table is made, filled, counted, put under load, and removed at the end."""

import contextlib
from collections.abc import Iterator
from types import TracebackType
from typing import Final, Self

from loadcurve._engine import Database, DatabaseError
from loadcurve.errors import sentence
from loadcurve.generate.generator import Generator, Observe
from loadcurve.loads.plan import DatabasePlan, DatabaseTarget
from loadcurve.loads.values import Point
from loadcurve.loads.ycsb import DatabaseLoad, DatabaseLoadTable
from loadcurve.redaction import hidden
from loadcurve.result.load import LoadResult
from loadcurve.result.records import LOAD_PHASE, Loads
from loadcurve.runs.plan import DatabasePlans
from loadcurve.server.failure import ServerFailure
from loadcurve.server.live import LiveServer
from loadcurve.study.tables import Trials

RECORDS_MISSING: Final = "records_missing"
"""The code of a table that does not hold what was loaded into it."""
RECORDS_UNCOUNTED: Final = "records_uncounted"
"""The code of a table of which that is not known."""


class DatabaseUnderLoad:
    """One started database, with the table of a trial's loads."""

    def __init__(
        self,
        title: str,
        server: LiveServer,
        load: DatabaseLoadTable,
        plans: DatabasePlans,
        generator: Generator,
    ) -> None:
        """Put the study's load on a server by ``plans`` made for it; ``title`` names it in failures."""
        self._title = title
        self._server = server
        self._load = load
        self._plans = plans
        self._generator = generator
        self._made: DatabaseTarget | None = None
        """Where there is a table of ours."""

    def __enter__(self) -> Self:
        """Do nothing: the table is made when the first load needs it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the table, unless the database is gone: its mark lets a later run remove it."""
        if self._made is not None:
            with contextlib.suppress(DatabaseError):
                Database(self._made.to_json()).remove()
            self._made = None

    def verify(self, seed: int) -> None:  # noqa: ARG002
        """See that the database gives back what it is given."""
        self._server.verify()

    def prepare(self, point: Point, seed: int, observe: Observe) -> Loads:
        """Make the table, and load its records, where this point needs fresh ones.

        Raises:
            ServerFailure: the database refuses, or holds other records than were loaded into it.

        """
        load = self._at(point)
        if load.phase == "load":
            self._make_table(self._plans.load_phase(load, seed))
            return {}
        if self._made is not None and load.reload == "trial":
            return {}
        plan = self._plans.load_phase(load, seed)
        self._make_table(plan)
        return {LOAD_PHASE: self._with_records(load, self._generator.run(plan, observe))}

    def warmup(self, trials: Trials, seed: int) -> None:
        """Return nothing: each point has its own warm-up."""

    def plan(self, point: Point, seed: int) -> DatabasePlan:
        """Return the plan of the operations, or of the insertion of the records where that is measured."""
        load = self._at(point)
        return (
            self._plans.load_phase(load, seed) if load.phase == "load" else self._plans.run_phase(load, seed)
        )

    def checked(self, point: Point, result: LoadResult) -> LoadResult:
        """Return the result, marked where the records that were inserted are not all there."""
        load = self._at(point)
        if load.phase != "load":
            return result
        return counted(result, self._made_table(), self._expected(load))

    def _at(self, point: Point) -> DatabaseLoad:
        return self._load.with_values(point, DatabaseLoad)

    def _make_table(self, plan: DatabasePlan) -> None:
        """Make the table of a plan, and remove one of ours that is there."""
        with self._failures():
            table = Database(plan.target.to_json())
            if self._made is not None or table.is_ours():
                table.remove()
            table.create()
        self._made = plan.target

    def _made_table(self) -> Database:
        if self._made is None:
            raise RuntimeError("the table does not exist")
        return Database(self._made.to_json())

    def _with_records(self, load: DatabaseLoad, loading: LoadResult) -> LoadResult:
        """Return the load phase that comes before the operations, whose records must all be there."""
        expected = self._expected(load)
        checked = counted(loading, self._made_table(), expected)
        missing = [reason for reason in checked.verdict.reasons if reason.code == RECORDS_MISSING]
        if missing:
            raise ServerFailure(RECORDS_MISSING, f"{self._title}: {missing[0].text}")
        if checked is not loading:
            # One that has died is reported as such, with its last words.
            self._server.verify()
        return checked

    def _expected(self, load: DatabaseLoad) -> int:
        return load.workload.with_records(load.records).records_inserted

    @contextlib.contextmanager
    def _failures(self) -> Iterator[None]:
        """Tell what the database says as a failure of its server."""
        try:
            yield
        except DatabaseError as error:
            # One that has died is reported as such, with its last words.
            self._server.verify()
            raise ServerFailure(
                "database_failed", sentence(f"{self._title}: {refusal_in_words(error)}")
            ) from None


def refusal_in_words(error: DatabaseError) -> str:
    """Return the class of a failure, as results name it, and what the database says of it."""
    return hidden(": ".join(error.args))


def _count_in_words(found: int, expected: int, loading: LoadResult) -> str:
    """Say how many records there are and what became of the others."""
    failed = loading.errors.nonzero()
    failures = "; ".join(f"{count:,} {name}" for name, count in failed.items())
    messages = [f"{message.text} ({message.count:,})" for message in loading.error_messages[:1]]
    why = f" Failures while loading: {'; '.join([failures, *messages])}." if failed else ""
    return f"the table holds {found:,} records, but {expected:,} should have been loaded into it.{why}"


def counted(result: LoadResult, table: Database, expected: int) -> LoadResult:
    """Return the result of a load phase, with a reason where the table lacks records, or cannot be counted.

    What was measured stays, whatever becomes of the count.
    """
    if result.interrupted:
        return result
    try:
        found = table.count()
    except DatabaseError as error:
        text = (
            f"the records of the table could not be counted after the load ({refusal_in_words(error)}), so "
            "whether all were inserted is not known; count them, or compare the answers with them"
        )
        verdict = result.verdict.with_reason(RECORDS_UNCOUNTED, text, "suspect")
        return result.model_copy(update={"verdict": verdict})
    return _marked_by_count(result, found, expected)


def _marked_by_count(result: LoadResult, found: int, expected: int) -> LoadResult:
    """Return the result of a load phase, invalid where the table does not hold its records."""
    if found == expected:
        return result
    text = _count_in_words(found, expected, result)
    verdict = result.verdict.with_reason(RECORDS_MISSING, text, "invalid")
    return result.model_copy(update={"verdict": verdict})
