//! TLS and access control of a secured session, in zenoh's configuration.
//!
//! Both ends of the link show certificates. Access control denies everything except to the names of trusted hosts, who
//! may command, and of guests, who may subscribe. Names are checked when certificates are pinned, so they need no
//! escapes here. Source: zenoh 1.10, `access_control` and `transport.link.tls`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use palpate_transport::trace::Side;

use super::NAMESPACE;
use super::keys::{HostCertificate, Keyring};

/// Keys of all topics, and of liveliness tokens, which `**` leaves out.
const ALL_KEYS: &str = "['**', '@ros2_lv/**']";

/// Section `tls` of a link's configuration. The name of the host is not compared: the certificate itself is pinned.
pub(crate) fn tls(keyring: &Keyring) -> String {
    let base64 = |text: &str| STANDARD.encode(text);
    let certificate = base64(keyring.own.certificate().pem());
    let key = base64(keyring.own.key_pem());
    format!(
        "tls: {{ root_ca_certificate_base64: '{anchors}', enable_mtls: true,
            listen_certificate_base64: '{certificate}', listen_private_key_base64: '{key}',
            connect_certificate_base64: '{certificate}', connect_private_key_base64: '{key}',
            verify_name_on_connect: false, close_link_on_expiration: true }},",
        anchors = base64(&keyring.anchors_pem()),
    )
}

/// Rule against what a host would do as a side: publish and answer in its name, and announce its node. Denials outweigh
/// permissions.
fn denial(side: &str) -> String {
    format!(
        "{{ id: 'be {side}', permission: 'deny', flows: ['ingress'],
            key_exprs: ['*/{NAMESPACE}/{side}/**', '@ros2_lv/*/*/*/*/NN/*/*/{side}'],
            messages: ['put', 'delete', 'declare_queryable', 'reply', 'liveliness_token'] }},"
    )
}

/// Section `access_control` of the configuration.
pub(crate) fn access_control(keyring: &Keyring) -> String {
    let names = |of: &[HostCertificate]| {
        let names: Vec<String> = of.iter().map(|one| format!("'{}'", one.name())).collect();
        names.join(", ")
    };
    let subject = |id: &str, names: &str| {
        format!("{{ id: '{id}', link_protocols: ['tls'], cert_common_names: [{names}] }},")
    };
    let policy =
        |subject: &str, rules: &str| format!("{{ subjects: ['{subject}'], rules: [{rules}] }},");
    let mut subjects = String::new();
    let (mut policies, mut denials) = (String::new(), String::new());
    let sides = [None, Some(Side::Master), Some(Side::Slave)];
    for only in sides {
        let peers = keyring.peers.iter();
        let peers = peers.filter(|peer| keyring.only.get(peer.name()).copied() == only);
        let group: Vec<HostCertificate> = peers.cloned().collect();
        if group.is_empty() {
            continue;
        }
        let id = only.map_or("any", Side::name);
        subjects += &subject(id, &names(&group));
        policies += &policy(id, "'command'");
        if let Some(other) = only.map(|only| only.other().name()) {
            policies += &policy(id, &format!("'be {other}'"));
            denials += &denial(other);
        }
    }
    if !keyring.guests.is_empty() {
        subjects += &subject("guests", &names(&keyring.guests));
        policies += &policy("guests", "'ask to look', 'look'");
    }
    format!(
        "access_control: {{ enabled: true, default_permission: 'deny',
            rules: [
                {{ id: 'command', permission: 'allow', flows: ['ingress', 'egress'], key_exprs: {ALL_KEYS},
                   messages: ['put', 'delete', 'declare_subscriber', 'query', 'declare_queryable', 'reply',
                       'liveliness_token', 'liveliness_query', 'declare_liveliness_subscriber'] }},
                {{ id: 'ask to look', permission: 'allow', flows: ['ingress'], key_exprs: {ALL_KEYS},
                   messages: ['declare_subscriber', 'liveliness_query', 'declare_liveliness_subscriber'] }},
                {{ id: 'look', permission: 'allow', flows: ['egress'], key_exprs: {ALL_KEYS},
                   messages: ['put', 'delete', 'liveliness_token'] }},
                {denials}
            ],
            subjects: [{subjects}], policies: [{policies}] }},"
    )
}
