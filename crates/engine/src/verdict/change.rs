//! Whether a series of equally wide periods is level, by arithmetic alone.
//!
//! Two tests share the job, because each is blind where the other sees. One looks for a moment from which on the level is
//! another: the end of a warm-up, or a step. The other looks for a trend through all of it, for which no such moment
//! stands out. Neither minds a single period that is off: a pause in the middle of a load is not a load that had not
//! settled.
//!
//! Both allow for an autocorrelation of neighbouring periods of up to [`AUTOCORRELATION`], and together they alarm in at
//! most 1 % of series which only fluctuate so, whatever the size of the fluctuation; the tests simulate that.

#[cfg(test)]
mod tests;

/// With fewer periods, chance alone gives any picture.
pub(super) const FEWEST_PERIODS: usize = 8;

/// How far neighbouring periods may be correlated without being taken for a change.
const AUTOCORRELATION: f64 = 0.5;
/// How many times its own standard error a change of level must be. It is this far from Gauss's 3, because the moment is
/// the one of all at which the change is largest, and the fluctuation is only estimated: simulated series that are level
/// and of that autocorrelation exceed it in 0.2 to 1 % of cases, from 8 periods to 300.
const SIGNIFICANT_CHANGE: f64 = 7.0;
/// At least this many periods must be off at the end before that is more than a pause there.
const FEWEST_LAST_PERIODS: usize = 3;
/// The share of the differences between neighbours that tell the fluctuation: those that a pause makes are left out.
const ORDINARY_SHARE: f64 = 0.75;
/// A period that is at most this many times the fluctuation away from the level is part of it.
const SETTLED_BAND: f64 = 3.0;
/// Where this share of the whole change happens in the second half, it had not come to its end. Of a change at a constant
/// pace it is a half, of one that decays within a fifth of the window a twelfth.
const UNFINISHED_SHARE: f64 = 0.3;

/// How a series changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Change {
    /// From the period `at` on the level was another: the shorter of the two parts differs from the longer one by this
    /// share of its level.
    Level { at: usize, relative: f64 },
    /// The last third differs from the first by this share of its level.
    Trend { relative: f64 },
}

/// A series that was not level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct NonStationary {
    pub(super) change: Change,
    /// After how many periods it was level; `None` if it was not by its end.
    pub(super) level_after: Option<usize>,
}

/// Whether values of [`FEWEST_PERIODS`] periods or more changed by more than their own fluctuation explains, and by at
/// least the share `least_change`, which is the smallest that matters. None where nothing of the kind shows.
///
/// The values are of a scale with a zero and one unit, such as requests per second; those that lie closer together than
/// `resolution` are not told apart.
pub(super) fn non_stationarity(values: &[f64], resolution: f64, least_change: f64) -> Option<NonStationary> {
    if values.len() < FEWEST_PERIODS || median(values) <= 0.0 {
        return None;
    }
    let fluctuation = fluctuation(values).max(resolution);
    let change =
        change_of_level(values, fluctuation, least_change).or_else(|| trend(values, least_change))?;
    let changed_at = match change {
        Change::Level { at, .. } => Some(at),
        Change::Trend { .. } => best_split(values, 1..=values.len() / 2),
    };
    let level_after = changed_at
        .filter(|_| is_level_by_the_end(values, change))
        .and_then(|changed_at| settling_time(values, changed_at, fluctuation, least_change));
    Some(NonStationary { change, level_after })
}

/// A change of level that is significant; where several moments make one, the one that splits the series best.
///
/// The shorter of the two parts counts as far off as at least two thirds of its periods are, so that a pause in it does
/// not make it another level.
fn change_of_level(values: &[f64], fluctuation: f64, least_change: f64) -> Option<Change> {
    let relative_at = |at: &usize| {
        let (head, rest) = values.split_at(*at);
        let (shorter, longer) = if head.len() <= rest.len() { (head, rest) } else { (rest, head) };
        let variance = variance_of_mean(shorter.len()) + variance_of_mean(longer.len());
        let level = median(longer);
        let significance = distance(shorter, level) / (fluctuation * variance.sqrt());
        let relative = median(shorter) / level - 1.0;
        (significance > SIGNIFICANT_CHANGE && is_at_least(least_change, relative)).then_some(relative)
    };
    let moments = 1..=values.len() - FEWEST_LAST_PERIODS;
    let at = best_split(values, moments.filter(|at| relative_at(at).is_some()))?;
    Some(Change::Level { at, relative: relative_at(&at)? })
}

/// The moment that splits the series into two levels with the least absolute deviations (Bai, Econometric Theory 11,
/// 1995), which a pause does not draw to itself.
fn best_split(values: &[f64], moments: impl Iterator<Item = usize>) -> Option<usize> {
    let deviation = |at: usize| absolute_deviation(&values[..at]) + absolute_deviation(&values[at..]);
    moments
        .map(|at| (deviation(at), at))
        .min_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, at)| at)
}

/// A trend through all periods, by the test of Mann (1945) and Kendall (1975), with the variance of its statistic for
/// values that are correlated (Hamed and Rao, Journal of Hydrology 204, 1998).
fn trend(values: &[f64], least_change: f64) -> Option<Change> {
    let count = values.len() as f64;
    let pairs = values
        .iter()
        .enumerate()
        .flat_map(|(i, earlier)| values[i + 1..].iter().map(move |later| (earlier, later)));
    let statistic: f64 = pairs.map(|(earlier, later)| sign(later - earlier)).sum();
    let inflation: f64 = (1..values.len())
        .map(|lag| {
            let apart = count - lag as f64;
            let rank_correlation =
                6.0 / std::f64::consts::PI * (AUTOCORRELATION.powf(lag as f64) / 2.0).asin();
            apart * (apart - 1.0) * (apart - 2.0) * rank_correlation
        })
        .sum();
    let variance = count * (count - 1.0) * (2.0 * count + 5.0) / 18.0
        * (1.0 + 2.0 * inflation / (count * (count - 1.0) * (count - 2.0)));
    // What about 0.2 % of level series exceed, by simulation: the statistic is bounded, which shows where they are short.
    let significant = 2.9 - 4.0 / count;
    let (first, last) = outer_thirds(values);
    let relative = last / first - 1.0;
    let matters = statistic.abs() > significant * variance.sqrt() && is_at_least(least_change, relative);
    matters.then_some(Change::Trend { relative })
}

/// After how many periods, at least `at_least`, the next one is within a band about the level of the second half: three
/// times the fluctuation, or the smallest change that matters where that is more.
fn settling_time(values: &[f64], at_least: usize, fluctuation: f64, least_change: f64) -> Option<usize> {
    let level = median(&values[values.len() / 2..]);
    let band = (SETTLED_BAND * fluctuation).max(least_change * level);
    let within = values[at_least..].iter().position(|value| (value - level).abs() <= band)?;
    Some(at_least + within)
}

/// Whether little of the whole change, in its own direction, happened in the second half.
fn is_level_by_the_end(values: &[f64], change: Change) -> bool {
    let whole = match change {
        Change::Level { at, .. } => median(&values[at..]) - median(&values[..at]),
        Change::Trend { .. } => change_between_outer_thirds(values),
    };
    let second_half = change_between_outer_thirds(&values[values.len() / 2..]);
    second_half * sign(whole) < UNFINISHED_SHARE * whole.abs()
}

/// How far two thirds of the values or more are on one side of the level.
fn distance(values: &[f64], level: f64) -> f64 {
    let sorted = sorted(values);
    let others = (values.len() - 1) / 3;
    let (low, high) = (sorted[others], sorted[values.len() - 1 - others]);
    (low - level).max(level - high).max(0.0)
}

/// The sum of the absolute deviations from the median.
fn absolute_deviation(values: &[f64]) -> f64 {
    let middle = median(values);
    values.iter().map(|value| (value - middle).abs()).sum()
}

/// The mean difference between neighbours, of all but the largest quarter: about 0.8 of the standard deviation where the
/// values are independent and normal, and hardly touched by steps, trends and pauses.
fn fluctuation(values: &[f64]) -> f64 {
    let differences: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a series holds few periods")]
    let ordinary = (ORDINARY_SHARE * differences.len() as f64).ceil() as usize;
    mean(&sorted(&differences)[..ordinary])
}

/// The variance of the mean of `count` values of variance 1, each of which is correlated with the one before (Law,
/// Simulation Modeling and Analysis, section 4.4, for a process of first order).
fn variance_of_mean(count: usize) -> f64 {
    let (count, correlation) = (count as f64, AUTOCORRELATION);
    let edges = 2.0 * correlation * (1.0 - correlation.powf(count)) / (count * (1.0 - correlation).powi(2));
    ((1.0 + correlation) / (1.0 - correlation) - edges) / count
}

/// The levels of the first and the last third.
fn outer_thirds(values: &[f64]) -> (f64, f64) {
    let third = values.len().div_ceil(3);
    (median(&values[..third]), median(&values[values.len() - third..]))
}

/// A change from nothing has no share.
fn is_at_least(least_change: f64, relative: f64) -> bool {
    relative.is_finite() && relative.abs() >= least_change
}

fn change_between_outer_thirds(values: &[f64]) -> f64 {
    let (first, last) = outer_thirds(values);
    last - first
}

fn sign(difference: f64) -> f64 {
    if difference == 0.0 { 0.0 } else { difference.signum() }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn median(values: &[f64]) -> f64 {
    let sorted = sorted(values);
    f64::midpoint(sorted[(values.len() - 1) / 2], sorted[values.len() / 2])
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}
