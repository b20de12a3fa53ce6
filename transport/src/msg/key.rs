//! Bus keys and liveliness tokens in the format of rmw_zenoh.
//!
//! Source: transport section 5. A key is `<domain>/<topic>/<dds type>/<type hash>`. A token under
//! `@ros2_lv` announces nodes and endpoints to ROS 2 peers; within its parts a slash becomes `%`, so
//! absolute names start with `%`.

use std::fmt;

use super::Message;
use super::schema::{dds_name, rihs01};

/// ROS 2 domain of all keys and tokens.
pub const DOMAIN: u32 = 0;

/// Longest token that is parsed \[bytes\]; ours.
const KEY_BYTES_MAX: usize = 1024;

/// First part of every liveliness token of rmw_zenoh.
const TOKEN_SPACE: &str = "@ros2_lv";

/// An invalid topic name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("topic of the key is {found:?}; expected letters, digits and '_'")]
pub struct KeyError {
    /// The invalid part, cut after 64 characters.
    pub found: String,
}

/// Bus key of one topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicKey {
    /// Topic without a slash in front.
    pub topic: String,
    /// DDS name of the type.
    pub dds_type: String,
    /// RIHS01 hash of the type.
    pub hash: String,
}

impl TopicKey {
    /// Creates the key of a topic that carries messages of type `T`.
    ///
    /// # Errors
    /// [`KeyError`] when `topic` is not a list of names joined by single slashes.
    pub fn for_topic<T: Message>(topic: &str) -> Result<Self, KeyError> {
        let topic = topic.trim_start_matches('/');
        check_topic(topic)?;
        Ok(Self {
            topic: topic.to_owned(),
            dds_type: dds_name(T::DESCRIPTION),
            hash: rihs01(T::DESCRIPTION),
        })
    }
}

impl fmt::Display for TopicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{DOMAIN}/{}/{}/{}", self.topic, self.dds_type, self.hash)
    }
}

/// Kind of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndpointKind {
    /// Publishes a topic.
    Publisher,
    /// Subscribes to a topic.
    Subscriber,
}

impl EndpointKind {
    fn code(self) -> &'static str {
        match self {
            Self::Publisher => "MP",
            Self::Subscriber => "MS",
        }
    }
}

/// Quality of service as tokens spell it: reliable with depth 10.
const QOS_RELIABLE: &str = "::,10:,:,:,,";

/// Endpoint that a token announces, reliable with depth 10.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Publisher or subscriber.
    pub kind: EndpointKind,
    /// Key of its topic.
    pub key: TopicKey,
}

/// A liveliness token: a node, or one endpoint of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ros2Token {
    /// Id of the zenoh session, hexadecimal.
    pub session: String,
    /// Number of the node within the session.
    pub node_id: u32,
    /// Number of the endpoint within the session; the node's own repeats `node_id`.
    pub id: u32,
    /// Security enclave, absolute; `/` is none.
    pub enclave: String,
    /// Namespace of the node, absolute.
    pub namespace: String,
    /// Name of the node.
    pub node: String,
    /// `None`: the token announces the node itself.
    pub endpoint: Option<Endpoint>,
}

impl fmt::Display for Ros2Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self
            .endpoint
            .as_ref()
            .map_or("NN", |endpoint| endpoint.kind.code());
        write!(
            f,
            "{TOKEN_SPACE}/{DOMAIN}/{}/{}/{}/{kind}/{}/{}/{}",
            self.session,
            self.node_id,
            self.id,
            mangled(&self.enclave),
            mangled(&self.namespace),
            self.node
        )?;
        if let Some(Endpoint { key, .. }) = &self.endpoint {
            write!(
                f,
                "/%{}/{}/{}/{QOS_RELIABLE}",
                mangled(&key.topic),
                key.dds_type,
                key.hash
            )?;
        }
        Ok(())
    }
}

impl Ros2Token {
    /// Parses the token of a node; `None` for any other text, including tokens of endpoints.
    #[must_use]
    pub fn parse_node(text: &str) -> Option<Self> {
        if text.len() > KEY_BYTES_MAX {
            return None;
        }
        let parts: Vec<&str> = text.split('/').collect();
        let &[
            TOKEN_SPACE,
            domain,
            session,
            node_id,
            id,
            "NN",
            enclave,
            namespace,
            node,
        ] = parts.as_slice()
        else {
            return None;
        };
        let known = number(domain)? == DOMAIN
            && !session.is_empty()
            && session.bytes().all(|byte| byte.is_ascii_hexdigit());
        (known && is_name(node)).then_some(Self {
            session: session.to_owned(),
            node_id: number(node_id)?,
            id: number(id)?,
            enclave: absolute(enclave)?,
            namespace: absolute(namespace)?,
            node: node.to_owned(),
            endpoint: None,
        })
    }
}

fn mangled(name: &str) -> String {
    if name.is_empty() {
        "%".to_owned()
    } else {
        name.replace('/', "%")
    }
}

/// Reverses [`mangled`]; the name must be absolute.
fn absolute(text: &str) -> Option<String> {
    let name = text.replace('%', "/");
    let relative = name.strip_prefix('/')?;
    (relative.is_empty() || check_topic(relative).is_ok()).then_some(name)
}

fn check_topic(topic: &str) -> Result<(), KeyError> {
    match topic.split('/').find(|name| !is_name(name)) {
        None => Ok(()),
        Some(name) => Err(KeyError {
            found: name.chars().take(64).collect(),
        }),
    }
}

fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !name.is_empty() && name.bytes().all(plain)
}

/// Parses a number; `None` if it does not print back as `text`.
fn number(text: &str) -> Option<u32> {
    let number = text.parse::<u32>().ok();
    number.filter(|number| number.to_string() == text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::msg::WrenchStamped;

    const KEY: &str = "0/palpate/measured_cf/geometry_msgs::msg::dds_::WrenchStamped_/\
        RIHS01_8dc3deaf06b2ab281f9f9a742a8961c328ca7cec16e3fd6586d3a5c83fa78f77";

    fn token(endpoint: Option<Endpoint>) -> Ros2Token {
        Ros2Token {
            session: "3b20917502ee955a".to_owned(),
            node_id: 0,
            id: 4,
            enclave: "/".to_owned(),
            namespace: "/palpate".to_owned(),
            node: "slave".to_owned(),
            endpoint,
        }
    }

    fn publisher() -> Endpoint {
        Endpoint {
            kind: EndpointKind::Publisher,
            key: TopicKey::for_topic::<WrenchStamped>("/palpate/measured_cf").expect("good topic"),
        }
    }

    /// transport section 5, example.
    #[test]
    fn keys_match_rmw_zenoh() {
        assert_eq!(publisher().key.to_string(), KEY);
    }

    #[test]
    fn tokens_match_rmw_zenoh() {
        assert_eq!(
            token(Some(publisher())).to_string(),
            "@ros2_lv/0/3b20917502ee955a/0/4/MP/%/%palpate/slave/%palpate%measured_cf/\
             geometry_msgs::msg::dds_::WrenchStamped_/\
             RIHS01_8dc3deaf06b2ab281f9f9a742a8961c328ca7cec16e3fd6586d3a5c83fa78f77/::,10:,:,:,,"
        );
        let text = token(None).to_string();
        assert_eq!(Ros2Token::parse_node(&text), Some(token(None)));
    }

    #[test]
    fn invalid_tokens_and_topics_are_refused() {
        let good = token(None).to_string();
        for bad in [
            token(Some(publisher())).to_string(),
            "0/".repeat(600),
            good.replacen("/NN/", "/XX/", 1),
            good.replacen("lv/0/", "lv/x/", 1),
            good.replacen("3b2", "?", 1),
            good.replacen("%palpate/", "palpate/", 1),
        ] {
            assert_eq!(Ros2Token::parse_node(&bad), None, "{bad}");
        }
        assert!(TopicKey::for_topic::<WrenchStamped>("a b").is_err());
        assert!(TopicKey::for_topic::<WrenchStamped>("a/*/b").is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused(text in "\\PC{0,80}", id: u32) {
            for token in [text.clone(), format!("{TOKEN_SPACE}/{DOMAIN}/ab/{id}/1/NN/%/%/{text}")] {
                if let Some(parsed) = Ros2Token::parse_node(&token) {
                    prop_assert_eq!(parsed.to_string(), token);
                }
            }
        }
    }
}
