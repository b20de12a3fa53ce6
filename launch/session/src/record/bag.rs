//! `metadata.yaml` beside a recording, with which rosbag2 opens their folder.
//!
//! Source: rosbag2, `rosbag2_storage`, metadata version 5 (ROS 2 Humble); later versions read it.

use std::fmt::Write as _;

use super::topic;

/// Name of the file.
pub(super) const BAG_METADATA: &str = "metadata.yaml";

/// Topics and times of a finished recording.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BagContents {
    /// ROS time of the first message \[ns since 1970\].
    pub first_ns: u64,
    /// ROS time of the last message \[ns since 1970\].
    pub last_ns: u64,
    /// Topics.
    pub topics: Vec<BagTopic>,
}

/// One topic of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BagTopic {
    /// Its name.
    pub name: String,
    /// Its message type.
    pub message: &'static str,
    /// Number of its messages.
    pub count: u64,
}

impl BagContents {
    /// Text of `metadata.yaml` for the recording with this file name.
    pub(super) fn to_yaml(&self, file: &str) -> String {
        let (begun, length) = (self.first_ns, self.last_ns.saturating_sub(self.first_ns));
        let messages: u64 = self.topics.iter().map(|topic| topic.count).sum();
        let mut topics = String::new();
        for topic in &self.topics {
            // writing to a string cannot fail; names have no character that YAML would read otherwise
            let _ = write!(
                topics,
                "\n    - topic_metadata:\n        name: {}\n        type: {}\n        \
                 serialization_format: {}\n        offered_qos_profiles: \"\"\n      message_count: {}",
                topic.name,
                topic.message,
                topic::ENCODING,
                topic.count
            );
        }
        format!(
            "rosbag2_bagfile_information:
  version: 5
  storage_identifier: mcap
  duration:
    nanoseconds: {length}
  starting_time:
    nanoseconds_since_epoch: {begun}
  message_count: {messages}
  topics_with_message_count:{topics}
  compression_format: \"\"
  compression_mode: \"\"
  relative_file_paths:
    - {file}
  files:
    - path: {file}
      starting_time:
        nanoseconds_since_epoch: {begun}
      duration:
        nanoseconds: {length}
      message_count: {messages}
"
        )
    }
}
