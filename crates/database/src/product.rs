//! Which database an address is of.

use crate::{Database, InvalidTarget, MongoDb, PostgreSql};

/// A database that can be put under load. Another one is one more module, and one more line in each function here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // The variants are the databases of their names.
pub enum Product {
    MongoDb,
    PostgreSql,
}

/// What is to be done with a database whose kind is known only when the load is.
pub trait OnDatabase {
    /// What comes of it.
    type Output;

    /// Does it.
    fn on<D: Database>(self) -> Self::Output;
}

impl Product {
    /// Every one.
    pub const ALL: [Self; 2] = [Self::MongoDb, Self::PostgreSql];

    /// What results call it.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::MongoDb => "mongodb",
            Self::PostgreSql => "postgresql",
        }
    }

    /// What its addresses begin with.
    #[must_use]
    pub fn schemes(self) -> &'static [&'static str] {
        match self {
            Self::MongoDb => &["mongodb", "mongodb+srv"],
            Self::PostgreSql => &["postgresql", "postgres"],
        }
    }

    /// Does something with this kind of database.
    pub fn dispatch<T: OnDatabase>(self, task: T) -> T::Output {
        match self {
            Self::MongoDb => task.on::<MongoDb>(),
            Self::PostgreSql => task.on::<PostgreSql>(),
        }
    }

    /// The database that an address is of.
    ///
    /// # Errors
    /// When its scheme is of none. The text does not contain the address, in which a password may be.
    pub fn of(url: &str) -> Result<Self, InvalidTarget> {
        let scheme = url.split_once("://").map(|(scheme, _)| scheme);
        Self::ALL
            .into_iter()
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

#[cfg(test)]
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
        let text = Product::of("redis://user:secret@127.0.0.1").unwrap_err().to_string();
        assert!(
            text.contains("redis://") && text.contains("mongodb+srv://") && text.contains("postgresql://"),
            "{text}"
        );
        assert!(!text.contains("secret"), "{text}");
        assert!(Product::of("127.0.0.1:27017").unwrap_err().to_string().contains("without a scheme"));
    }
}
