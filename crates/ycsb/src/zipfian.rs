//! The Zipfian distribution.

/// Draws whole numbers from zero on, of which number `i` is as likely as (i + 1)^−θ, by the approximation of Gray et al.,
/// *Quickly generating billion-record synthetic databases*, SIGMOD 1994, which is YCSB's.
///
/// The count of items may change at any time, at the cost of a few powers: nothing is summed up.
#[derive(Clone, Debug)]
pub(crate) struct Zipfian {
    sums: PowerSums,
    items: u64,
    /// The sum of the weights of all items.
    total: f64,
    /// What the first two items weigh together.
    first_two: f64,
    exponent: f64,
    eta: f64,
}

impl Zipfian {
    /// Numbers below `items`, with the constant `theta` above 0 and below 1.
    pub(crate) fn new(theta: f64, items: u64) -> Self {
        let sums = PowerSums::new(theta);
        let first_two = sums.up_to(2);
        let exponent = 1.0 / (1.0 - theta);
        let mut zipfian = Self { sums, items: 0, total: 0.0, first_two, exponent, eta: 0.0 };
        zipfian.set_items(items);
        zipfian
    }

    /// From now on numbers below `items`.
    pub(crate) fn set_items(&mut self, items: u64) {
        if items != self.items {
            self.items = items;
            self.total = self.sums.up_to(items);
            self.eta = (1.0 - (2.0 / items as f64).powf(1.0 - self.sums.theta))
                / (1.0 - self.first_two / self.total);
        }
    }

    /// The number that belongs to a share of 0 or more and below 1: evenly distributed shares give numbers of this
    /// distribution.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // The product is from zero to the items.
    pub(crate) fn at(&self, share: f64) -> u64 {
        let weight = share * self.total;
        if weight < 1.0 || self.items < 2 {
            return 0;
        }
        // Rounding must not lead out of two items, for which the formula below has no value.
        if weight < self.first_two || self.items == 2 {
            return 1;
        }
        let place = (self.eta * share - self.eta + 1.0).powf(self.exponent);
        ((self.items as f64 * place) as u64).min(self.items - 1)
    }
}

/// The sums 1^−θ + 2^−θ + … + n^−θ, to about a part in 10¹², for θ above 0 and below 1.
#[derive(Clone, Copy, Debug)]
struct PowerSums {
    theta: f64,
    /// What the expansion lacks to the sum: the same for every count, Riemann's ζ(θ).
    offset: f64,
}

impl PowerSums {
    /// Up to this many terms are added one by one.
    const FEW: u64 = 64;

    fn new(theta: f64) -> Self {
        let without_offset = Self { theta, offset: 0.0 };
        Self { theta, offset: without_offset.added(Self::FEW) - without_offset.expanded(Self::FEW) }
    }

    fn up_to(&self, count: u64) -> f64 {
        if count <= Self::FEW { self.added(count) } else { self.expanded(count) }
    }

    fn added(&self, count: u64) -> f64 {
        (1..=count).map(|term| (term as f64).powf(-self.theta)).sum()
    }

    /// The Euler–Maclaurin expansion to its fourth term; the fifth is below 10⁻¹³ from 64 on.
    fn expanded(&self, count: u64) -> f64 {
        let (theta, count) = (self.theta, count as f64);
        let term = count.powf(-theta);
        self.offset + term * count / (1.0 - theta) + term / 2.0 - theta * term / (12.0 * count)
            + theta * (theta + 1.0) * (theta + 2.0) * term / (720.0 * count.powi(3))
    }
}

#[cfg(test)]
mod tests;
