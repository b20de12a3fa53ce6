//! Recording of a session: every tick of both sides in one MCAP file that ROS 2 tools open.
//!
//! Source: transport section 7 (profile `ros2`, schemas `ros2msg`, messages `cdr`, lz4); the
//! choice of topics is ours. `/palpate/<side>/tick` holds the whole [`TickRecord`];
//! `/palpate/<side>/measured_cp` and `measured_cf` (force on the hand, and force of the tissue on the probe) repeat
//! the signals for viewers, at the full rate, in frame `world`, under the names of the bus. `/palpate/edits` has the edit
//! batches of the master's twin with their time, if there are any. Metadata records named `palpate.change` hold
//! changes of the coupling from a console, with the side and its first tick; those named `palpate.cut` name a side
//! whose records end early, with its last tick. Log times and stamps count from 1970, as ROS does: the tick's own time,
//! which [`TickRecord`] has beside it, plus [`RecordingHeader::epoch_ns`].
//!
//! A chunk is closed at least every half second of records, so a killed session loses no more. Writing a chunk can take
//! milliseconds: a [`Recorder`] belongs on a separate thread that drains a ring, never on a servo thread. [`read()`]
//! tolerates a missing end; [`merge`] joins the parts of two hosts; [`topic`] lists the topics of a tick.

mod bag;
mod file;
mod merge;
mod read;
mod string_lengths;
pub mod topic;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{Seek, Write};
use std::path::PathBuf;

use mcap::records::MessageHeader;
use palpate_transport::cdr;
use palpate_transport::clock::{self, Clock as _, MonotonicClock};
use palpate_transport::edit_batch::EditBatch;
use palpate_transport::msg::{Message as _, MessageDescription, schema};
use palpate_transport::trace::{Side, TickRecord};

use crate::monitor::coupling_change::CouplingChange;

pub use bag::{BagContents, BagTopic};
pub use file::{RECORDING, RecordingFile, left_in, write_merged};
pub use merge::merge;
pub use read::{Damage, Recording, read};

/// Longest span of records in an unfinished chunk \[ns\]: the most that a kill can lose.
const CHUNK_NS: i64 = 500_000_000;

/// Uncompressed size at which a chunk closes anyway \[bytes\].
const CHUNK_BYTES: u64 = 1 << 20;

/// Name of the MCAP metadata record that describes the session.
const SESSION: &str = "palpate";
/// Fact of a recording: version of Palpate that wrote it.
pub const VERSION: &str = "version";
/// Fact of a recording: hash of the sources of the program that wrote it.
pub const SOURCES: &str = "sources";
/// Source hash of this build.
pub const OWN_SOURCES: &str = env!("PALPATE_SOURCES");
/// Fact of a recording: its [`RecordingHeader::epoch_ns`].
const EPOCH: &str = "epoch_ns";
/// Attachment with the effective configuration.
const CONFIG: &str = "config.toml";
/// Name of the MCAP metadata records of changes made while the session ran.
const CHANGE: &str = "palpate.change";
/// Name of the MCAP metadata records of sides whose records were cut.
const CUT: &str = "palpate.cut";
/// Attachment with the summary.
const SUMMARY: &str = "summary.json";

/// Error of a recording.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file cannot be opened, read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// Not a recording at all.
    #[error("{path}: starts with bytes {found:02x?}; an MCAP file starts with 89 4d 43 41 50 30")]
    NotMcap {
        /// The file.
        path: PathBuf,
        /// Its first bytes, at most eight.
        found: Vec<u8>,
    },
    /// An MCAP file in which no tick could be read.
    #[error("{path}: no message on /palpate/master/tick or /palpate/slave/tick{why}")]
    NoTicks {
        /// The file.
        path: PathBuf,
        /// Damage found, if any, with its offset.
        why: String,
    },
    /// The ticks have other fields than those of this version.
    #[error(
        "{path}: written by palpate {written_by}, whose ticks {difference}; this is palpate {} ({OWN_SOURCES}). \
         Expected a recording of this version: the palpate that wrote it reads it, and so does any MCAP reader",
        env!("CARGO_PKG_VERSION")
    )]
    OtherVersion {
        /// The file.
        path: PathBuf,
        /// Version and sources of the program that wrote it, if recorded.
        written_by: String,
        /// The first field that differs.
        difference: String,
    },
    /// MCAP could not be written.
    #[error("writing the recording: {}", cause(.0))]
    Write(#[from] mcap::McapError),
    /// A message could not be encoded.
    #[error("writing the recording: {0}")]
    Encode(#[from] cdr::EncodeError),
    /// The record belongs to a side that this recording lacks.
    #[error("record of the {found:?} side; this recording holds {expected:?} only")]
    Side {
        /// Side of the record.
        found: Side,
        /// Sides of the recording.
        expected: Vec<Side>,
    },
}

/// Description of a recording, stored in it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RecordingHeader {
    /// Sides whose ticks it holds.
    pub sides: Vec<Side>,
    /// The effective configuration, as TOML.
    pub config: String,
    /// ROS time at which the clock of the ticks reads 0 \[ns since 1970\].
    pub epoch_ns: i64,
    /// Time of the start on the clock of the ticks \[ns\].
    pub begun_ns: i64,
    /// Further facts as text: command, seed, mode; [`VERSION`] and [`SOURCES`] default to those of
    /// this build.
    pub facts: BTreeMap<String, String>,
}

/// ROS time at which the monotonic clock of this host reads 0 \[ns since 1970\].
#[must_use]
pub fn host_epoch_ns() -> i64 {
    clock::wall_now().0.saturating_sub(MonotonicClock.now().0)
}

/// ROS time of a time on the clock of the ticks, as MCAP has it: unsigned \[ns since 1970\].
fn ros_ns(epoch_ns: i64, now_ns: i64) -> u64 {
    epoch_ns.saturating_add(now_ns).max(0) as u64
}

/// A change of the coupling that the configuration does not hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RecordedChange {
    /// The side.
    pub side: Side,
    /// First tick with the change.
    pub tick: u64,
    /// The change.
    pub change: CouplingChange,
}

/// End of the records of a side whose process was killed, or whose disk was full.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedCut {
    /// The side.
    pub side: Side,
    /// Its last recorded tick; none if nothing was recorded.
    pub last_tick: Option<u64>,
    /// Description of the end of its file.
    pub what: String,
}

/// Cause of a failed write: the error of the system, if it is one.
fn cause(error: &mcap::McapError) -> String {
    match error {
        mcap::McapError::Io(error) => error.to_string(),
        other => other.to_string(),
    }
}

/// Writer of one recording.
pub struct Recorder<W: Write + Seek> {
    writer: mcap::Writer<W>,
    channels: Vec<Channels>,
    /// Channel of edit batches, opened with the first, and their number.
    edit_channel: Option<(u16, u64)>,
    bytes: Vec<u8>,
    chunk_start_ns: Option<i64>,
    epoch_ns: i64,
    first_ns: u64,
    last_ns: u64,
}

/// Channel numbers of one side with their encoders, and the number of messages written.
struct Channels {
    side: Side,
    open: Vec<(u16, topic::RecordedTopic)>,
    count: u64,
}

impl<W: Write + Seek> Recorder<W> {
    /// Starts a recording in `writer` and writes the session's description.
    ///
    /// # Errors
    /// [`RecordError::Write`] if `writer` fails.
    pub fn create(writer: W, session: &RecordingHeader) -> Result<Self, RecordError> {
        let mut writer = mcap::WriteOptions::new()
            .compression(Some(mcap::Compression::Lz4))
            .profile("ros2")
            .library(concat!("palpate/", env!("CARGO_PKG_VERSION")))
            .chunk_size(Some(CHUNK_BYTES))
            .create(writer)?;
        let mut metadata = session.facts.clone();
        for (fact, own) in [(VERSION, env!("CARGO_PKG_VERSION")), (SOURCES, OWN_SOURCES)] {
            let fact = metadata.entry(fact.to_owned());
            fact.or_insert_with(|| own.to_owned());
        }
        metadata.insert(EPOCH.to_owned(), session.epoch_ns.to_string());
        writer.write_metadata(&mcap::write::Metadata {
            name: SESSION.to_owned(),
            metadata,
        })?;
        let begun_ns = ros_ns(session.epoch_ns, session.begun_ns);
        attach(
            &mut writer,
            CONFIG,
            "application/toml",
            &session.config,
            begun_ns,
        )?;
        let mut sides = session.sides.clone();
        sides.dedup();
        let channels = sides
            .into_iter()
            .map(|side| open(&mut writer, side))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            writer,
            channels,
            edit_channel: None,
            bytes: Vec::new(),
            chunk_start_ns: None,
            epoch_ns: session.epoch_ns,
            first_ns: u64::MAX,
            last_ns: begun_ns,
        })
    }

    /// Writes one tick.
    ///
    /// # Errors
    /// [`RecordError::Side`] for a side that [`RecordingHeader::sides`] lacks, else as the writer.
    pub fn push(&mut self, record: &TickRecord) -> Result<(), RecordError> {
        let Some(index) = self.channels.iter().position(|c| c.side == record.side) else {
            let expected = self.channels.iter().map(|c| c.side).collect();
            return Err(RecordError::Side {
                found: record.side,
                expected,
            });
        };
        let channels = &mut self.channels[index];
        channels.count += 1;
        let log_time = ros_ns(self.epoch_ns, record.now_ns);
        self.last_ns = self.last_ns.max(log_time);
        self.first_ns = self.first_ns.min(log_time);
        for (channel_id, topic) in &channels.open {
            (topic.encode)(record, self.epoch_ns, &mut self.bytes)?;
            let header = header(*channel_id, channels.count, log_time);
            self.writer.write_to_known_channel(&header, &self.bytes)?;
        }
        let start_ns = *self.chunk_start_ns.get_or_insert(record.now_ns);
        if record.now_ns.saturating_sub(start_ns).saturating_abs() >= CHUNK_NS {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes an edit batch that the master made at `now_ns` on its clock \[ns\].
    ///
    /// # Errors
    /// As the writer.
    pub fn push_edit_batch(&mut self, now_ns: i64, batch: &EditBatch) -> Result<(), RecordError> {
        let (channel_id, count) = match self.edit_channel {
            Some(known) => known,
            None => (
                channel(&mut self.writer, EditBatch::DESCRIPTION, EDIT_BATCHES_TOPIC)?,
                0,
            ),
        };
        self.edit_channel = Some((channel_id, count + 1));
        let header = header(channel_id, count + 1, ros_ns(self.epoch_ns, now_ns));
        cdr::encode_into(batch, &mut self.bytes)?;
        Ok(self.writer.write_to_known_channel(&header, &self.bytes)?)
    }

    /// Writes a change of the coupling.
    ///
    /// # Errors
    /// As the writer.
    pub(crate) fn push_change(&mut self, recorded: &RecordedChange) -> Result<(), RecordError> {
        let change = serde_json::to_string(&recorded.change).unwrap_or_default();
        let metadata = [
            ("side", recorded.side.name().to_owned()),
            ("tick", recorded.tick.to_string()),
            ("change", change),
        ];
        Ok(self.writer.write_metadata(&mcap::write::Metadata {
            name: CHANGE.to_owned(),
            metadata: metadata.map(|(key, value)| (key.to_owned(), value)).into(),
        })?)
    }

    /// Writes the cut of a side.
    ///
    /// # Errors
    /// As the writer.
    pub(crate) fn push_cut(&mut self, cut: &RecordedCut) -> Result<(), RecordError> {
        let last = cut.last_tick.map(|tick| tick.to_string());
        let metadata = [
            ("side", cut.side.name().to_owned()),
            ("last_tick", last.unwrap_or_default()),
            ("what", cut.what.clone()),
        ];
        Ok(self.writer.write_metadata(&mcap::write::Metadata {
            name: CUT.to_owned(),
            metadata: metadata.map(|(key, value)| (key.to_owned(), value)).into(),
        })?)
    }

    /// Closes the open chunk and flushes the writer.
    ///
    /// # Errors
    /// [`RecordError::Write`] if that writer fails.
    fn flush(&mut self) -> Result<(), RecordError> {
        self.chunk_start_ns = None;
        Ok(self.writer.flush()?)
    }

    /// Attaches the summary, if there is one, and writes the index and the end; returns what the recording has.
    ///
    /// # Errors
    /// [`RecordError::Write`] if the writer fails.
    pub fn finish(mut self, summary_json: Option<&str>) -> Result<BagContents, RecordError> {
        if let Some(json) = summary_json {
            let media_type = "application/json";
            attach(&mut self.writer, SUMMARY, media_type, json, self.last_ns)?;
        }
        self.writer.finish()?;
        let mut contents = BagContents {
            first_ns: self.first_ns.min(self.last_ns),
            last_ns: self.last_ns,
            topics: Vec::new(),
        };
        let mut add = |name: &str, message: &MessageDescription, count| {
            contents.topics.push(BagTopic {
                name: name.to_owned(),
                message: message.name,
                count,
            });
        };
        for side in &self.channels {
            for (_, topic) in &side.open {
                add(&topic.name, topic.message, side.count);
            }
        }
        if let Some((_, count)) = self.edit_channel {
            add(EDIT_BATCHES_TOPIC, EditBatch::DESCRIPTION, count);
        }
        Ok(contents)
    }
}

/// Topic of edit batches.
const EDIT_BATCHES_TOPIC: &str = "/palpate/edits";

/// Header of a message by its number in a channel.
fn header(channel_id: u16, count: u64, log_time: u64) -> MessageHeader {
    MessageHeader {
        channel_id,
        sequence: count as u32,
        log_time,
        publish_time: log_time,
    }
}

fn open<W: Write + Seek>(
    writer: &mut mcap::Writer<W>,
    side: Side,
) -> Result<Channels, RecordError> {
    let mut open = Vec::new();
    for topic in topic::of(side) {
        open.push((channel(writer, topic.message, &topic.name)?, topic));
    }
    Ok(Channels {
        side,
        open,
        count: 0,
    })
}

fn channel<W: Write + Seek>(
    writer: &mut mcap::Writer<W>,
    message: &MessageDescription,
    topic: &str,
) -> Result<u16, RecordError> {
    let text = schema::ros2msg(message);
    let schema = writer.add_schema(message.name, topic::SCHEMA, text.as_bytes())?;
    Ok(writer.add_channel(schema, topic, topic::ENCODING, &BTreeMap::new())?)
}

fn attach<W: Write + Seek>(
    writer: &mut mcap::Writer<W>,
    name: &str,
    media_type: &str,
    text: &str,
    at_ns: u64,
) -> Result<(), RecordError> {
    Ok(writer.attach(&mcap::Attachment {
        log_time: at_ns,
        create_time: at_ns,
        name: name.to_owned(),
        media_type: media_type.to_owned(),
        data: Cow::Borrowed(text.as_bytes()),
    })?)
}

#[cfg(test)]
mod tests;
