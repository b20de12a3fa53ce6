//! Where messages travel: bus keys and liveliness tokens as rmw_zenoh spells them.
//!
//! Source: transport section 5. A key is `<domain>/<topic>/<dds type>/<type hash>`. A token under
//! `@ros2_lv` tells ROS 2 peers which nodes and endpoints there are; within its parts a slash
//! becomes `%`, so absolute names start with `%`.

use std::fmt;
use std::str::FromStr;

use super::schema::{dds_name, rihs01};
use super::{Description, Message};

/// Longest key or token that is parsed \[bytes\]; ours.
const KEY_BYTES_MAX: usize = 1024;

/// First part of every liveliness token of rmw_zenoh.
const TOKEN_SPACE: &str = "@ros2_lv";

/// A key or token that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{part} of the key is {found:?}; expected {expected}")]
pub struct KeyError {
    /// Which part.
    pub part: &'static str,
    /// What was found, cut after 64 characters.
    pub found: String,
    /// What would be right.
    pub expected: &'static str,
}

impl KeyError {
    fn new(part: &'static str, found: &str, expected: &'static str) -> Self {
        Self {
            part,
            found: found.chars().take(64).collect(),
            expected,
        }
    }
}

/// Where one topic travels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicKey {
    /// ROS 2 domain.
    pub domain: u32,
    /// Topic without a slash in front.
    pub topic: String,
    /// DDS name of the type.
    pub dds_type: String,
    /// RIHS01 hash of the type.
    pub hash: String,
}

impl TopicKey {
    /// Key of a topic that carries messages of type `T`.
    ///
    /// # Errors
    /// [`KeyError`] when `topic` is not a list of names joined by single slashes.
    pub fn of<T: Message>(domain: u32, topic: &str) -> Result<Self, KeyError> {
        Self::described(domain, topic, T::DESCRIPTION)
    }

    /// As [`TopicKey::of`], for a description at hand.
    ///
    /// # Errors
    /// As there.
    pub fn described(
        domain: u32,
        topic: &str,
        description: &Description,
    ) -> Result<Self, KeyError> {
        let topic = topic.trim_start_matches('/');
        check_topic(topic)?;
        Ok(Self {
            domain,
            topic: topic.to_owned(),
            dds_type: dds_name(description),
            hash: rihs01(description),
        })
    }
}

impl fmt::Display for TopicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}/{}/{}/{}",
            self.domain, self.topic, self.dds_type, self.hash
        )
    }
}

impl FromStr for TopicKey {
    type Err = KeyError;

    fn from_str(key: &str) -> Result<Self, KeyError> {
        check_length(key)?;
        let four = "<domain>/<topic>/<type>/<hash>";
        let split = key.split_once('/').and_then(|(domain, rest)| {
            let (rest, hash) = rest.rsplit_once('/')?;
            let (topic, dds_type) = rest.rsplit_once('/')?;
            Some((domain, topic, dds_type, hash))
        });
        let (domain, topic, dds_type, hash) =
            split.ok_or_else(|| KeyError::new("whole", key, four))?;
        check_topic(topic)?;
        check_type(dds_type, hash)?;
        Ok(Self {
            domain: number("domain", domain)?,
            topic: topic.to_owned(),
            dds_type: dds_type.to_owned(),
            hash: hash.to_owned(),
        })
    }
}

/// What an endpoint does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndpointKind {
    /// Publishes a topic.
    Publisher,
    /// Subscribes to a topic.
    Subscriber,
    /// Answers a service.
    Server,
    /// Calls a service.
    Client,
}

impl EndpointKind {
    const ALL: [Self; 4] = [
        Self::Publisher,
        Self::Subscriber,
        Self::Server,
        Self::Client,
    ];

    fn code(self) -> &'static str {
        match self {
            Self::Publisher => "MP",
            Self::Subscriber => "MS",
            Self::Server => "SS",
            Self::Client => "SC",
        }
    }
}

/// Quality of service as tokens spell it: reliable with depth 10 by default.
pub const QOS_RELIABLE: &str = "::,10:,:,:,,";

/// The endpoint that a token announces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// What it does.
    pub kind: EndpointKind,
    /// Where.
    pub key: TopicKey,
    /// Quality of service, see [`QOS_RELIABLE`].
    pub qos: String,
}

/// A liveliness token: a node, or one endpoint of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// ROS 2 domain.
    pub domain: u32,
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

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self
            .endpoint
            .as_ref()
            .map_or("NN", |endpoint| endpoint.kind.code());
        write!(
            f,
            "{TOKEN_SPACE}/{}/{}/{}/{}/{kind}/{}/{}/{}",
            self.domain,
            self.session,
            self.node_id,
            self.id,
            mangled(&self.enclave),
            mangled(&self.namespace),
            self.node
        )?;
        if let Some(Endpoint { key, qos, .. }) = &self.endpoint {
            write!(
                f,
                "/%{}/{}/{}/{qos}",
                mangled(&key.topic),
                key.dds_type,
                key.hash
            )?;
        }
        Ok(())
    }
}

impl FromStr for Token {
    type Err = KeyError;

    fn from_str(token: &str) -> Result<Self, KeyError> {
        check_length(token)?;
        let parts: Vec<&str> = token.split('/').collect();
        let nine_or_thirteen = "9 parts for a node or 13 for an endpoint";
        let wrong = || KeyError::new("whole", token, nine_or_thirteen);
        let (head, tail) = parts.split_first_chunk::<9>().ok_or_else(wrong)?;
        let [
            space,
            domain,
            session,
            node_id,
            id,
            kind,
            enclave,
            namespace,
            node,
        ] = *head;
        if space != TOKEN_SPACE {
            return Err(KeyError::new("space", space, TOKEN_SPACE));
        }
        if session.is_empty() || !session.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(KeyError::new("session", session, "hexadecimal digits"));
        }
        check_name("node", node)?;
        let domain = number("domain", domain)?;
        let endpoint = match (kind, tail) {
            ("NN", []) => None,
            (kind, &[topic, dds_type, hash, qos]) => {
                Some(parse_endpoint(domain, kind, [topic, dds_type, hash, qos])?)
            }
            _ => return Err(wrong()),
        };
        Ok(Self {
            domain,
            session: session.to_owned(),
            node_id: number("node id", node_id)?,
            id: number("id", id)?,
            enclave: absolute("enclave", enclave)?,
            namespace: absolute("namespace", namespace)?,
            node: node.to_owned(),
            endpoint,
        })
    }
}

fn parse_endpoint(domain: u32, kind: &str, parts: [&str; 4]) -> Result<Endpoint, KeyError> {
    let [topic, dds_type, hash, qos] = parts;
    let kind = EndpointKind::ALL
        .into_iter()
        .find(|candidate| candidate.code() == kind)
        .ok_or_else(|| KeyError::new("kind", kind, "NN, MP, MS, SS or SC"))?;
    let topic = absolute("topic", topic)?;
    let topic = topic.trim_start_matches('/').to_owned();
    check_topic(&topic)?;
    check_type(dds_type, hash)?;
    if qos.is_empty() || !qos.bytes().all(|byte| b"0123456789:,".contains(&byte)) {
        return Err(KeyError::new(
            "quality of service",
            qos,
            "digits, ':' and ','",
        ));
    }
    let key = TopicKey {
        domain,
        topic,
        dds_type: dds_type.to_owned(),
        hash: hash.to_owned(),
    };
    Ok(Endpoint {
        kind,
        key,
        qos: qos.to_owned(),
    })
}

fn mangled(name: &str) -> String {
    if name.is_empty() {
        "%".to_owned()
    } else {
        name.replace('/', "%")
    }
}

/// Undo [`mangled`]; the name must be absolute.
fn absolute(part: &'static str, text: &str) -> Result<String, KeyError> {
    let name = text.replace('%', "/");
    match name.strip_prefix('/') {
        Some("") => Ok(name),
        Some(relative) if check_topic(relative).is_ok() => Ok(name),
        _ => Err(KeyError::new(part, text, "'%' and names joined by '%'")),
    }
}

fn check_length(key: &str) -> Result<(), KeyError> {
    if key.len() > KEY_BYTES_MAX {
        return Err(KeyError::new("whole", key, "at most 1024 bytes"));
    }
    Ok(())
}

fn check_topic(topic: &str) -> Result<(), KeyError> {
    topic
        .split('/')
        .try_for_each(|name| check_name("topic", name))
}

fn check_name(part: &'static str, name: &str) -> Result<(), KeyError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if name.is_empty() || !name.bytes().all(plain) {
        return Err(KeyError::new(part, name, "letters, digits and '_'"));
    }
    Ok(())
}

fn check_type(dds_type: &str, hash: &str) -> Result<(), KeyError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b':';
    if dds_type.is_empty() || !dds_type.bytes().all(plain) {
        return Err(KeyError::new("type", dds_type, "package::msg::dds_::Name_"));
    }
    let digits = hash.strip_prefix("RIHS01_").unwrap_or_default();
    let hexadecimal = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if digits.len() != 64 || !digits.bytes().all(hexadecimal) {
        return Err(KeyError::new(
            "hash",
            hash,
            "RIHS01_ and 64 hexadecimal digits",
        ));
    }
    Ok(())
}

fn number(part: &'static str, text: &str) -> Result<u32, KeyError> {
    let canonical = text
        .parse::<u32>()
        .ok()
        .filter(|number| number.to_string() == text);
    canonical.ok_or_else(|| KeyError::new(part, text, "a number from 0 to 4294967295"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::msg::WrenchStamped;

    const KEY: &str = "0/palpate/measured_cf/geometry_msgs::msg::dds_::WrenchStamped_/\
        RIHS01_8dc3deaf06b2ab281f9f9a742a8961c328ca7cec16e3fd6586d3a5c83fa78f77";

    fn token(endpoint: Option<Endpoint>) -> Token {
        Token {
            domain: 0,
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
            key: TopicKey::of::<WrenchStamped>(0, "/palpate/measured_cf").expect("good topic"),
            qos: QOS_RELIABLE.to_owned(),
        }
    }

    /// transport section 5, example.
    #[test]
    fn keys_are_those_of_rmw_zenoh() {
        assert_eq!(publisher().key.to_string(), KEY);
        assert_eq!(KEY.parse(), Ok(publisher().key));
    }

    #[test]
    fn tokens_are_those_of_rmw_zenoh() {
        assert_eq!(
            token(Some(publisher())).to_string(),
            "@ros2_lv/0/3b20917502ee955a/0/4/MP/%/%palpate/slave/%palpate%measured_cf/\
             geometry_msgs::msg::dds_::WrenchStamped_/\
             RIHS01_8dc3deaf06b2ab281f9f9a742a8961c328ca7cec16e3fd6586d3a5c83fa78f77/::,10:,:,:,,"
        );
        for token in [token(None), token(Some(publisher()))] {
            assert_eq!(token.to_string().parse(), Ok(token));
        }
    }

    #[test]
    fn errors_name_the_part() {
        let part = |key: &str| key.parse::<TopicKey>().map_err(|error| error.part);
        assert_eq!(part("0/a"), Err("whole"));
        assert_eq!(part(&KEY.replacen("0/", "x/", 1)), Err("domain"));
        assert_eq!(
            part(&KEY.replacen("palpate/", "palpate//", 1)),
            Err("topic")
        );
        assert_eq!(part(&KEY.replacen("RIHS01", "RIHS02", 1)), Err("hash"));
        assert_eq!(part(&"0/".repeat(600)), Err("whole"));
        let good = token(Some(publisher())).to_string();
        let part = |token: &str| token.parse::<Token>().map_err(|error| error.part);
        assert_eq!(part(&good.replacen("/MP/", "/XX/", 1)), Err("kind"));
        assert_eq!(part(&good.replacen("/MP/", "/NN/", 1)), Err("kind"));
        assert_eq!(part(&good.replacen("3b2", "?", 1)), Err("session"));
        assert_eq!(
            part(&good.replacen("%palpate/", "palpate/", 1)),
            Err("namespace")
        );
        assert!(TopicKey::of::<WrenchStamped>(0, "a b").is_err());
        assert!(TopicKey::of::<WrenchStamped>(0, "a/*/b").is_err());
    }

    proptest! {
        #[test]
        fn what_parses_prints_back(
            key in "[0-9]{1,3}(/[a-z%]{1,4}){1,3}/[a-z:]{1,5}/RIHS01_[0-9a-f]{63,65}",
        ) {
            if let Ok(parsed) = key.parse::<TopicKey>() {
                prop_assert_eq!(parsed.to_string(), key);
            }
        }

        #[test]
        fn any_text_is_parsed_or_refused(text in "\\PC{0,80}", domain: u32, id: u32) {
            let _ = text.parse::<TopicKey>();
            for token in [text.clone(), format!("{TOKEN_SPACE}/{domain}/ab/{id}/1/NN/%/%/{text}")] {
                if let Ok(parsed) = token.parse::<Token>() {
                    prop_assert_eq!(parsed.to_string(), token);
                }
            }
        }
    }
}
