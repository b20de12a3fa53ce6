//! Reader of recordings, also of damaged ones.
//!
//! The file is walked record by record here, so that damage has an offset and no length is trusted;
//! the crate `mcap` parses the records. Everything before the damage is kept. Ticks of another version have
//! another schema, which is compared before any of them is read: that is no damage. Source: ours, format of
//! mcap.dev/spec.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use mcap::records::{ChunkHeader, Record, op};
use palpate_transport::cdr;
use palpate_transport::edit_batch::EditBatch;
use palpate_transport::msg::{Message as _, schema};
use palpate_transport::trace::{Side, TickRecord};
use palpate_twin::edits::LinkCounts;

use crate::edits::links;
use crate::files;

use super::string_lengths;
use super::{
    CHANGE, CONFIG, CUT, EDIT_BATCHES_TOPIC, EPOCH, RecordError, RecordedChange, RecordedCut,
    SESSION, SOURCES, SUMMARY, VERSION, topic,
};

/// Largest chunk that is opened \[bytes\]; ours are about 1 MiB.
const CHUNK_BYTES_MAX: u64 = 256 << 20;

/// Largest recording that is read \[bytes\]: some hours of both sides.
const FILE_BYTES_MAX: u64 = 8 << 30;

/// Opcode byte and length of a record \[bytes\].
const FRAMING: usize = 9;

/// A recording in memory.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Recording {
    /// Ticks of the master, in the order of the file.
    pub master: Vec<TickRecord>,
    /// Ticks of the slave.
    pub slave: Vec<TickRecord>,
    /// Edit batches with the time of their making by the master \[ns\].
    pub edit_batches: Vec<(i64, EditBatch)>,
    /// Changes of the coupling from a console, in the order of the file.
    pub changes: Vec<RecordedChange>,
    /// Sides whose records were cut when the recording was joined.
    pub cuts: Vec<RecordedCut>,
    /// The configuration, as TOML.
    pub config: Option<String>,
    /// The summary, as JSON; absent if the session did not end by itself.
    pub summary: Option<String>,
    /// Further facts of the session.
    pub facts: BTreeMap<String, String>,
    /// The first damage, if any; what came before it is all here.
    pub damage: Option<Damage>,
}

impl Recording {
    /// Links cut by instruments, less those joined.
    #[must_use]
    pub fn links(&self) -> LinkCounts {
        links(self.edit_batches.iter().map(|(_, batch)| batch))
    }

    /// Cuts of the sides that it has, if its file is damaged, and those stored in it.
    #[must_use]
    pub fn all_cuts(&self, sides: &[Side]) -> Vec<RecordedCut> {
        let mut cuts = self.cuts.clone();
        if let Some(damage) = &self.damage {
            let offset = damage.offset;
            cuts.extend(sides.iter().map(|&side| RecordedCut {
                side,
                last_tick: self.of(side).last().map(|record| record.tick),
                what: format!("cut at byte {offset} of its file: {}", damage.what),
            }));
        }
        cuts
    }

    /// True if its end is missing, at least of one side.
    #[must_use]
    pub(crate) fn is_cut(&self) -> bool {
        self.damage.is_some() || !self.cuts.is_empty()
    }

    /// Ticks of a side.
    #[must_use]
    pub fn of(&self, side: Side) -> &[TickRecord] {
        match side {
            Side::Master => &self.master,
            Side::Slave => &self.slave,
        }
    }

    /// ROS time at which the clock of its ticks reads 0 \[ns since 1970\]; 0 if the recording does not say.
    #[must_use]
    pub fn epoch_ns(&self) -> i64 {
        let epoch = self.fact(EPOCH).and_then(|text| text.parse().ok());
        epoch.unwrap_or(0)
    }

    /// A fact of the session.
    pub(crate) fn fact(&self, name: &str) -> Option<&str> {
        self.facts.get(name).map(String::as_str)
    }

    /// Keeps only ticks within `seconds` of the first, of each side by its own clock \[s\].
    pub fn keep_first(&mut self, seconds: f64) {
        let until_ns = |ticks: &[TickRecord]| {
            let first_ns = ticks.first().map_or(0, |first| first.now_ns);
            first_ns.saturating_add((seconds * 1e9) as i64)
        };
        let (of_master, of_slave) = (until_ns(&self.master), until_ns(&self.slave));
        self.master.retain(|tick| tick.now_ns < of_master);
        self.slave.retain(|tick| tick.now_ns < of_slave);
        self.edit_batches
            .retain(|(made_ns, _)| *made_ns < of_master);
    }
}

/// Position and kind of the damage of a recording.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: damaged at byte {offset}: {what}; {kept} ticks before it were kept")]
pub struct Damage {
    /// The file.
    pub path: PathBuf,
    /// Offset of the record that cannot be read \[bytes\].
    pub offset: u64,
    /// Description of the damage.
    pub what: String,
    /// Ticks that were read before it.
    pub kept: u64,
}

/// Reads a recording; a truncated file gives its readable part, and [`Recording::damage`].
///
/// # Errors
/// [`RecordError::File`] if it cannot be read, [`RecordError::NotMcap`] for another kind of file,
/// [`RecordError::OtherVersion`] if its ticks have other fields, [`RecordError::NoTicks`] if it has no
/// tick.
pub fn read(path: &Path) -> Result<Recording, RecordError> {
    let failed = |source| RecordError::File {
        path: path.to_owned(),
        source,
    };
    let mut head = Vec::new();
    let file = File::open(path).map_err(failed)?;
    let read = file.take(mcap::MAGIC.len() as u64).read_to_end(&mut head);
    read.map_err(failed)?;
    if !head.starts_with(mcap::MAGIC) {
        // a file of another kind is not read as a whole
        return read_bytes(path, &head);
    }
    let bytes = files::read(path, FILE_BYTES_MAX).map_err(failed)?;
    read_bytes(path, &bytes)
}

/// Reads a recording from bytes; `path` is only for messages.
///
/// # Errors
/// As [`read()`].
pub(super) fn read_bytes(path: &Path, bytes: &[u8]) -> Result<Recording, RecordError> {
    if !bytes.starts_with(mcap::MAGIC) {
        let found = bytes.iter().take(mcap::MAGIC.len()).copied().collect();
        return Err(RecordError::NotMcap {
            path: path.to_owned(),
            found,
        });
    }
    let mut reader = Reader {
        path,
        recording: Recording::default(),
        sides: BTreeMap::new(),
        schemas: BTreeMap::new(),
        foreign: None,
        edit_channel: None,
    };
    reader.walk(bytes);
    let recording = reader.recording;
    if let Some(difference) = reader.foreign {
        return Err(RecordError::OtherVersion {
            path: path.to_owned(),
            written_by: written_by(&recording),
            difference,
        });
    }
    if recording.master.is_empty() && recording.slave.is_empty() {
        let why = recording.damage.map_or(String::new(), |damage| {
            format!("; damaged at byte {}: {}", damage.offset, damage.what)
        });
        return Err(RecordError::NoTicks {
            path: path.to_owned(),
            why,
        });
    }
    Ok(recording)
}

/// Version and sources of the program that wrote a recording.
fn written_by(recording: &Recording) -> String {
    let version = recording.fact(VERSION);
    let version = version.unwrap_or("of a version that it does not name");
    match recording.fact(SOURCES) {
        Some(sources) => format!("{version} ({sources})"),
        None => version.to_owned(),
    }
}

/// First field in which the ticks of a recording differ from ours, in words; none if they are the same.
fn difference(theirs: &str) -> Option<String> {
    let ours = schema::ros2msg(TickRecord::DESCRIPTION);
    if theirs == ours {
        return None;
    }
    let lacking = |of: &str, other: &str| {
        let missing = of.lines().find(|&line| other.lines().all(|l| l != line));
        missing.map(|line| line.chars().take(80).collect::<String>())
    };
    Some(match (lacking(&ours, theirs), lacking(theirs, &ours)) {
        (Some(field), _) => format!("lack `{field}`"),
        (None, Some(field)) => format!("have `{}` besides", field.escape_debug()),
        (None, None) => "have the same fields in another order".to_owned(),
    })
}

struct Reader<'a> {
    path: &'a Path,
    recording: Recording,
    /// Side of each channel that carries ticks.
    sides: BTreeMap<u16, Side>,
    /// Difference of the ticks of each schema from ours, if any.
    schemas: BTreeMap<u16, Option<String>>,
    /// Difference of the ticks in the recording.
    foreign: Option<String>,
    /// Channel of edit batches.
    edit_channel: Option<u16>,
}

impl Reader<'_> {
    fn walk(&mut self, bytes: &[u8]) {
        let mut at = mcap::MAGIC.len();
        loop {
            let Some((opcode, body, next)) = framed(bytes, at) else {
                let left = bytes.len().saturating_sub(at);
                self.damaged(at, format!("the file ends {left} bytes into a record"));
                return;
            };
            match self.record(opcode, body) {
                Ok(true) => {}
                Ok(false) => return,
                Err(what) => self.damaged(at, what),
            }
            at = next;
        }
    }

    fn damaged(&mut self, offset: usize, what: String) {
        let kept = (self.recording.master.len() + self.recording.slave.len()) as u64;
        let (path, offset) = (self.path.to_owned(), offset as u64);
        self.recording.damage.get_or_insert(Damage {
            path,
            offset,
            what,
            kept,
        });
    }

    /// Reads one record; false at the end of the data.
    fn record(&mut self, opcode: u8, body: &[u8]) -> Result<bool, String> {
        // indices and statistics come behind the data
        let is_data = matches!(
            opcode,
            op::HEADER..=op::MESSAGE_INDEX | op::ATTACHMENT | op::METADATA | op::DATA_END
        );
        if !is_data {
            return Err(format!("no MCAP record of data starts with {opcode:#04x}"));
        }
        match parse(opcode, body)? {
            Record::Chunk { header, data } => {
                self.chunk(&decompress_chunk(&header, &data)?)?;
            }
            Record::Attachment { header, data, .. } => {
                let text = || String::from_utf8_lossy(&data).into_owned();
                match header.name.as_str() {
                    CONFIG => self.recording.config = Some(text()),
                    SUMMARY => self.recording.summary = Some(text()),
                    _ => {}
                }
            }
            Record::Metadata(metadata) if metadata.name == SESSION => {
                self.recording.facts = metadata.metadata;
            }
            Record::Metadata(metadata) if metadata.name == CHANGE => {
                let change = parse_change(&metadata.metadata);
                self.recording
                    .changes
                    .push(change.ok_or("a change of the coupling cannot be read")?);
            }
            Record::Metadata(metadata) if metadata.name == CUT => {
                let cut = parse_cut(&metadata.metadata);
                self.recording.cuts.push(cut.ok_or("a cut cannot be read")?);
            }
            Record::DataEnd(_) | Record::Footer(_) => return Ok(false),
            other => self.message(other)?,
        }
        Ok(true)
    }

    /// Reads the records of a decompressed chunk; a wrong length in it is only an error.
    fn chunk(&mut self, bytes: &[u8]) -> Result<(), String> {
        let mut at = 0;
        while at < bytes.len() {
            let (opcode, body, next) = framed(bytes, at)
                .ok_or_else(|| format!("a record at {at} of a chunk claims more than it holds"))?;
            if !matches!(opcode, op::SCHEMA..=op::MESSAGE) {
                return Err(format!("no record of a chunk starts with {opcode:#04x}"));
            }
            self.message(parse(opcode, body)?)?;
            at = next;
        }
        Ok(())
    }

    fn message(&mut self, record: Record<'_>) -> Result<(), String> {
        match record {
            Record::Schema { header, data } => {
                let text = String::from_utf8_lossy(&data);
                self.schemas.insert(header.id, difference(&text));
            }
            Record::Channel(channel) => {
                if channel.topic == EDIT_BATCHES_TOPIC {
                    self.edit_channel = Some(channel.id);
                }
                let sides = [Side::Master, Side::Slave];
                if let Some(side) = sides.into_iter().find(|&s| topic::tick(s) == channel.topic) {
                    let schema = self.schemas.get(&channel.schema_id);
                    match schema.cloned().flatten() {
                        Some(difference) => self.foreign = self.foreign.take().or(Some(difference)),
                        None => _ = self.sides.insert(channel.id, side),
                    }
                }
            }
            Record::Message { header, data } => {
                if self.edit_channel == Some(header.channel_id) {
                    let batch = cdr::decode_edit_batch(&data).map_err(|e| e.to_string())?;
                    let logged_ns = i64::try_from(header.log_time).unwrap_or(i64::MAX);
                    let made_ns = logged_ns.saturating_sub(self.recording.epoch_ns());
                    self.recording.edit_batches.push((made_ns, batch));
                }
                if let Some(side) = self.sides.get(&header.channel_id) {
                    let tick: TickRecord = cdr::decode(&data).map_err(|e| e.to_string())?;
                    match side {
                        Side::Master => self.recording.master.push(tick),
                        Side::Slave => self.recording.slave.push(tick),
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// Parses a record whose strings are as long as they claim.
fn parse(opcode: u8, body: &[u8]) -> Result<Record<'_>, String> {
    if !string_lengths::fit(opcode, body) {
        return Err("a string of a record claims more than the record holds".to_owned());
    }
    mcap::parse_record(opcode, body).map_err(|error| error.to_string())
}

/// Reads the side of a metadata record.
fn parse_side(metadata: &BTreeMap<String, String>) -> Option<Side> {
    let side = metadata.get("side")?;
    let mut sides = [Side::Master, Side::Slave].into_iter();
    sides.find(|one| one.name() == side)
}

/// Reads a cut from its metadata record.
fn parse_cut(metadata: &BTreeMap<String, String>) -> Option<RecordedCut> {
    Some(RecordedCut {
        side: parse_side(metadata)?,
        last_tick: metadata.get("last_tick")?.parse().ok(),
        what: metadata.get("what")?.clone(),
    })
}

/// Reads a change from its metadata record.
fn parse_change(metadata: &BTreeMap<String, String>) -> Option<RecordedChange> {
    Some(RecordedChange {
        side: parse_side(metadata)?,
        tick: metadata.get("tick")?.parse().ok()?,
        change: serde_json::from_str(metadata.get("change")?).ok()?,
    })
}

/// Decompresses a chunk, at most [`CHUNK_BYTES_MAX`] and its declared size; the crate `mcap`
/// would trust the lengths in it.
fn decompress_chunk(header: &ChunkHeader, data: &[u8]) -> Result<Vec<u8>, String> {
    let claimed = header.uncompressed_size;
    if claimed > CHUNK_BYTES_MAX {
        return Err(format!(
            "chunk claims {claimed} bytes; at most {CHUNK_BYTES_MAX} are opened"
        ));
    }
    let mut bytes = Vec::new();
    let read = match header.compression.as_str() {
        "" => data.take(claimed).read_to_end(&mut bytes),
        "lz4" => lz4::Decoder::new(data)
            .and_then(|decoder| decoder.take(claimed).read_to_end(&mut bytes)),
        other => return Err(format!("chunk is compressed by {other}; expected lz4")),
    };
    read.map_err(|error| format!("chunk does not open: {error}"))?;
    if (bytes.len() as u64) < claimed {
        return Err(format!("chunk holds {} bytes of {claimed}", bytes.len()));
    }
    // 0 is "not computed" (MCAP specification, Chunk)
    if ![0, crc32fast::hash(&bytes)].contains(&header.uncompressed_crc) {
        return Err("chunk differs from its checksum".into());
    }
    Ok(bytes)
}

/// Opcode, body and end of the record at `at`; none if it does not fit into the bytes.
fn framed(bytes: &[u8], at: usize) -> Option<(u8, &[u8], usize)> {
    let head = bytes.get(at..at.checked_add(FRAMING)?)?;
    let (opcode, length) = (head[0], u64::from_le_bytes(head[1..].try_into().ok()?));
    let start = at + FRAMING;
    let end = start.checked_add(usize::try_from(length).ok()?)?;
    Some((opcode, bytes.get(start..end)?, end))
}
