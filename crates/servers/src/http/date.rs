//! The date as HTTP writes it.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

const SECONDS_PER_DAY: u64 = 24 * 60 * 60;
/// The first day of 1970 was a Thursday.
const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
/// In years that begin in March, so that a leap day is the last day of its year.
const MONTHS: [&str; 12] =
    ["Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec", "Jan", "Feb"];

/// A time that is shown as `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 §5.6.7).
#[derive(Clone, Copy, Debug)]
pub struct HttpDate(pub SystemTime);

impl fmt::Display for HttpDate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let (days, second) = (seconds / SECONDS_PER_DAY, seconds % SECONDS_PER_DAY);
        let (year, month, day) = year_month_day(days);
        let weekday = WEEKDAYS[(days % 7) as usize];
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(formatter, "{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
    }
}

/// The date of a day counted from the first one of 1970: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms",
/// `civil_from_days`, without the days before 1970.
fn year_month_day(days: u64) -> (u64, &'static str, u64) {
    let since_march_of_year_0 = days + 719_468;
    let (era, day_of_era) = (since_march_of_year_0 / 146_097, since_march_of_year_0 % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let is_next_year = month >= 10;
    (400 * era + year_of_era + u64::from(is_next_year), MONTHS[month as usize], day)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::HttpDate;

    #[test]
    fn dates_are_those_that_python_writes() {
        // email.utils.formatdate(seconds, usegmt=True)
        for (seconds, expected) in [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (951_868_800, "Wed, 01 Mar 2000 00:00:00 GMT"),
            (1_078_012_799, "Sat, 28 Feb 2004 23:59:59 GMT"),
            (1_735_689_599, "Tue, 31 Dec 2024 23:59:59 GMT"),
            (1_735_689_600, "Wed, 01 Jan 2025 00:00:00 GMT"),
            (4_107_542_399, "Sun, 28 Feb 2100 23:59:59 GMT"),
            (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
        ] {
            assert_eq!(HttpDate(UNIX_EPOCH + Duration::from_secs(seconds)).to_string(), expected);
        }
    }
}
