//! The text of a distinguished name, as Windows and Azure write it: the nearest part first, `CN=app, O=Acme, C=US`.

use x509_parser::asn1_rs::Tag;
use x509_parser::x509::{AttributeTypeAndValue, RelativeDistinguishedName, X509Name};

pub(crate) fn text_of(name: &X509Name<'_>) -> String {
    let mut parts: Vec<String> = name.iter_rdn().map(part).collect();
    parts.reverse();
    parts.join(", ")
}

fn part(part: &RelativeDistinguishedName<'_>) -> String {
    let attribute = |attribute: &AttributeTypeAndValue<'_>| {
        let oid = attribute.attr_type().to_id_string();
        let key = key_of(&oid).map_or_else(|| format!("OID.{oid}"), str::to_owned);
        format!("{key}={}", quoted(&value_of(attribute)))
    };
    part.iter().map(attribute).collect::<Vec<_>>().join(" + ")
}

fn key_of(oid: &str) -> Option<&'static str> {
    Some(match oid {
        "2.5.4.3" => "CN",
        "2.5.4.4" => "SN",
        "2.5.4.5" => "SERIALNUMBER",
        "2.5.4.6" => "C",
        "2.5.4.7" => "L",
        "2.5.4.8" => "S",
        "2.5.4.9" => "STREET",
        "2.5.4.10" => "O",
        "2.5.4.11" => "OU",
        "2.5.4.12" => "T",
        "2.5.4.42" => "G",
        "2.5.4.43" => "I",
        "0.9.2342.19200300.100.1.1" => "UID",
        "0.9.2342.19200300.100.1.25" => "DC",
        "1.2.840.113549.1.9.1" => "E",
        _ => return None,
    })
}

fn value_of(attribute: &AttributeTypeAndValue<'_>) -> String {
    let value = attribute.attr_value();
    if value.tag() == Tag::BmpString {
        let units = value.data.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
        return char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    }
    String::from_utf8_lossy(value.data).into_owned()
}

/// A value that contains a separator, or whose spaces would get lost, is quoted.
fn quoted(value: &str) -> String {
    let special = |c: char| ",+=\"\n\r<>#;".contains(c);
    if value.is_empty() || value.contains(special) || value.trim() != value {
        format!("\"{}\"", value.replace('"', "\"\""))
    } else {
        value.to_owned()
    }
}
