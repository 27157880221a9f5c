//! The two tests held against simulated series of which it is known whether they are level.

use loadcurve_plan::{Purpose, Random};
use proptest::prelude::*;

use super::{Change, NonStationary, non_stationarity};

/// What is lost at the start of the simulated warm-ups.
const DEFICIT: f64 = 0.2;
/// The smallest change that matters in these tests.
const LEAST_CHANGE: f64 = 0.03;
const SERIES: usize = 1_000;

fn judge(values: &[f64]) -> Option<NonStationary> {
    non_stationarity(values, 1e-6, LEAST_CHANGE)
}

/// A number from the normal distribution of mean 0 and variance 1 (Box and Muller 1958).
fn normal(random: &mut Random) -> f64 {
    let radius = (2.0 * random.next_exponential()).sqrt();
    radius * (std::f64::consts::TAU * uniform(random)).cos()
}

fn uniform(random: &mut Random) -> f64 {
    random.next_u64() as f64 / 2_f64.powi(64)
}

/// How a simulated series fluctuates about its level, as shares of that.
#[derive(Clone, Copy)]
struct Noise {
    deviation: f64,
    /// How far neighbours are correlated.
    correlation: f64,
    /// The share of periods with a pause in them, of any length; never the first, where it would be a warm-up.
    pauses: f64,
}

impl Noise {
    const fn white(deviation: f64) -> Self {
        Self { deviation, correlation: 0.0, pauses: 0.0 }
    }

    /// One series with these levels.
    fn series(self, levels: &[f64], random: &mut Random) -> Vec<f64> {
        let step = (1.0 - self.correlation * self.correlation).sqrt();
        let mut state = normal(random);
        // A pause fits into one period, and the first has none.
        let mut has_paused = true;
        let value = |level: &f64| {
            let share = 1.0 + self.deviation * state;
            state = self.correlation * state + step * normal(random);
            has_paused = !has_paused && uniform(random) < self.pauses;
            level * share * if has_paused { uniform(random) } else { 1.0 }
        };
        levels.iter().map(value).collect()
    }

    /// In which share of many series with these levels the condition holds.
    fn share_of(self, levels: &[f64], condition: impl Fn(&[f64]) -> bool) -> f64 {
        let mut random = Random::new(levels.len() as u64, Purpose::Arrivals);
        let count = (0..SERIES).filter(|_| condition(&self.series(levels, &mut random))).count();
        count as f64 / SERIES as f64
    }
}

fn level(periods: usize) -> Vec<f64> {
    vec![1_000.0; periods]
}

/// A level that is reached exponentially: the mean of 1 − deficit · e^(−t / time constant) over each period.
fn warming_up(periods: usize, time_constant: f64) -> Vec<f64> {
    let decayed = |time: usize| (-(time as f64) / time_constant).exp();
    let deficit = |index| DEFICIT * time_constant * (decayed(index) - decayed(index + 1));
    (0..periods).map(|index| 1_000.0 * (1.0 - deficit(index))).collect()
}

fn stepping(periods: usize, at: usize) -> Vec<f64> {
    (0..periods).map(|index| if index < at { 1_000.0 * (1.0 - DEFICIT) } else { 1_000.0 }).collect()
}

/// A level that falls at a constant pace by the deficit in all.
fn slowing_down(periods: usize) -> Vec<f64> {
    let last = (periods - 1) as f64;
    (0..periods).map(|index| 1_000.0 * (1.0 - DEFICIT * index as f64 / last)).collect()
}

fn assert_at_least(wanted: f64, found: f64, what: &str) {
    assert!(found >= wanted, "{what}: {found} instead of {wanted}");
}

#[test]
fn at_most_one_of_a_hundred_level_series_is_alarmed_about() {
    // A deviation of 5 % keeps the smallest change that matters from helping.
    let noises = [
        ("white", Noise::white(0.05)),
        ("correlated", Noise { correlation: 0.5, ..Noise::white(0.05) }),
        ("white with pauses", Noise { pauses: 0.1, ..Noise::white(0.05) }),
        ("correlated with pauses", Noise { correlation: 0.5, pauses: 0.1, ..Noise::white(0.05) }),
        ("quiet with pauses", Noise { pauses: 0.1, ..Noise::white(0.001) }),
    ];
    for (name, noise) in noises {
        let mut shares = Vec::new();
        for periods in [8, 9, 10, 12, 15, 20, 40] {
            let share = noise.share_of(&level(periods), |values| judge(values).is_some());
            // Three standard errors of a share of 1 %.
            assert!(share <= 0.01 + 3.0 * (0.01 * 0.99 / SERIES as f64).sqrt(), "{name}, {periods}: {share}");
            shares.push(share);
        }
        let mean = shares.iter().sum::<f64>() / shares.len() as f64;
        assert!(mean <= 0.01, "{name}: {mean} of {shares:?}");
    }
}

#[test]
fn few_answers_at_random_are_no_change() {
    let mut random = Random::new(1, Purpose::Arrivals);
    let mut alarms = 0;
    for _ in 0..SERIES {
        // Poisson arrivals at ten per period.
        let mut counts = vec![0.0; 20];
        let mut time = random.next_exponential();
        while time < 200.0 {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below 20")]
            let period = (time / 10.0) as usize;
            counts[period] += 1.0;
            time += random.next_exponential();
        }
        alarms += usize::from(non_stationarity(&counts, 1.0, LEAST_CHANGE).is_some());
    }
    assert!(alarms <= SERIES / 100, "{alarms}");
}

#[test]
fn a_warm_up_is_found_wherever_it_can_be() {
    for time_constant in [1.0, 2.0, 3.0] {
        // Few periods tell the same deficit only from less fluctuation.
        for (periods, deviation) in [(10, 0.0075), (30, 0.0125)] {
            let levels = warming_up(periods, time_constant);
            let found = Noise::white(deviation).share_of(&levels, |values| judge(values).is_some());
            assert_at_least(0.95, found, &format!("{time_constant} s in {periods} periods"));
        }
    }
}

#[test]
fn a_warm_up_as_long_as_is_said_is_enough() {
    for time_constant in [1.0_f64, 2.0, 3.0] {
        let enough = Noise::white(0.01).share_of(&warming_up(30, time_constant), |values| {
            let Some(NonStationary { level_after: Some(periods), .. }) = judge(values) else { return false };
            // By how much the mean of the rest is too low.
            let missing = DEFICIT * time_constant * (-(periods as f64) / time_constant).exp();
            missing / (30 - periods) as f64 <= LEAST_CHANGE / 3.0 && periods < 15
        });
        assert_at_least(0.95, enough, &format!("{time_constant} s"));
    }
}

#[test]
fn a_warm_up_lasts_until_what_is_missing_no_longer_matters() {
    // In the period d 0.2 · 3 · (1 − e^(−1/3)) · e^(−d/3) are missing, which is below 3 % from the sixth on.
    assert_eq!(judge(&warming_up(30, 3.0)).and_then(|found| found.level_after), Some(6));
}

#[test]
fn a_warm_up_lasts_until_what_is_missing_does_not_stand_out() {
    // Neighbours differ by 40, so 150 is more than three times that; two levels fit best without it.
    let mut values = vec![400.0, 600.0, 850.0];
    values.extend((0..17).map(|index| if index % 2 == 0 { 980.0 } else { 1_020.0 }));
    let Some(NonStationary { change: Change::Level { at: 2, .. }, level_after: Some(3) }) = judge(&values)
    else {
        panic!("{:?}", judge(&values));
    };
}

#[test]
fn a_step_is_found_with_its_moment() {
    for (periods, at) in [(10, 2), (10, 3), (10, 5), (30, 1), (30, 4), (30, 15)] {
        let found = Noise::white(0.01).share_of(&stepping(periods, at), |values| {
            let Some(found) = judge(values) else { return false };
            matches!(found.change, Change::Level { at: found_at, .. } if found_at == at)
                && found.level_after == Some(at)
        });
        assert_at_least(0.95, found, &format!("{at} of {periods}"));
    }
}

#[test]
fn a_period_out_of_line_within_a_warm_up_does_not_end_it() {
    let mut values = stepping(20, 6);
    values[2] = values[19];
    let found = judge(&values).map(|found| found.change);
    assert!(matches!(found, Some(Change::Level { at: 6, .. })), "{found:?}");
}

#[test]
fn the_change_is_reported_as_a_share_of_the_longer_part() {
    let Some(NonStationary { change: Change::Level { at: 3, relative }, .. }) = judge(&stepping(10, 3))
    else {
        panic!("{:?}", judge(&stepping(10, 3)));
    };
    assert!((relative + 0.2).abs() < 1e-9, "{relative}");
}

#[test]
fn a_server_that_slows_down_until_the_end_has_not_settled() {
    for periods in [10, 30] {
        let found = Noise::white(0.01).share_of(&slowing_down(periods), |values| {
            judge(values).is_some_and(|found| found.level_after.is_none())
        });
        assert_at_least(0.95, found, &format!("{periods} periods"));
    }
}

#[test]
fn a_server_that_changes_shortly_before_the_end_has_not_settled() {
    for (periods, at) in [(10, 7), (30, 24)] {
        let found = Noise::white(0.01).share_of(&stepping(periods, at), |values| {
            judge(values).is_some_and(|found| found.level_after.is_none())
        });
        assert_at_least(0.95, found, &format!("{at} of {periods}"));
    }
}

#[test]
fn changes_too_small_to_matter_are_none() {
    let levels = stepping(30, 10).iter().map(|level| 900.0 + level / 10.0).collect::<Vec<f64>>();
    assert_eq!(judge(&levels), None, "{levels:?}");
    assert!(non_stationarity(&levels, 1e-6, 0.01).is_some());
}

#[test]
fn fewer_than_eight_periods_are_not_judged() {
    assert_eq!(judge(&stepping(7, 2)), None);
    assert!(judge(&stepping(8, 2)).is_some());
}

proptest! {
    #[test]
    fn a_pause_or_a_burst_after_the_first_period_is_never_a_change(
        periods in 8_usize..40,
        position in 1_usize..40,
        share in 0.0_f64..20.0,
        seed: u64,
    ) {
        let mut random = Random::new(seed, Purpose::Arrivals);
        // So little fluctuation that what is left matters only by the pause.
        let mut values = Noise::white(0.002).series(&level(periods), &mut random);
        values[1 + (position - 1) % (periods - 1)] *= share;
        prop_assert_eq!(judge(&values), None);
    }

    #[test]
    fn the_unit_of_the_values_does_not_matter(
        values in prop::collection::vec(0.5_f64..2.0, 8..30),
        exponent in -20_i32..20,
    ) {
        // Powers of two scale without rounding.
        let scale = 2_f64.powi(exponent);
        let scaled: Vec<f64> = values.iter().map(|value| value * scale).collect();
        prop_assert_eq!(non_stationarity(&values, 0.01, LEAST_CHANGE), non_stationarity(&scaled, 0.01 * scale, LEAST_CHANGE));
    }

    #[test]
    fn any_series_is_judged_without_a_panic_and_by_finite_numbers(
        values in prop::collection::vec(prop_oneof![Just(0.0), 0.0_f64..1e9, Just(1.0)], 0..40),
    ) {
        if let Some(NonStationary { change, level_after }) = judge(&values) {
            let (Change::Level { relative, .. } | Change::Trend { relative }) = change;
            prop_assert!(relative.is_finite());
            prop_assert!(level_after.is_none_or(|periods| periods > 0 && periods < values.len()));
        }
    }
}
