//! The operations of a phase, one after the other.

use std::ops::Range;
use std::sync::Arc;

use loadcurve_plan::{Purpose, Random};

use crate::expected::append_expected;
use crate::inserted::InsertedKeys;
use crate::lengths::Lengths;
use crate::operation::{InsertOrder, Kind, Operation, Selection};
use crate::records::Records;
use crate::text::Texts;
use crate::validation::InvalidWorkload;
use crate::workload::{Mix, Workload};

/// Makes the operations of one phase of a workload.
///
/// Operation `number` of the phase depends on the workload, the seed and its number alone, so that threads divide a phase
/// by arithmetic, in any order. Three things depend on what happened before it, as they must: an insert of the run phase
/// adds the record whose turn it is; where the distribution reaches records that were added, which of them an operation
/// asks for depends on which are there; and in the place of a record that was deleted it asks for a neighbour.
#[derive(Clone, Debug)]
pub struct Operations {
    random: Random,
    phase: Phase,
    fields: Fields,
    insert_order: InsertOrder,
    zero_padding: usize,
}

#[derive(Clone, Debug)]
enum Phase {
    /// Inserts the records from this number on.
    Load {
        first: u64,
    },
    Run(Box<Run>),
}

/// What the run phase draws.
#[derive(Clone, Debug)]
struct Run {
    kinds: Kinds,
    records: Records,
    inserted: Arc<InsertedKeys>,
    scan_records: Lengths,
    reads_all_fields: bool,
    writes_all_fields: bool,
}

impl Operations {
    /// The load phase: operation `number` inserts the record of that number after `insert_start`. There are
    /// [`Workload::load_records`] of them.
    ///
    /// # Errors
    /// When the workload is not valid.
    pub fn load(workload: &Workload, seed: u64) -> Result<Self, InvalidWorkload> {
        workload.validate()?;
        Ok(Self::new(workload, seed, Phase::Load { first: workload.insert_start }))
    }

    /// The run phase: reads and changes the records in the workload's mix. Everyone who takes part in it shares
    /// `inserted`, and acknowledges there what the database has added.
    ///
    /// # Errors
    /// When the workload is not valid.
    pub fn run(workload: &Workload, seed: u64, inserted: Arc<InsertedKeys>) -> Result<Self, InvalidWorkload> {
        workload.validate()?;
        let run = Run {
            kinds: Kinds::new(&workload.mix),
            records: Records::new(workload),
            inserted,
            scan_records: Lengths::new(
                workload.scan_records_distribution,
                workload.scan_records_min,
                workload.scan_records_max,
            ),
            reads_all_fields: workload.read_all_fields,
            writes_all_fields: workload.write_all_fields,
        };
        Ok(Self::new(workload, seed, Phase::Run(Box::new(run))))
    }

    fn new(workload: &Workload, seed: u64, phase: Phase) -> Self {
        Self {
            random: Random::new(seed, Purpose::Operations),
            phase,
            fields: Fields::new(workload, seed),
            insert_order: workload.insert_order,
            zero_padding: workload.zero_padding,
        }
    }

    /// Makes operation `number` (from zero) of the phase in the place of another.
    pub fn make(&mut self, number: u64, operation: &mut Operation) {
        let mut random = self.random.at(number);
        operation.selection = Selection::All;
        operation.scan_records = 0;
        let written = match &mut self.phase {
            Phase::Load { first } => {
                operation.kind = Kind::Insert;
                operation.record = *first + number;
                Some(Selection::All)
            }
            Phase::Run(run) => run.draw(number, &mut random, self.fields.names.len(), operation),
        };
        operation.key.set(operation.record, self.insert_order, self.zero_padding);
        match written {
            None => operation.values.clear(),
            Some(Selection::All) => self.fields.write(0..self.fields.names.len(), &mut random, operation),
            Some(Selection::One(field)) => self.fields.write(field..field + 1, &mut random, operation),
        }
    }
}

impl Run {
    /// Draws everything but the key and the values; returns which fields are written.
    fn draw(
        &mut self,
        number: u64,
        random: &mut Random,
        fields: usize,
        operation: &mut Operation,
    ) -> Option<Selection> {
        operation.kind = self.kinds.at(random.next_unit());
        operation.record = match operation.kind {
            Kind::Insert => self.inserted.take(),
            _ => self.records.choose(number, random, &self.inserted),
        };
        if operation.kind == Kind::Delete {
            self.inserted.delete(operation.record);
        }
        if operation.kind == Kind::Scan {
            operation.scan_records = self.scan_records.draw(random);
        }
        #[allow(clippy::cast_possible_truncation)] // A field's index is below the count of fields.
        let mut select = |all| {
            if all { Selection::All } else { Selection::One(random.next_below(fields as u64) as usize) }
        };
        if matches!(operation.kind, Kind::Read | Kind::Scan | Kind::ReadModifyWrite) {
            operation.selection = select(self.reads_all_fields);
        }
        match operation.kind {
            Kind::Insert => Some(Selection::All),
            Kind::Update | Kind::ReadModifyWrite => Some(select(self.writes_all_fields)),
            Kind::Read | Kind::Scan | Kind::Delete => None,
        }
    }
}

/// Chooses kinds by their shares.
#[derive(Clone, Debug)]
struct Kinds {
    /// The sum of the shares up to each kind, of 1.
    ends: [f64; Kind::ALL.len()],
}

impl Kinds {
    /// For a mix with at least one share above zero.
    fn new(mix: &Mix) -> Self {
        let shares = mix.shares().map(|(_, share)| share);
        let total: f64 = shares.iter().sum();
        let last = shares.iter().rposition(|share| *share > 0.0);
        let mut sum = 0.0;
        let mut ends = shares.map(|share| {
            sum += share;
            sum / total
        });
        // Rounding must not lead to a kind that nobody asked for.
        ends.iter_mut().skip(last.unwrap_or(0)).for_each(|end| *end = 1.0);
        Self { ends }
    }

    /// The kind that belongs to a number above 0 and at most 1.
    fn at(&self, unit: f64) -> Kind {
        let place = self.ends.iter().position(|end| unit <= *end);
        place.map_or(Kind::Read, |place| Kind::ALL[place])
    }
}

/// Makes what fields hold.
#[derive(Clone, Debug)]
struct Fields {
    names: Vec<String>,
    lengths: Lengths,
    content: Content,
}

/// What the texts of fields are.
#[derive(Clone, Debug)]
enum Content {
    Random(Texts),
    /// They follow from key and name.
    Verified,
}

impl Fields {
    fn new(workload: &Workload, seed: u64) -> Self {
        Self {
            names: workload.field_names(),
            lengths: Lengths::new(
                workload.field_bytes_distribution,
                workload.field_bytes_min,
                workload.field_bytes,
            ),
            content: if workload.verify_values {
                Content::Verified
            } else {
                Content::Random(Texts::new(seed))
            },
        }
    }

    fn write(&self, fields: Range<usize>, random: &mut Random, operation: &mut Operation) {
        let Operation { key, values, .. } = operation;
        values.lay_out(fields.map(|field| (field, self.lengths.draw(random))));
        values.write(|text, parts| match &self.content {
            Content::Random(texts) => texts.fill(text, parts.last().map_or(0, |part| part.place.end), random),
            Content::Verified => {
                text.clear();
                for part in parts {
                    append_expected(text, part.place.len(), key.as_str(), &self.names[part.field]);
                }
            }
        });
    }
}

#[cfg(test)]
mod tests;
