//! Whatever a histogram of a received run says: reading it does not panic, and what is taken keeps its counts in order
//! and is the same when it is written and read again.
//!
//! The input is read twice: as the text of a histogram, and as the bytes that such a text stands for.

#![cfg_attr(fuzzing, no_main)]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use loadcurve_fuzz::target;
use loadcurve_record::TimeHistogram;

target!(|input: &[u8]| {
    if let Ok(text) = str::from_utf8(input) {
        check(text);
    }
    check(&BASE64.encode(input));
});

fn check(text: &str) {
    let Ok(histogram) = TimeHistogram::decode(text) else { return };
    let curve = histogram.percentile_curve();
    assert_eq!(curve.is_empty(), histogram.count() == 0);
    assert!(
        curve.is_sorted_by(|(percentile, time), (next, later)| percentile <= next && time < later),
        "{curve:?}"
    );
    assert!(curve.iter().all(|(percentile, time)| (0.0..=100.0).contains(percentile) && time.is_finite()));
    let again = TimeHistogram::decode(&histogram.encode()).expect("what was written can be read");
    assert_eq!((again.count(), again.percentile_curve()), (histogram.count(), curve));
}
