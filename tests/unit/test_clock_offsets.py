"""How far apart two clocks are: what is stated holds the truth, whatever the ways took."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadcurve.machines.clock_offsets import DRIFT_MAX, ClockCourse, Exchange, Offset, offset_of

US, MS, S = 1_000, 1_000_000, 1_000_000_000
TRIES = 200
HOUR_S = 3600

times_ns = st.integers(0, 50 * MS)
offsets_ns = st.integers(-(10**9) * S, 10**9 * S)


def exchange(sent_ns, offset_ns, there_ns, stay_ns, back_ns):
    """An exchange with a clock that is ahead by ``offset_ns``, whose ways take as long as they do."""
    received_ns = sent_ns + there_ns + offset_ns
    return Exchange(sent_ns, received_ns, received_ns + stay_ns, sent_ns + there_ns + stay_ns + back_ns)


@given(offsets_ns, st.lists(st.tuples(times_ns, times_ns, times_ns), min_size=1, max_size=20))
def test_the_truth_is_within_the_error_whatever_the_ways_and_the_stay_took(offset_ns, ways):
    exchanges = [exchange(1000 * S + 200 * MS * index, offset_ns, *way) for index, way in enumerate(ways)]
    found = offset_of(exchanges)
    assert abs(found.offset_ns - offset_ns) <= found.error_ns
    # Half of the least round trip without the stay, rounded up.
    assert found.error_ns == min((there_ns + back_ns + 1) // 2 for there_ns, _, back_ns in ways)


def test_two_equal_ways_give_the_offset_itself():
    found = offset_of([exchange(7 * S, -3 * S, 40 * US, 9 * US, 40 * US)])
    assert (found.offset_ns, found.error_ns, found.delay_ns) == (-3 * S, 40 * US, 80 * US)


def test_without_an_exchange_nothing_is_known():
    with pytest.raises(ValueError, match="empty"):
        offset_of([])


class Way:
    """A network whose ways take 20 µs and a random wait each, between two clocks that drift apart."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.offset_ns = self.random.uniform(-HOUR_S, HOUR_S) * S
        self.drift = self.random.uniform(-DRIFT_MAX, DRIFT_MAX)

    def there(self, here_ns):
        """What the clock there reads when the one here reads this."""
        return here_ns + self.offset_ns + self.drift * here_ns

    def compared(self, at_ns, count=64):
        exchanges = []
        for _ in range(count):
            received_ns = at_ns + 20 * US + self.random.expovariate(1 / (30 * US))
            replied_ns = received_ns + self.random.expovariate(1 / (10 * US))
            arrived_ns = replied_ns + 20 * US + self.random.expovariate(1 / (90 * US))
            readings = (at_ns, self.there(received_ns), self.there(replied_ns), arrived_ns)
            exchanges.append(Exchange(*map(round, readings)))
            at_ns = arrived_ns
        return offset_of(exchanges)


def test_between_two_comparisons_the_stated_error_covers_a_drift_of_100_ppm():
    covered = 0
    for seed in range(TRIES):
        way = Way(seed)
        length_ns = way.random.uniform(1, 60) * S
        course = ClockCourse(way.compared(0), way.compared(length_ns))
        at_ns = round(way.random.uniform(0, length_ns))
        found = course.at(at_ns)
        covered += abs(way.there(at_ns) - at_ns - found.offset_ns) <= found.error_ns
        assert course.drift == pytest.approx(way.drift, abs=2 * found.error_ns / length_ns + 1e-9)
        # The ways are uneven by tens of µs, and nothing of the seconds of drift is left.
        assert found.error_ns < 150 * US
    assert covered >= 0.95 * TRIES


def test_before_the_load_the_error_grows_by_what_clocks_can_drift():
    before = Offset(at_ns=5 * S, offset_ns=3 * S, error_ns=20 * US, delay_ns=40 * US, exchanges=64)
    # Two seconds at 100 ppm are 200 µs.
    assert ClockCourse(before).at(7 * S).error_ns == 220 * US
    assert ClockCourse(before).drift is None


def test_after_both_comparisons_the_later_one_counts_with_what_can_drift_since():
    before = Offset(at_ns=5 * S, offset_ns=0, error_ns=10, delay_ns=20, exchanges=64)
    after = Offset(at_ns=6 * S, offset_ns=80 * US, error_ns=30, delay_ns=60, exchanges=64)
    course = ClockCourse(before, after)
    assert course.drift == pytest.approx(80e-6)
    # Even drift: half of it, and an error between the two.
    assert (course.at(5 * S + S // 2).offset_ns, course.at(5 * S + S // 2).error_ns) == (40 * US, 22)
    # From 80 µs it goes within 100 µs in each direction, and from 0 it cannot have got above 200 µs.
    assert course.at(7 * S).offset_ns == pytest.approx(80 * US, abs=20 * US)
    assert 80 * US < course.at(7 * S).error_ns <= 100 * US + 30


def test_a_comparison_that_says_little_takes_nothing_from_one_that_says_much():
    before = Offset(at_ns=0, offset_ns=20 * MS, error_ns=20 * MS, delay_ns=40 * MS, exchanges=64)
    after = Offset(at_ns=S, offset_ns=0, error_ns=20 * US, delay_ns=40 * US, exchanges=64)
    found = ClockCourse(before, after).at(S // 2)
    # The exact one, half a second away: 20 µs and 50 µs of drift, above zero only by the other one.
    assert (found.offset_ns - found.error_ns, found.offset_ns + found.error_ns) == (-50 * US, 70 * US)


def test_clocks_that_were_set_apart_faster_than_they_drift_can_be_anywhere_between():
    before = Offset(at_ns=0, offset_ns=0, error_ns=10 * US, delay_ns=20 * US, exchanges=64)
    after = Offset(at_ns=S, offset_ns=5 * MS, error_ns=10 * US, delay_ns=20 * US, exchanges=64)
    found = ClockCourse(before, after).at(S // 2)
    assert found.offset_ns - found.error_ns <= 0
    assert found.offset_ns + found.error_ns >= 5 * MS
