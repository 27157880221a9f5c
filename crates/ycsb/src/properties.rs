//! YCSB's property files, and properties of the command line, as a workload.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::validation::Flaw;
use crate::workload::Workload;
use known::KNOWN;

mod known;
mod syntax;

/// A property file.
#[derive(Clone, Copy, Debug)]
pub struct PropertyFile<'a> {
    /// What messages call it.
    pub name: &'a str,
    /// What it holds, in the syntax of Java's `Properties`.
    pub text: &'a str,
}

/// What properties say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Properties {
    /// What is asked.
    pub workload: Workload,
    /// How it is asked.
    pub run: RunProperties,
    /// The properties that change nothing here, such as those of YCSB's own output, in the order of their names.
    pub ignored: Vec<String>,
}

/// What properties say of a run, each where it is given.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RunProperties {
    /// `operationcount`: how many operations the run phase has.
    pub operations: Option<u64>,
    /// `threadcount`: how many clients there are.
    pub threads: Option<usize>,
    /// `target`: operations per second.
    pub rate_rps: Option<f64>,
    /// `maxexecutiontime`: the longest that a phase may last.
    pub duration_max_s: Option<u64>,
    /// `table`: the table's name.
    pub table: Option<String>,
}

/// One reason why properties cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where: a property with its file and line, such as `workloada:12: fieldcount`, or one of the command line, such
    /// as `-p fieldcount=0`.
    pub place: String,
    /// What is wrong, and what was expected.
    pub text: String,
}

/// Why properties cannot be used: every reason, in the order of their places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidProperties(pub Vec<Problem>);

impl fmt::Display for InvalidProperties {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, problem) in self.0.iter().enumerate() {
            let line_end = if number > 0 { "\n" } else { "" };
            write!(formatter, "{line_end}{}: {}", problem.place, problem.text)?;
        }
        Ok(())
    }
}

impl std::error::Error for InvalidProperties {}

impl Properties {
    /// Reads what a file and then properties of the command line (`name=value`) change of a workload. The later of two
    /// properties of one name holds, as in YCSB.
    ///
    /// # Errors
    /// All that is wrong: unknown properties, values that are none, and a workload that cannot be run.
    pub fn read(
        base: Workload,
        file: Option<PropertyFile<'_>>,
        overrides: &[String],
    ) -> Result<Self, InvalidProperties> {
        let mut problems = Vec::new();
        let mut entries = file.map_or_else(Vec::new, |file| entries_of_file(file, &mut problems));
        entries.extend(
            overrides
                .iter()
                .enumerate()
                .filter_map(|(number, property)| entry_of_override(number, property, &mut problems)),
        );
        let mut properties = Self { workload: base, run: RunProperties::default(), ignored: Vec::new() };
        // The last entry of each name.
        let said: BTreeMap<&str, &Entry> = entries.iter().map(|entry| (entry.name.as_str(), entry)).collect();
        for (name, entry) in &said {
            if known::is_ignored(name) {
                properties.ignored.push((*name).to_owned());
            } else if !KNOWN.iter().any(|known| known.name == *name) {
                problems.push(entry.problem(known::unknown(name)));
            }
        }
        // In the order of the table, because a distribution comes before its parameters.
        for known in KNOWN {
            let Some(entry) = said.get(known.name) else { continue };
            if (known.set)(&mut properties, entry.value.trim()).is_none() {
                let text = format!("found {:?}; expected {}", entry.value, known.expected);
                problems.push(entry.problem(text));
            }
        }
        if problems.is_empty() {
            let flaws = properties.workload.validate().err().map_or_else(Vec::new, |invalid| invalid.0);
            problems.extend(flaws.into_iter().map(|flaw| problem_of_flaw(flaw, &entries, file)));
        }
        if problems.is_empty() {
            return Ok(properties);
        }
        problems.sort_by_key(|problem| problem.order);
        Err(InvalidProperties(problems.into_iter().map(|problem| problem.problem).collect()))
    }
}

/// One property, and where it is said.
struct Entry {
    /// Overrides come after all lines of the file.
    order: Order,
    place: String,
    name: String,
    value: String,
}

/// A problem before all of them are put into the order of their places.
struct FoundProblem {
    order: Order,
    problem: Problem,
}

/// The places in the order in which they are read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Order {
    /// Of this number, from one.
    Line(usize),
    /// Of this number, from zero.
    Override(usize),
}

impl Entry {
    fn problem(&self, text: String) -> FoundProblem {
        let place = match self.order {
            Order::Line(_) => format!("{}: {}", self.place, self.name),
            Order::Override(_) => self.place.clone(),
        };
        FoundProblem { order: self.order, problem: Problem { place, text } }
    }
}

fn entries_of_file(file: PropertyFile<'_>, problems: &mut Vec<FoundProblem>) -> Vec<Entry> {
    let mut entries = Vec::new();
    for line in syntax::lines(file.text) {
        let place = format!("{}:{}", file.name, line.number);
        let order = Order::Line(line.number);
        match line.property() {
            Ok((name, value)) => entries.push(Entry { order, place, name, value }),
            Err(escape) => {
                let text = format!("found {escape:?}; expected four hexadecimal digits after \\u");
                problems.push(FoundProblem { order, problem: Problem { place, text } });
            }
        }
    }
    entries
}

fn entry_of_override(number: usize, property: &str, problems: &mut Vec<FoundProblem>) -> Option<Entry> {
    let (place, order) = (format!("-p {property}"), Order::Override(number));
    let Some((name, value)) = property.split_once('=') else {
        let text = format!("found {property:?}; expected name=value");
        problems.push(FoundProblem { order, problem: Problem { place, text } });
        return None;
    };
    Some(Entry { order, place, name: name.trim().to_owned(), value: value.to_owned() })
}

/// A workload's flaw, at the last property that could have brought it about.
fn problem_of_flaw(flaw: Flaw, entries: &[Entry], file: Option<PropertyFile<'_>>) -> FoundProblem {
    let sets =
        |entry: &&Entry| KNOWN.iter().any(|known| known.name == entry.name && known.field == flaw.field);
    if let Some(entry) = entries.iter().rfind(sets) {
        return entry.problem(flaw.text);
    }
    let place = file.map_or_else(|| "workload".into(), |file| file.name.to_owned());
    FoundProblem { order: Order::Line(0), problem: Problem { place, text: flaw.text } }
}

#[cfg(test)]
mod tests;
