"""What a study sends: its requests, from a list or a file, and what goes with them."""

import pytest

from loadcurve.errors import BadInput
from loadcurve.loads.requests import LongList, sampled_paths
from loadcurve.loads.sent import HEADERS_IN_WORDS, header_fields
from loadcurve.toml.secret import GIVEN_IN_WORDS
from support.cases import cases, changed
from support.http_load_study import CLOSED, LOAD_LINE, load_of, problems_in

LONG = "".join(f"/a?line={line}\n" for line in range(1000))


def test_weights_belong_to_the_requests_in_their_order(tmp_path):
    load = load_of(tmp_path, f'{CLOSED}pick = "weighted"\nweights = [1, 0.5]\n')
    assert (load.requests, load.weights) == (["/a", "/b"], [1.0, 0.5])


def with_file(folder, text, more="", requests="paths.txt"):
    (folder / "paths.txt").write_text(text, encoding="utf-8")
    return CLOSED.replace('["/a", "/b"]', f'"{requests}"') + more


def test_a_file_of_requests_counts_from_the_study_and_may_have_comments(tmp_path):
    load = load_of(tmp_path, with_file(tmp_path, "# the paths\n/a\n\n  /b?x=1  # with a query\r\n/a\n"))
    assert (load.requests, load.weights) == (["/a", "/b?x=1", "/a"], None)


def test_a_file_of_requests_may_give_weights_and_a_line_without_one_weighs_1(tmp_path):
    load = load_of(tmp_path, with_file(tmp_path, "/a 3\n/b\n", 'pick = "weighted"'))
    assert (load.requests, load.weights) == (["/a", "/b"], [3.0, 1.0])


def test_the_weights_of_a_file_without_any_may_stand_in_the_study(tmp_path):
    load = load_of(tmp_path, with_file(tmp_path, "/a\n/b\n", 'pick = "weighted"\nweights = [1, 2]'))
    assert load.weights == [1.0, 2.0]


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        (
            "/a\nb\n/a x\n/a -1\n/a nan\n/a 1 2\n",
            [
                ':2: found "b"; expected a path that begins with "/" and has no spaces, such as "/1k.txt"',
                ':3: found the weight "x"; expected a number of 0 or more',
                ':4: found the weight "-1"; expected a number of 0 or more',
                ':5: found the weight "nan"; expected a number of 0 or more',
                ':6: found "/a 1 2"; expected a path, followed by at most one weight or time',
            ],
        ),
        ("# nothing\n\n", [": contains no request; expected a path such as /1k.txt on each line"]),
        (
            "/a\n\n/c\n",
            [':3: found "/c", which is not in [content]; expected one of /a, /b'],
        ),
    ],
)
def test_a_problem_in_a_file_of_requests_is_reported_with_that_file_and_line(tmp_path, text, problems):
    found = problems_in(tmp_path, with_file(tmp_path, text))
    file = tmp_path / "paths.txt"
    place = f":{LOAD_LINE + 1}: load.requests: {file}"
    assert [problem.partition("; did you mean")[0] for problem in found] == [
        f"{place}{problem}" for problem in problems
    ]


def test_a_file_of_requests_that_is_not_there_is_reported(tmp_path):
    (problem,) = problems_in(tmp_path, with_file(tmp_path, "", requests="none.txt"))
    assert problem == f":6: load.requests: {tmp_path / 'none.txt'}: there is no such file"


@pytest.mark.parametrize("path", ["/products-of-nobody", "/no-such-folder/products"])
def test_a_path_in_place_of_a_file_of_requests_is_written_in_a_list(tmp_path, path):
    (problem,) = problems_in(tmp_path, with_file(tmp_path, "", requests=path))
    assert f'a path is in a list, requests = ["{path}"]' in problem


def test_a_folder_is_no_file_of_requests(tmp_path):
    (problem,) = problems_in(tmp_path, with_file(tmp_path, "", requests="."))
    assert problem.endswith(": this is a folder; expected a file with one path on each line")


def test_a_binary_file_is_no_file_of_requests(tmp_path):
    load = with_file(tmp_path, "")
    (tmp_path / "paths.txt").write_bytes(b"/a\n\xff\n")
    (problem,) = problems_in(tmp_path, load)
    assert problem.endswith("paths.txt:2: not UTF-8 text; expected a file with one path on each line")


@pytest.mark.parametrize("before", ["", LONG])
def test_the_weights_of_a_file_are_used_or_refused(tmp_path, before):
    file, load = tmp_path / "paths.txt", with_file(tmp_path, f"{before}/a 2\n")
    text = 'has weights, which require pick = "weighted" (or --pick weighted); or remove them'
    assert problems_in(tmp_path, load) == [f":4: load.pick: {file} {text}"]


def test_weights_in_the_study_beside_those_of_a_file_are_refused(tmp_path):
    load = with_file(tmp_path, "/a 2\n", 'pick = "weighted"\nweights = [1]')
    assert problems_in(tmp_path, load) == [
        f":10: load.weights: set here and in {tmp_path / 'paths.txt'}; keep one of the two"
    ]


def test_a_list_of_a_hundred_requests_is_read_and_a_longer_one_stays_a_file(tmp_path):
    assert len(load_of(tmp_path, with_file(tmp_path, "/a\n" * 100)).requests) == 100
    load = load_of(tmp_path, with_file(tmp_path, "/a\n" * 101))
    assert isinstance(load.requests, LongList)
    assert load.model_dump(mode="json")["requests"] == {"file": str(tmp_path / "paths.txt"), "count": 101}


def test_a_seed_picks_the_paths_of_a_long_list_that_are_verified(tmp_path):
    load = load_of(tmp_path, with_file(tmp_path, LONG))
    picked = sampled_paths(load.requests, seed=1)
    # Of 1000 paths 100 are picked, some of them perhaps twice; all but 17 of them once is as good as certain.
    assert 83 <= len(picked) == len(set(picked)) <= 100
    assert set(picked) <= set(LONG.split())
    assert picked == sampled_paths(load.requests, seed=1)
    assert picked != sampled_paths(load.requests, seed=2)


def test_a_long_list_that_changes_before_it_is_verified_is_bad_input(tmp_path):
    load = load_of(tmp_path, with_file(tmp_path, LONG))
    (tmp_path / "paths.txt").write_text("gone\n")
    with pytest.raises(BadInput, match="has changed since"):
        sampled_paths(load.requests, seed=1)


def test_a_short_list_is_verified_whole(tmp_path):
    assert load_of(tmp_path, CLOSED).paths_to_verify(1) == ["/a", "/b"]


PROBLEMS_OF_A_LONG_LIST = r"""
pick = "weighted"
    :6: load.requests: no line of {file} has a weight; pick = "weighted" requires weights
pick = "weighted"\nweights = [1]
    :10: load.weights: given for the 1000 requests of {file}; put the weights into that file
"""


@pytest.mark.parametrize(("change", "problem"), cases(PROBLEMS_OF_A_LONG_LIST))
def test_a_problem_of_a_long_list_is_reported(tmp_path, change, problem):
    load = changed(with_file(tmp_path, LONG), change)
    assert problems_in(tmp_path, load) == [problem.replace("{file}", str(tmp_path / "paths.txt"))]


def test_a_line_of_a_long_list_that_is_no_path_is_reported(tmp_path):
    (found,) = problems_in(tmp_path, with_file(tmp_path, LONG + "a\n"))
    assert found.startswith(f':6: load.requests: {tmp_path / "paths.txt"}:1001: found "a"; expected a path')


def test_the_weights_of_a_long_list_are_taken_from_its_file(tmp_path):
    load = load_of(tmp_path, with_file(tmp_path, LONG + "/b 2\n", 'pick = "weighted"'))
    assert isinstance(load.requests, LongList)
    assert (load.requests.listed.has_weights, load.weights) == (True, None)


def test_a_plain_get_is_sent_unless_the_study_says_otherwise(tmp_path):
    load = load_of(tmp_path, CLOSED)
    assert (load.method, load.headers, load.body) == ("GET", {}, "")


def test_method_headers_and_body_are_those_of_every_request(tmp_path):
    load = load_of(
        tmp_path, f'{CLOSED}method = "POST"\nheaders = {{ Accept = "*/*", X-Empty = "" }}\nbody = "grün"\n'
    )
    assert (load.method, sent(load), load.body) == ("POST", {"Accept": "*/*", "X-Empty": ""}, "grün")


def sent(load):
    return dict(header_fields(load.headers))


def test_a_list_of_values_is_as_many_fields_of_that_name_in_their_order(tmp_path, monkeypatch):
    monkeypatch.setenv("LOADCURVE_TEST_TOKEN", "Xq7VtZw9Kp")
    load = load_of(
        tmp_path,
        f'{CLOSED}headers.Cookie = ["a=1", {{ env = "LOADCURVE_TEST_TOKEN", prefix = "b=" }}]\n'
        'headers.Accept = ["text/html", "*/*"]\n',
    )
    assert header_fields(load.headers) == [
        ("Cookie", "a=1"),
        ("Cookie", "b=Xq7VtZw9Kp"),
        ("Accept", "text/html"),
        ("Accept", "*/*"),
    ]
    assert load.model_dump(mode="json")["headers"] == {
        "Cookie": ["(hidden)", {"env": "LOADCURVE_TEST_TOKEN", "prefix": "b="}],
        "Accept": ["text/html", "*/*"],
    }


def test_a_header_may_be_taken_from_the_environment_or_a_file_and_is_recorded_as_such(tmp_path, monkeypatch):
    monkeypatch.setenv("LOADCURVE_TEST_TOKEN", "Xq7VtZw9Kp")
    (tmp_path / "cookie").write_text("sid=Jf4HmRb2Ls\n")
    (tmp_path / "cookie").chmod(0o600)
    load = load_of(
        tmp_path,
        f'{CLOSED}headers.Authorization = {{ env = "LOADCURVE_TEST_TOKEN", prefix = "Bearer " }}\n'
        'headers.Cookie = { file = "cookie" }\nheaders.X-Key = "Tn5Wd"\nheaders.Accept = "*/*"\n',
    )
    assert sent(load) == {
        "Authorization": "Bearer Xq7VtZw9Kp",
        "Cookie": "sid=Jf4HmRb2Ls",
        "X-Key": "Tn5Wd",
        "Accept": "*/*",
    }
    recorded = load.model_dump(mode="json")["headers"]
    assert recorded == {
        "Authorization": {"env": "LOADCURVE_TEST_TOKEN", "prefix": "Bearer "},
        "Cookie": {"file": "cookie"},
        "X-Key": "(hidden)",
        "Accept": "*/*",
    }
    assert not any(secret in repr(load) for secret in ("Xq7Vt", "Jf4Hm", "Tn5Wd"))


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_secret_in_a_file_that_others_may_use_is_refused(tmp_path, mode):
    (tmp_path / "token").write_text("Xq7VtZw9Kp")
    (tmp_path / "token").chmod(mode)
    (problem,) = problems_in(tmp_path, f'{CLOSED}headers.Authorization = {{ file = "token" }}\n')
    assert problem.endswith(f"may be read or written by other users; run: chmod 600 {tmp_path}/token")


def test_what_is_no_table_of_headers_is_refused_without_repeating_it(tmp_path):
    (problem,) = problems_in(tmp_path, f'{CLOSED}headers = "Authorization: Xq7VtZw9Kp"\n')
    assert "Xq7Vt" not in problem


def test_the_file_of_a_body_counts_from_the_study(tmp_path):
    (tmp_path / "body.bin").write_bytes(b"\xff")
    assert load_of(tmp_path, f'{CLOSED}body = "@body.bin"\n').body == f"@{tmp_path / 'body.bin'}"


PROBLEMS = r"""
method = "GE T"
    :9: load.method: found "GE T"; expected a method such as "GET", "HEAD" or "POST"
method = "CONNECT"
    :9: load.method: found "CONNECT", which opens a tunnel; expected a method with a response
headers = ["Accept: a"]
    :9: load.headers: expected {HEADERS}
headers = { Accept = 1 }
    :9: load.headers.Accept: expected {VALUE}
headers = { Accept = [] }
    :9: load.headers.Accept: expected {VALUE}, or a list of them for several fields of this name
headers = { Accept = ["a", "a\\nb"] }
    :9: load.headers.Accept: contains a line break or another control character; expected a text without them
headers = { Accept = "a\\nb" }
    :9: load.headers.Accept: contains a line break or another control character; expected a text without them
headers = { "Acc ept" = "a" }
    :9: load.headers."Acc ept": found "Acc ept"; expected the name of a header, such as "Accept"
headers = { Accept = { env = "NO_SUCH_VARIABLE" } }
    :9: load.headers.Accept: the environment has no variable NO_SUCH_VARIABLE; set it before the start
headers = { Accept = { file = "nowhere" } }
    :9: load.headers.Accept: the file cannot be read: {folder}/nowhere: No such file or directory
headers = { Accept = { env = "A", file = "b" } }
    :9: load.headers.Accept: expected {VALUE}, optionally with prefix = "Bearer "
headers = { content-length = "1" }
    :9: load.headers: found "content-length", which is set from the body; remove it
body = 1
    :9: load.body: found 1; expected a text in quotes, "@" and a file name, or { lines = "FILE" }
body = "@nowhere"
    :9: load.body: {folder}/nowhere: there is no such file
"""


@pytest.mark.parametrize(("change", "problem"), cases(PROBLEMS))
def test_what_cannot_be_sent_is_reported(tmp_path, change, problem):
    for place, words in (("folder", str(tmp_path)), ("HEADERS", HEADERS_IN_WORDS), ("VALUE", GIVEN_IN_WORDS)):
        problem = problem.replace(f"{{{place}}}", words)
    assert problems_in(tmp_path, changed(CLOSED, change)) == [problem]
