"""``loadcurve load``: one load against one URL."""

from loadcurve.cli.exit_codes import EXIT_DONE, EXIT_INTERRUPTED, EXIT_INVALID
from loadcurve.cli.load_plan import LoadOptions, plan_of
from loadcurve.cli.watched_load import failures_in_words, print_result, talk, watched
from loadcurve.errors import NothingMeasured
from loadcurve.run.load import LoadInterrupted
from loadcurve.server.target import reachable_address, read_url


def load_command(options: LoadOptions, *, json_output: bool) -> int:
    """Run one load, print its result on stdout, and return the exit code.

    Raises:
        BadInput: an option cannot be used; nothing was started.
        NothingMeasured: the URL leads nowhere, or nothing was answered.

    """
    target = read_url(options.url)
    # The address is looked up last, so that bad options are refused without a question to any name server.
    plan = plan_of(options, target)
    try:
        plan = plan.model_copy(update={"address": reachable_address(target, plan.timeout_s)})
    except KeyboardInterrupt:
        talk().print("interrupted before anything was measured")
        return EXIT_INTERRUPTED
    try:
        result = watched(plan)
    except LoadInterrupted as interrupt:
        print_result(interrupt.result, json_output=json_output)
        return EXIT_INTERRUPTED
    print_result(result, json_output=json_output)
    if not result.requests.answered:
        raise NothingMeasured(f"{options.url}: no request was answered: {failures_in_words(result)}")
    return EXIT_INVALID if result.verdict.status == "invalid" else EXIT_DONE
