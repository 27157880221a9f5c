"""A database as its clients see it: which version it is, and whether it gives back what it was given."""

import json
import secrets
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from loadcurve._engine import Database, DatabaseError, Load, workload
from loadcurve.errors import sentence
from loadcurve.loads.table import LoadTable
from loadcurve.redaction import hidden
from loadcurve.server.failure import ServerFailure

NAMESPACE = "loadcurve"
RECORDS = 10
ANSWER_TIMEOUT_S = 5.0
VERIFICATION_TIMEOUT_S = 20.0
LEAST_TIMEOUT_S = 1e-3
POLL_S = 0.005


@dataclass(frozen=True)
class RunningDatabase:
    """A database under its URL, see :class:`loadcurve.server.live.Service`."""

    url: str

    sign_of_life = "accept a client"

    def refusal(self, timeout_s: float) -> str | None:
        """Ask once whether it lets a client in; ``None`` if it does, otherwise what it answered."""
        parts = urlsplit(self.url)
        deadline = time.monotonic() + timeout_s
        try:
            # A driver keeps trying for as long as it may, and here is looked at the process in between.
            socket.create_connection((parts.hostname, parts.port), timeout_s).close()
            version_at(self.url, min(_left_s(deadline), ANSWER_TIMEOUT_S))
        except DatabaseError as error:
            return f"the last attempt failed with {explanation_of(error)}"
        except OSError as error:
            return f"the last attempt failed with {error or type(error).__name__}"
        return None

    def verify(
        self,
        _paths: Sequence[str],
        _load: LoadTable | None = None,
        /,
        timeout_s: float = VERIFICATION_TIMEOUT_S,
    ) -> None:
        """Give it records in a separate table, count them, read every field back, and remove the table.

        All of that but the removal has ``timeout_s``, and so has the removal.

        Raises ``ServerFailure``: it refuses, or gives back something else ("wrong_answer").
        """
        deadline = time.monotonic() + timeout_s
        try:
            with _own_table(self.url, min(timeout_s, ANSWER_TIMEOUT_S)) as table:
                for phase in ("load", "run"):
                    _require_success(phase, _finished(table, phase, deadline))
                count = Database(json.dumps(table | {"timeout_s": _left_s(deadline)})).count()
                if count != RECORDS:
                    raise ServerFailure(
                        "wrong_answer", f"{RECORDS} records were written, but the database counts {count}."
                    )
        except DatabaseError as error:
            raise ServerFailure(
                "wrong_answer", sentence(f"it reports an error: {explanation_of(error)}")
            ) from None


def version_at(url: str, timeout_s: float) -> str:
    """Return what a database calls itself and its version, such as ``MongoDB 7.0.14``.

    Raises:
        DatabaseError: it does not answer, or lets nobody in.
        ValueError: the URL names no database.

    """
    return Database(json.dumps(_target(url, "usertable", timeout_s))).version()


def explanation_of(error: DatabaseError) -> str:
    """Return what a database or its driver says of a failure, or else the failure's class."""
    failure, text = error.args
    return hidden(text or failure)


@contextmanager
def _own_table(url: str, timeout_s: float) -> Iterator[dict[str, Any]]:
    """Make a table of a new name for the length of a block; each answer has ``timeout_s``."""
    target = _target(url, f"verified_{secrets.token_hex(8)}", timeout_s)
    database = Database(json.dumps(target))
    database.create()
    try:
        yield target
    finally:
        database.remove()


def _target(url: str, table: str, timeout_s: float) -> dict[str, Any]:
    properties = [f"recordcount={RECORDS}", "dataintegrity=true"]
    return {
        "url": url,
        "namespace": NAMESPACE,
        "table": table,
        "timeout_s": timeout_s,
        # Only reads, whose fields are compared with what was written.
        "workload": json.loads(workload("c", None, "", properties))["workload"],
    }


def _left_s(deadline: float) -> float:
    return max(LEAST_TIMEOUT_S, deadline - time.monotonic())


def _finished(target: dict[str, Any], phase: str, deadline: float) -> dict[str, Any]:
    """Run the load or the run phase on a table to its end, or until its time is over; return its result."""
    plan = {
        "model": {"closed": {"connections": 1}},
        "stop": {"requests_total": RECORDS},
        "warmup_s": 0.0,
        "timeout_s": min(target["timeout_s"], _left_s(deadline)),
        "threads": 1,
        "work": {key: value for key, value in target.items() if key != "timeout_s"}
        | {"phase": phase, "batch": 1},
    }
    load = Load.start(json.dumps({"ycsb": plan}))
    while not load.is_finished() and time.monotonic() < deadline:
        time.sleep(POLL_S)
    load.stop()
    result: dict[str, Any] = json.loads(load.finish())
    return result


def _require_success(phase: str, result: dict[str, Any]) -> None:
    ok = result["requests"]["ok"]
    if ok == RECORDS:
        return
    what = "written" if phase == "load" else "read back as they were written"
    said = "; ".join(message["text"] for message in result["error_messages"]) or "without a reason"
    raise ServerFailure("wrong_answer", sentence(f"only {ok} of {RECORDS} records were {what}: {said}"))
