"""From JMeter's samples, in whichever form they were saved, to requests by JMeter's own judgement.

A sample that JMeter calls successful was answered, whatever its status, and also without one: samplers of
processes or queues have none. One that it calls failed was answered where its status says so, too; with
another status a check of the test plan has failed, such as an assertion, and without one there was no answer.
"""

from collections.abc import Sequence

import polars

from loadcurve.loads.limits import STATUS_MAX, STATUS_MIN
from loadcurve.tools.errors import CHECK_FAILED
from loadcurve.tools.requests import (
    ANSWERED,
    BEGIN,
    CONNECT,
    ERROR,
    FIRST_BYTE,
    OPERATION,
    STATUS,
    TIME,
    whole_nanoseconds,
)

THREAD, SAMPLES, HAS_URL, IDLE = "thread", "samples", "has_url", "idle_ns"
"""Of which thread a sample is; how many samples are in the sum of a transaction controller, null of others;
whether it has a URL; how long the thread rested within it, which is no part of its time."""
ERROR_STATUS_MIN = 400
_NS_PER_MS = 10**6
_OF_A_SUM = "Number of samples in transaction : "
"""How the message begins of a sum that a transaction controller has made."""
_SAMPLES = rf"^{_OF_A_SUM}(\d{{1,9}})"
_NO_URL = ("null", "")


def requests_of(samples: polars.DataFrame) -> polars.DataFrame:
    """Return samples, by the names of the CSV's columns, as requests; ``timeStamp`` is in ms."""
    names = samples.columns
    code = samples["responseCode"]
    status = code.cast(polars.Int16, strict=False)
    is_status = status.is_between(STATUS_MIN, STATUS_MAX).fill_null(value=False)
    columns = [
        whole_nanoseconds("timeStamp", _NS_PER_MS).alias(BEGIN),
        whole_nanoseconds("elapsed", _NS_PER_MS).alias(TIME),
        *_outcomes(samples, status, is_status),
    ]
    if "label" in names:
        columns.append(polars.col("label").cast(polars.Categorical).alias(OPERATION))
    if "Latency" in names:
        columns.append(whole_nanoseconds("Latency", _NS_PER_MS).alias(FIRST_BYTE))
    if "Connect" in names:
        connected = polars.when(polars.col("Connect") > 0).then(whole_nanoseconds("Connect", _NS_PER_MS))
        columns.append(connected.alias(CONNECT))
    if "threadName" in names:
        columns.append(polars.col("threadName").cast(polars.Categorical).alias(THREAD))
    if "responseMessage" in names:
        columns.append(_samples_of_sums(samples["responseMessage"]).alias(SAMPLES))
    if "IdleTime" in names:
        columns.append(whole_nanoseconds("IdleTime", _NS_PER_MS).alias(IDLE))
    if "URL" in names:
        columns.append((~polars.col("URL").is_in(_NO_URL)).alias(HAS_URL))
    return samples.select(columns)


def _samples_of_sums(messages: polars.Series) -> polars.Expr:
    """Return how many samples each sum of a transaction controller has, null for requests: mostly all are."""
    if not messages.str.starts_with(_OF_A_SUM).any():
        return polars.lit(None, polars.Int32)
    return polars.lit(messages).str.extract(_SAMPLES).cast(polars.Int32)


def _outcomes(
    samples: polars.DataFrame, status: polars.Series, is_status: polars.Series
) -> Sequence[polars.Expr]:
    """Return the status of each, 0 for a failure, and what each failure was: mostly there is none."""
    success = samples["success"]
    is_error = is_status & (status >= ERROR_STATUS_MIN).fill_null(value=False)
    if is_status.all() and (success | is_error).all():
        return [polars.lit(status).alias(STATUS), polars.lit("").cast(polars.Categorical).alias(ERROR)]
    outcome = (
        polars.when(is_status & (success | is_error))
        .then(status)
        .when(success)
        .then(ANSWERED)
        .otherwise(0)
        .cast(polars.Int16)
    )
    # The code of a failure without an answer is its class in Java, the message what the operating system
    # said.
    code, message = polars.col("responseCode"), "responseMessage"
    failure = polars.concat_str(code, message, separator=" ") if message in samples.columns else code
    error = (
        polars.when(success | is_error)
        .then(polars.lit(""))
        .when(is_status)
        .then(polars.lit(CHECK_FAILED))
        .otherwise(failure)
    )
    return [outcome.alias(STATUS), error.cast(polars.Categorical).alias(ERROR)]
