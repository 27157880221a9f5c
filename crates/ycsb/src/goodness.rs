//! How well counts fit a distribution: for tests.

/// Fails where counts are further from their expectation than chance explains: Pearson's χ² of the cells has as many
/// degrees of freedom as there are cells but one, and its deviation is √2f; five of them are allowed.
pub(crate) fn assert_fits(counts: &[u64], probabilities: &[f64]) {
    assert_eq!(counts.len(), probabilities.len());
    let total = counts.iter().sum::<u64>() as f64;
    let sum: f64 = probabilities.iter().sum();
    assert!((sum - 1.0).abs() < 1e-9, "the probabilities are {sum} together");
    let mut statistic = 0.0;
    for (cell, (count, probability)) in counts.iter().zip(probabilities).enumerate() {
        let expected = total * probability;
        assert!(expected >= 5.0, "cell {cell} is too rare for the test");
        statistic += (*count as f64 - expected).powi(2) / expected;
    }
    let freedom = (counts.len() - 1) as f64;
    let limit = freedom + 5.0 * (2.0 * freedom).sqrt();
    assert!(statistic <= limit, "χ² is {statistic}, above {limit}");
}
