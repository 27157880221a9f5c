//! Numbers as people read them.

/// A count with a comma between each three digits.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A rate, to whole numbers from ten on.
pub(crate) fn rate(per_second: f64) -> String {
    if per_second < 10.0 {
        return format!("{per_second:.2}");
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rates are far below 2^64")]
    let whole = per_second.round() as u64;
    grouped(whole)
}

/// A share as a percentage with two significant digits or its whole ones, as `loadcurve.units.percent` writes it.
pub(crate) fn percentage(part: u64, whole: u64) -> String {
    if part == 0 {
        return "0 %".into();
    }
    let percent = 100.0 * part as f64 / whole as f64;
    if percent < 0.01 {
        return "less than 0.01 %".into();
    }
    let of_two_digits: f64 = format!("{percent:.1e}").parse().unwrap_or(percent);
    match of_two_digits {
        10.0.. => format!("{percent:.0} %"),
        1.0.. => format!("{of_two_digits:.1} %"),
        0.1.. => format!("{of_two_digits:.2} %"),
        _ => format!("{of_two_digits:.3} %"),
    }
}

/// Parts as `a`, `a and b` or `a, b and c`.
pub(crate) fn list(parts: &[String]) -> String {
    joined(parts, "and")
}

/// Parts as `a`, `a or b` or `a, b or c`.
pub(crate) fn choice(parts: &[String]) -> String {
    joined(parts, "or")
}

fn joined(parts: &[String], conjunction: &str) -> String {
    match parts {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} {conjunction} {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::{choice, grouped, list, percentage, rate};

    #[test]
    fn digits_are_grouped_by_three() {
        assert_eq!(
            [0, 999, 1_000, 65_535, 1_234_567].map(grouped),
            ["0", "999", "1,000", "65,535", "1,234,567"]
        );
    }

    #[test]
    fn a_slow_rate_keeps_its_decimals() {
        assert_eq!([0.25, 9.5, 10.4, 12_345.6].map(rate), ["0.25", "9.50", "10", "12,346"]);
    }

    #[test]
    fn a_share_has_two_digits_and_is_never_rounded_to_nothing() {
        let shares = [(0, 7), (1, 2), (1, 40), (1, 300), (1, 3_000), (1, 100_000)];
        let shown = shares.map(|(part, whole)| percentage(part, whole));
        assert_eq!(shown, ["0 %", "50 %", "2.5 %", "0.33 %", "0.033 %", "less than 0.01 %"]);
        let at_steps = [9, 996, 9_960, 99_600, 99_500].map(|part| percentage(part, 100_000));
        assert_eq!(at_steps, ["less than 0.01 %", "1.0 %", "10 %", "100 %", "100 %"]);
    }

    #[test]
    fn the_last_part_of_a_list_follows_its_conjunction() {
        let parts = |count| ["a", "b", "c"][..count].iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!([0, 1, 2, 3].map(|count| list(&parts(count))), ["", "a", "a and b", "a, b and c"]);
        assert_eq!(choice(&parts(3)), "a, b or c");
    }
}
