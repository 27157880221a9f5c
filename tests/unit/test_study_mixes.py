"""C-pages: its files and lists of requests are those that the facts in mixes.toml give."""

import tomllib
from fractions import Fraction
from itertools import groupby

import pytest

from loadcurve.study.find import find_study
from support.read_study import read_study

FILE = find_study("C-pages")
FACTS = tomllib.loads((FILE.parent / "mixes.toml").read_text())
STUDY = read_study(FILE)
SIZES_BYTES = {f"/{name}": size for name, size in STUDY.content.files.items()}


def test_the_classes_have_the_shares_and_sizes_of_specweb99():
    load = STUDY.arms["nginx-classes"].load
    assert load.pick == "weighted"
    requests = list(zip(load.requests, load.weights, strict=True))
    facts = FACTS["specweb99"]
    harmonic = sum(Fraction(1, rank) for rank in range(1, 10))
    classes = [list(files) for _, files in groupby(requests, lambda one: one[0].partition("-")[0])]
    for files, share, smallest_bytes in zip(classes, facts["shares"], facts["smallest_bytes"], strict=True):
        assert [SIZES_BYTES[path] for path, _ in files] == [int(smallest_bytes * k) for k in range(1, 10)]
        weights = [100 * share / (facts["ranks"].index(k) + 1) / harmonic for k in range(1, 10)]
        assert [weight for _, weight in files] == pytest.approx(weights, abs=1e-4)


def test_the_page_has_as_many_objects_and_bytes_as_the_median_one():
    load = STUDY.arms["nginx-page"].load
    facts = FACTS["page"]
    assert load.pick == "random"
    assert len(set(load.requests)) == len(load.requests) == facts["requests"]
    assert sum(SIZES_BYTES[path] for path in load.requests) == 1000 * facts["kilobytes"]
    for kind, of_type in facts["types"].items():
        prefix = "/index" if kind == "html" else f"/{kind}-"
        sizes = [SIZES_BYTES[path] for path in load.requests if path.startswith(prefix)]
        assert (len(sizes), sum(sizes)) == (of_type["requests"], 1000 * of_type["kilobytes"])
        assert sizes == pytest.approx([sizes[0] / rank for rank in range(1, len(sizes) + 1)], abs=2)


def test_each_file_is_asked_for_by_one_of_the_mixes():
    asked = [*STUDY.arms["nginx-classes"].load.requests, *STUDY.arms["nginx-page"].load.requests]
    assert sorted(asked) == sorted(SIZES_BYTES)
