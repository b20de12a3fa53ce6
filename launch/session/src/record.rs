//! The recording: every tick of both sides in one MCAP file that ROS 2 tools open.
//!
//! Source: transport section 7 (profile `ros2`, schemas `ros2msg`, messages `cdr`, lz4); the
//! choice of topics is ours. `/palpate/<side>/tick` holds the whole [`TickRecord`];
//! `/<side>/measured_cp`, `/master/servo_cf` (force on the hand) and `/slave/measured_cf` (force of
//! the tissue on the probe) repeat what a viewer plots, at the full rate, in frame `world`.
//! `/palpate/strokes` has what instruments did, when the master made it, if they did anything. Metadata records called
//! `palpate.change` say what a console changed of the coupling, and from which tick of which side on.
//! Log time is the tick's own time on its side's clock \[ns\].
//!
//! A chunk is closed at least every half second of records, so a killed session loses no more.
//! Writing a chunk can take milliseconds: a [`Recorder`] belongs on a thread of its own that
//! drains a ring, never on a servo thread. [`read()`] forgives a missing end; [`merge`] joins the
//! parts of two hosts; [`topic`] is what each tick goes to.

mod merge;
mod read;
pub mod topic;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{Seek, Write};
use std::path::PathBuf;

use mcap::records::MessageHeader;
use palpate_transport::cdr;
use palpate_transport::msg::{Description, Message as _, schema};
use palpate_transport::stroke::Stroke;
use palpate_transport::trace::{Side, TickRecord};

use crate::monitor::live::Change;

pub use merge::merge;
pub use read::{Damage, Recording, read, read_bytes};

/// Longest stretch of records in an unfinished chunk \[ns\]: what a kill may cost.
const CHUNK_NS: i64 = 500_000_000;

/// Uncompressed size at which a chunk closes anyway \[bytes\].
const CHUNK_BYTES: u64 = 1 << 20;

/// Name of the MCAP metadata record that describes the session.
const SESSION: &str = "palpate";
/// Fact of a recording: version of Palpate that wrote it.
pub const VERSION: &str = "version";
/// Fact of a recording: hash of the sources that it was written by.
pub const SOURCES: &str = "sources";
/// That hash of this build.
pub const OWN_SOURCES: &str = env!("PALPATE_SOURCES");
/// Attachment with the effective configuration.
const CONFIG: &str = "config.toml";
/// Name of the MCAP metadata records of changes that were made while the session ran.
const CHANGE: &str = "palpate.change";
/// Attachment with the summary.
const SUMMARY: &str = "summary.json";

/// What can go wrong with a recording.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file cannot be opened, read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
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
        /// The damage that was met, if any, with its offset.
        why: String,
    },
    /// Its ticks have other fields than those of this version.
    #[error(
        "{path}: written by palpate {written_by}, whose ticks {difference}; this is palpate {} ({OWN_SOURCES}). \
         Expected a recording of this version: the palpate that wrote it reads it, and so does any MCAP reader",
        env!("CARGO_PKG_VERSION")
    )]
    OtherVersion {
        /// The file.
        path: PathBuf,
        /// Version and sources of what wrote it, as far as it says.
        written_by: String,
        /// The first field that differs.
        difference: String,
    },
    /// MCAP could not be written.
    #[error("writing the recording: {0}")]
    Write(#[from] mcap::McapError),
    /// A message could not be encoded.
    #[error("writing the recording: {0}")]
    Encode(#[from] cdr::EncodeError),
    /// A record of a side that this recorder has no channels for.
    #[error("record of the {found:?} side; this recording holds {expected:?} only")]
    Side {
        /// Side of the record.
        found: Side,
        /// Sides of the recording.
        expected: Vec<Side>,
    },
}

/// What a recording says about itself.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Session {
    /// Sides whose ticks it will hold.
    pub sides: Vec<Side>,
    /// The effective configuration, as TOML.
    pub config: String,
    /// Further facts as text: command, seed, mode; [`VERSION`] and [`SOURCES`] are those of this build if they
    /// are not given.
    pub facts: BTreeMap<String, String>,
}

/// A change of the coupling that a configuration does not say, by the tick that made it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Changed {
    /// The side.
    pub side: Side,
    /// The first tick that it is of.
    pub tick: u64,
    /// What is changed.
    pub change: Change,
}

/// Writes one recording.
pub struct Recorder<W: Write + Seek> {
    writer: mcap::Writer<W>,
    channels: Vec<Channels>,
    /// Channel of strokes, from the first on, and how many there were.
    strokes: Option<(u16, u32)>,
    bytes: Vec<u8>,
    chunk_start_ns: Option<i64>,
    last_ns: u64,
}

/// Channel numbers of one side, what goes there, and the messages written.
struct Channels {
    side: Side,
    open: Vec<(u16, topic::Encode)>,
    count: u64,
}

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Written {
    /// Ticks of the master.
    pub master_ticks: u64,
    /// Ticks of the slave.
    pub slave_ticks: u64,
}

impl<W: Write + Seek> Recorder<W> {
    /// Starts a recording in `writer` and writes the session's description.
    ///
    /// # Errors
    /// [`RecordError::Write`] if `writer` fails.
    pub fn create(writer: W, session: &Session) -> Result<Self, RecordError> {
        let mut writer = mcap::WriteOptions::new()
            .compression(Some(mcap::Compression::Lz4))
            .profile("ros2")
            .library(concat!("palpate/", env!("CARGO_PKG_VERSION")))
            .chunk_size(Some(CHUNK_BYTES))
            .create(writer)?;
        let mut metadata = session.facts.clone();
        for (fact, ours) in [(VERSION, env!("CARGO_PKG_VERSION")), (SOURCES, OWN_SOURCES)] {
            let fact = metadata.entry(fact.to_owned());
            fact.or_insert_with(|| ours.to_owned());
        }
        writer.write_metadata(&mcap::write::Metadata {
            name: SESSION.to_owned(),
            metadata,
        })?;
        attach(&mut writer, CONFIG, "application/toml", &session.config)?;
        let mut sides = session.sides.clone();
        sides.dedup();
        let channels = sides
            .into_iter()
            .map(|side| open(&mut writer, side))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            writer,
            channels,
            strokes: None,
            bytes: Vec::new(),
            chunk_start_ns: None,
            last_ns: 0,
        })
    }

    /// Writes one tick.
    ///
    /// # Errors
    /// [`RecordError::Side`] for a side that [`Session::sides`] did not name, else as the writer.
    pub fn push(&mut self, record: &TickRecord) -> Result<(), RecordError> {
        let Some(index) = self.channels.iter().position(|c| c.side == record.side) else {
            let expected = self.channels.iter().map(|c| c.side).collect();
            return Err(RecordError::Side {
                found: record.side,
                expected,
            });
        };
        let Channels { open, count, .. } = &mut self.channels[index];
        *count += 1;
        // MCAP times are unsigned; a clock before its own zero is logged at zero.
        let log_time = record.now_ns.max(0) as u64;
        self.last_ns = self.last_ns.max(log_time);
        for &(channel_id, encode) in &*open {
            encode(record, &mut self.bytes)?;
            let header = MessageHeader {
                channel_id,
                sequence: *count as u32,
                log_time,
                publish_time: log_time,
            };
            self.writer.write_to_known_channel(&header, &self.bytes)?;
        }
        let start_ns = *self.chunk_start_ns.get_or_insert(record.now_ns);
        if record.now_ns.saturating_sub(start_ns).saturating_abs() >= CHUNK_NS {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes a stroke that the master made at `now_ns` on its clock \[ns\].
    ///
    /// # Errors
    /// As the writer.
    pub fn push_stroke(&mut self, now_ns: i64, stroke: &Stroke) -> Result<(), RecordError> {
        let (channel_id, sequence) = match self.strokes {
            Some(known) => known,
            None => (
                channel(&mut self.writer, Stroke::DESCRIPTION, STROKES_TOPIC)?,
                0,
            ),
        };
        self.strokes = Some((channel_id, sequence.wrapping_add(1)));
        let log_time = now_ns.max(0) as u64;
        let header = MessageHeader {
            channel_id,
            sequence: sequence.wrapping_add(1),
            log_time,
            publish_time: log_time,
        };
        cdr::encode_into(stroke, &mut self.bytes)?;
        Ok(self.writer.write_to_known_channel(&header, &self.bytes)?)
    }

    /// Writes a change of the coupling.
    ///
    /// # Errors
    /// As the writer.
    pub fn push_change(&mut self, changed: &Changed) -> Result<(), RecordError> {
        let change = serde_json::to_string(&changed.change).unwrap_or_default();
        let metadata = [
            ("side", changed.side.name().to_owned()),
            ("tick", changed.tick.to_string()),
            ("change", change),
        ];
        Ok(self.writer.write_metadata(&mcap::write::Metadata {
            name: CHANGE.to_owned(),
            metadata: metadata.map(|(key, value)| (key.to_owned(), value)).into(),
        })?)
    }

    /// Closes the open chunk and hands everything to the writer beneath.
    ///
    /// # Errors
    /// [`RecordError::Write`] if that writer fails.
    pub fn flush(&mut self) -> Result<(), RecordError> {
        self.chunk_start_ns = None;
        Ok(self.writer.flush()?)
    }

    /// Attaches the summary, if there is one, and writes the index and the end.
    ///
    /// # Errors
    /// [`RecordError::Write`] if the writer fails.
    pub fn finish(mut self, summary_json: Option<&str>) -> Result<Written, RecordError> {
        if let Some(json) = summary_json {
            attach_at(
                &mut self.writer,
                (SUMMARY, "application/json", json),
                self.last_ns,
            )?;
        }
        self.writer.finish()?;
        let count = |side| {
            self.channels
                .iter()
                .find(|c| c.side == side)
                .map_or(0, |c| c.count)
        };
        Ok(Written {
            master_ticks: count(Side::Master),
            slave_ticks: count(Side::Slave),
        })
    }
}

/// Where strokes are recorded.
const STROKES_TOPIC: &str = "/palpate/strokes";

fn open<W: Write + Seek>(
    writer: &mut mcap::Writer<W>,
    side: Side,
) -> Result<Channels, RecordError> {
    let mut open = Vec::new();
    for topic in topic::of(side) {
        open.push((channel(writer, topic.message, &topic.name)?, topic.encode));
    }
    Ok(Channels {
        side,
        open,
        count: 0,
    })
}

fn channel<W: Write + Seek>(
    writer: &mut mcap::Writer<W>,
    message: &Description,
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
) -> Result<(), RecordError> {
    attach_at(writer, (name, media_type, text), 0)
}

fn attach_at<W: Write + Seek>(
    writer: &mut mcap::Writer<W>,
    (name, media_type, text): (&str, &str, &str),
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
