"""`loadcurve run`: a study with more requests than have separate figures."""

import json

from support.tiny_study import study_text

STUDY = study_text(connections="[1]", trials=1).replace('["/1k.txt"]', '"urls.txt"')


def test_a_long_list_is_measured_as_one(sandbox):
    sandbox.write("urls.txt", "".join(f"/1k.txt?line={line}\n" for line in range(1000)))
    sandbox.write("long.toml", STUDY)
    finished = sandbox.run("run", "long.toml", "--out", "run", "--seed", 1)
    assert finished.returncode in {0, 3}, finished.stderr
    folder = sandbox.work / "run"
    study = json.loads((folder / "run.json").read_text())["study"]
    assert study["load"]["requests"] == {"file": "urls.txt", "count": 1000}
    (point,) = [json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines()]
    load = point["measurements"]["load"]
    assert load["requests"]["ok"] == load["requests"]["due"] > 0
    assert [operation["operation"] for operation in load["operations"]] == ["urls.txt"]


def test_a_long_list_that_leads_out_of_the_content_is_bad_input(sandbox):
    sandbox.write("urls.txt", "/1k.txt\n" + "/2k.txt\n" * 1000)
    sandbox.write("long.toml", STUDY)
    finished = sandbox.run("run", "long.toml", "--out", "run")
    assert (finished.returncode, finished.stdout) == (2, "")
    assert 'load.requests: found "/2k.txt"; expected the path of a file in [content]' in finished.stderr
    assert 'did you mean "/1k.txt"?' in finished.stderr
    assert not (sandbox.work / "run").exists()
