//! Which database an address is of.

use crate::{Database, InvalidTarget};
#[cfg(feature = "drivers")]
use crate::{MongoDb, PostgreSql};

/// What is said where the build has no drivers.
const NO_DRIVERS: &str =
    "this build of Loadcurve has no database drivers; build them with `make setup` (a few minutes)";

/// A database that can be put under load. Another one is one more module, and one more line in each function here. A
/// build without drivers, which takes half the time, has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // The variants are the databases of their names.
pub enum Product {
    #[cfg(feature = "drivers")]
    MongoDb,
    #[cfg(feature = "drivers")]
    PostgreSql,
}

/// What is to be done with a database whose kind is known only when the load is.
pub trait OnDatabase {
    /// The result of the work.
    type Output;

    /// Runs the work with this type of database.
    fn on<D: Database>(self) -> Self::Output;
}

impl Product {
    /// Every one.
    #[cfg(feature = "drivers")]
    pub const ALL: &[Self] = &[Self::MongoDb, Self::PostgreSql];
    /// Every one of a build without drivers.
    #[cfg(not(feature = "drivers"))]
    pub const ALL: &[Self] = &[];

    /// What results call it.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            #[cfg(feature = "drivers")]
            Self::MongoDb => "mongodb",
            #[cfg(feature = "drivers")]
            Self::PostgreSql => "postgresql",
        }
    }

    /// What its addresses begin with.
    #[must_use]
    pub fn schemes(self) -> &'static [&'static str] {
        match self {
            #[cfg(feature = "drivers")]
            Self::MongoDb => &["mongodb", "mongodb+srv"],
            #[cfg(feature = "drivers")]
            Self::PostgreSql => &["postgresql", "postgres"],
        }
    }

    /// Does something with this kind of database.
    #[cfg_attr(not(feature = "drivers"), allow(unused_variables, clippy::needless_pass_by_value))]
    pub fn dispatch<T: OnDatabase>(self, task: T) -> T::Output {
        match self {
            #[cfg(feature = "drivers")]
            Self::MongoDb => task.on::<MongoDb>(),
            #[cfg(feature = "drivers")]
            Self::PostgreSql => task.on::<PostgreSql>(),
        }
    }

    /// The database that an address is of.
    ///
    /// # Errors
    /// When its scheme is of none, or this build has no drivers. The text does not contain the address, in which a
    /// password may be.
    pub fn of(url: &str) -> Result<Self, InvalidTarget> {
        if cfg!(not(feature = "drivers")) {
            return Err(InvalidTarget(NO_DRIVERS.into()));
        }
        let is_of_schemes = |sign: char| sign.is_ascii_alphanumeric() || "+-.".contains(sign);
        let before = url.split_once("://").map(|(scheme, _)| scheme);
        let scheme = before.filter(|scheme| scheme.chars().all(is_of_schemes));
        Self::ALL
            .iter()
            .copied()
            .find(|product| scheme.is_some_and(|s| product.schemes().contains(&s)))
            .ok_or_else(|| {
                let known: Vec<_> = Self::ALL.iter().flat_map(|product| product.schemes()).copied().collect();
                InvalidTarget(format!(
                    "the address of a database begins with one of {}://, not {}",
                    known.join("://, "),
                    scheme.map_or_else(|| "without a scheme".into(), |scheme| format!("with {scheme}://")),
                ))
            })
    }
}

#[cfg(all(test, feature = "drivers"))]
mod tests {
    use super::*;

    #[test]
    fn the_scheme_says_which_database_it_is() {
        assert_eq!(Product::of("mongodb://127.0.0.1/"), Ok(Product::MongoDb));
        assert_eq!(Product::of("mongodb+srv://example.org"), Ok(Product::MongoDb));
        assert_eq!(Product::of("postgres://u:p@127.0.0.1/db"), Ok(Product::PostgreSql));
        assert_eq!(Product::of("postgresql://127.0.0.1/db"), Ok(Product::PostgreSql));
    }

    #[test]
    fn an_unknown_scheme_is_answered_with_the_known_ones() {
        let text = Product::of("cassandra://user:secret@127.0.0.1").unwrap_err().to_string();
        assert!(
            text.contains("cassandra://")
                && text.contains("mongodb+srv://")
                && text.contains("postgresql://"),
            "{text}"
        );
        assert!(!text.contains("secret"), "{text}");
        assert!(Product::of("127.0.0.1:27017").unwrap_err().to_string().contains("without a scheme"));
    }
}
