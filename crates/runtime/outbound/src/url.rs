//! The address of a call, parsed strictly: what two parsers could read differently is refused.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use http::HeaderValue;
use http::uri::PathAndQuery;

use crate::fault::Fault;
use crate::limits::URL_BYTES_MAX;

/// A checked `http` or `https` URL without user info and fragment.
#[derive(Debug, Clone)]
pub struct Url {
    pub(crate) origin: Origin,
    pub(crate) path_and_query: PathAndQuery,
    /// The `Host` header: host and, when it is not the scheme's own, port.
    pub(crate) host_header: HeaderValue,
}

/// Where a connection leads; connections are shared among calls to the same origin only.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Origin {
    pub(crate) tls: bool,
    pub(crate) host: Host,
    pub(crate) port: u16,
}

/// A host as written: an address, or a name in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Host {
    Address(IpAddr),
    Name(Box<str>),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "https" } else { "http" };
        match &self.host {
            Host::Name(name) => write!(f, "{scheme}://{name}:{}", self.port),
            Host::Address(address) => {
                write!(f, "{scheme}://{}", std::net::SocketAddr::new(*address, self.port))
            }
        }
    }
}

impl Url {
    /// Parses and checks a URL; anything unusual is [`Fault::Refused`].
    pub fn parse(text: &str) -> Result<Url, Fault> {
        if text.len() > URL_BYTES_MAX {
            return Err(refused(format!("url is longer than {URL_BYTES_MAX} bytes")));
        }
        let is_odd = |byte: u8| !byte.is_ascii_graphic() || matches!(byte, b'\\' | b'#');
        if let Some(at) = text.bytes().position(is_odd) {
            let odd = text[at..].chars().next().expect("the first odd byte begins a character");
            return Err(refused(format!("url contains {odd:?}, which must be percent-encoded")));
        }
        let (tls, rest) = split_scheme(text)?;
        let authority_end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(authority_end);
        if authority.contains('@') {
            return Err(refused("url contains user info; put credentials into a header".to_owned()));
        }
        let (host_text, port) = split_port(authority)?;
        let host = parse_host(host_text)?;
        let default_port = if tls { 443 } else { 80 };
        let port = port.unwrap_or(default_port);
        let host_header = if port == default_port { host.to_string() } else { format!("{host}:{port}") };
        Ok(Url {
            origin: Origin { tls, host, port },
            path_and_query: parse_path(path)?,
            host_header: HeaderValue::try_from(host_header).expect("a checked host is visible ASCII"),
        })
    }
}

#[cfg(feature = "testing")]
impl Url {
    /// The URL in its one canonical spelling.
    pub fn canonical(&self) -> String {
        format!("{}{}", self.origin, self.path_and_query)
    }

    /// The value of the `Host` header.
    pub fn host_header(&self) -> &str {
        self.host_header.to_str().expect("a checked host is visible ASCII")
    }
}

fn split_scheme(text: &str) -> Result<(bool, &str), Fault> {
    let (scheme, rest) = text.split_once("://").ok_or_else(|| refused("url has no scheme".to_owned()))?;
    if scheme.eq_ignore_ascii_case("http") {
        Ok((false, rest))
    } else if scheme.eq_ignore_ascii_case("https") {
        Ok((true, rest))
    } else {
        Err(refused("url's scheme is neither http nor https".to_owned()))
    }
}

fn split_port(authority: &str) -> Result<(&str, Option<u16>), Fault> {
    let host_end = if authority.starts_with('[') {
        authority.find(']').map(|bracket| bracket + 1)
    } else {
        Some(authority.find(':').unwrap_or(authority.len()))
    };
    let host_end = host_end.ok_or_else(|| refused("url's host lacks its closing bracket".to_owned()))?;
    let (host, port) = authority.split_at(host_end);
    match port.strip_prefix(':') {
        None if port.is_empty() => Ok((host, None)),
        Some(digits) if digits.len() <= 5 && digits.bytes().all(|b| b.is_ascii_digit()) => {
            let port = digits.parse::<u16>().ok().filter(|port| *port > 0);
            Ok((host, Some(port.ok_or_else(|| refused("url's port is not in 1 to 65535".to_owned()))?)))
        }
        _ => Err(refused("url's port is not in 1 to 65535".to_owned())),
    }
}

fn parse_host(text: &str) -> Result<Host, Fault> {
    if let Some(inner) = text.strip_prefix('[') {
        let inner = inner.strip_suffix(']').unwrap_or(inner);
        let address: Ipv6Addr =
            inner.parse().map_err(|_| refused("url's IPv6 address is invalid".to_owned()))?;
        return Ok(Host::Address(address.into()));
    }
    if let Ok(address) = text.parse::<std::net::Ipv4Addr>() {
        return Ok(Host::Address(address.into()));
    }
    let labels = text.strip_suffix('.').unwrap_or(text);
    let label_is_valid = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    if labels.len() > 253 || !labels.split('.').all(label_is_valid) {
        return Err(refused("url's host is not a valid name".to_owned()));
    }
    // Resolvers read 2130706433, 0x7f.1 and 127.1 as addresses; nobody means a name by them.
    let last = labels.rsplit('.').next().unwrap_or(labels);
    let hexadecimal = last.len() > 1 && (last.starts_with("0x") || last.starts_with("0X"));
    if hexadecimal || last.bytes().all(|b| b.is_ascii_digit()) {
        return Err(refused("url's host is an address in an unusual form".to_owned()));
    }
    Ok(Host::Name(text.to_ascii_lowercase().into()))
}

fn parse_path(text: &str) -> Result<PathAndQuery, Fault> {
    let parsed = match text {
        "" => Ok(PathAndQuery::from_static("/")),
        _ if text.starts_with('?') => PathAndQuery::try_from(format!("/{text}")),
        _ => PathAndQuery::try_from(text),
    };
    parsed.map_err(|error| refused(format!("url's path is invalid: {error}")))
}

fn refused(reason: String) -> Fault {
    Fault::Refused { reason }
}

impl Host {
    /// The name without the dot that marks it as absolute: as certificates and allow-lists write it.
    pub(crate) fn plain_name(&self) -> Option<&str> {
        match self {
            Host::Address(_) => None,
            Host::Name(name) => Some(name.strip_suffix('.').unwrap_or(name)),
        }
    }
}

impl std::fmt::Display for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Host::Address(IpAddr::V4(address)) => write!(f, "{address}"),
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
            Host::Name(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> String {
        let url = Url::parse(text).unwrap();
        let scheme = if url.origin.tls { "https" } else { "http" };
        let host = url.host_header.to_str().unwrap();
        format!("{scheme} {host} {} {}", url.origin.port, url.path_and_query)
    }

    #[test]
    fn usual_urls_are_taken_apart() {
        assert_eq!(parts("http://127.0.0.1:7101/api/x?y=1"), "http 127.0.0.1:7101 7101 /api/x?y=1");
        assert_eq!(parts("HTTPS://Example.COM"), "https example.com 443 /");
        assert_eq!(parts("https://example.com:443/"), "https example.com 443 /");
        assert_eq!(parts("http://[::1]:80?q"), "http [::1] 80 /?q");
        assert_eq!(
            parts("http://drone_svc.ns.svc.cluster.local./a%2fb"),
            "http drone_svc.ns.svc.cluster.local. 80 /a%2fb"
        );
        assert_eq!(parts("http://xn--bcher-kva.example/@x"), "http xn--bcher-kva.example 80 /@x");
    }

    #[test]
    fn urls_that_parsers_read_differently_are_refused() {
        let odd = [
            "",
            "example.com",
            "//example.com/",
            "ftp://example.com/",
            "file:///etc/passwd",
            "http:/a",
            "http://",
            "http:///path",
            "http://user@example.com/",
            "http://user:pass@example.com/",
            "http://a@b@c/",
            "http://example.com\\@10.0.0.1/",
            "http://example.com/a b",
            "http://example.com/\t",
            "http://exa\nmple.com/",
            "http://example.com/#f",
            "http://127.0.0.1#@example.com/",
            "http://b\u{fc}cher.example/",
            "http://example\u{3002}com/",
            "http://2130706433/",
            "http://0x7f000001/",
            "http://0x7f.1/",
            "http://017700000001/",
            "http://127.1/",
            "http://127.0.1/",
            "http://0177.0.0.1/",
            "http://127.0.0.1./",
            "http://1.2.3.4.5/",
            "http://256.0.0.1/",
            "http://127.0.0.01/",
            "http://[::1/",
            "http://[::1%25lo]/",
            "http://[127.0.0.1]/",
            "http://::1/",
            "http://example.com:0/",
            "http://example.com:65536/",
            "http://example.com:/",
            "http://example.com:80:80/",
            "http://example.com:+80/",
            "http://[::1]80/",
            "http://.example.com/",
            "http://example..com/",
            "http://example.com../",
            "http://%31%32%37.0.0.1/",
            "http://exa%6dple.com/",
            "http://example.com,10.0.0.1/",
        ];
        for text in odd {
            assert!(
                matches!(Url::parse(text), Err(Fault::Refused { .. })),
                "{text:?} {:?}",
                Url::parse(text)
            );
        }
        assert!(Url::parse(&format!("http://a/{}", "x".repeat(URL_BYTES_MAX))).is_err());
    }
}
