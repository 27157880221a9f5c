#!/usr/bin/env bash
# Apache Otava 0.8.0: its test for a change point takes the standard deviation that divides by n where the t test that it hands them
# to expects the one that divides by n - 1. With three runs on each side, 10.0, 10.1, 10.2 and 10.5, 10.6, 10.7, it has a p value of
# 0.0017 where the t test of the same values (scipy.stats.ttest_ind) has 0.0036: a limit of 0.001 is one of about 0.0022. Exits with 0
# while this is so.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check apache-otava==0.8.0 numpy==2.2.0 scipy==1.16.3
"$folder/env/bin/python" - << 'END'
from otava.analysis import TTestSignificanceTester
from scipy.stats import t, ttest_ind

before, after = [10.0, 10.1, 10.2], [10.5, 10.6, 10.7]
theirs = float(TTestSignificanceTester(0.001).compare(before, after).pvalue)
right = float(ttest_ind(before, after).pvalue)
# A statistic of theirs that has p 0.001 is too large by the root of 3/2, as each side has three values.
true = float(2 * t.sf(t.isf(0.0005, 4) / (3 / 2) ** 0.5, 4))
print(f"otava {theirs:.4f}, t test {right:.4f}; its 0.001 is {true:.4f}")
assert [round(p_value, 4) for p_value in (theirs, right, true)] == [0.0017, 0.0036, 0.0022]
END
