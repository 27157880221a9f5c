"""`loadcurve run` of a study that repeats its trials until the intervals are narrow."""

import json

from support.tiny_study import study_text


def test_a_study_ends_by_itself_and_says_why(sandbox):
    text = study_text('[servers.limit]\n[servers.again]\nuse = "limit"', connections="[1]")
    sandbox.write("until.toml", text.replace("count = 2", 'until = "99 %"\nat_most = 9'))
    command = sandbox.run("run", "until.toml", "--out", "run")
    assert command.returncode == 0, command.stderr
    record = json.loads((sandbox.work / "run" / "run.json").read_text())
    trials = [json.loads(line) for line in (sandbox.work / "run" / "trials.jsonl").read_text().splitlines()]
    blocks = {trial["block"] for trial in trials}
    assert {planned["block"] for planned in record["order"]} == {*range(9)}
    assert blocks in ({*range(8)}, {*range(9)})
    assert f"It ended after {len(blocks)} trials of each server" in " ".join(command.stdout.split())
    said = " ".join(command.stdout.split())
    # On a machine that disturbs the run much, what no number of trials would show is reported instead.
    assert "limit and again, which are the same server" in said or "not even 100 trials would show" in said
    assert sandbox.leftovers() == []
