//! The address of a broker, taken apart. What is wrong is reported without the address: it may hold a secret.

/// Where a broker listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub tls: bool,
    pub host: String,
    pub port: u16,
    /// What follows the first slash, as it was written.
    pub path: Option<String>,
}

/// How the addresses of a kind of broker begin.
pub(crate) struct Schemes {
    pub plain: &'static str,
    pub plain_port: u16,
    pub tls: &'static str,
    pub tls_port: u16,
}

pub(crate) const AMQP: Schemes =
    Schemes { plain: "amqp://", plain_port: 5672, tls: "amqps://", tls_port: 5671 };

impl Address {
    pub(crate) fn parse(url: &str, schemes: &Schemes) -> Result<Address, String> {
        let plain = url.strip_prefix(schemes.plain).map(|rest| (rest, false, schemes.plain_port));
        let secure = url.strip_prefix(schemes.tls).map(|rest| (rest, true, schemes.tls_port));
        let Some((rest, tls, port)) = plain.or(secure) else {
            return Err(format!(
                "the url of the broker must begin with {} or {}",
                schemes.plain, schemes.tls
            ));
        };
        let (authority, path) = match rest.split_once('/') {
            Some((authority, path)) => (authority, Some(path.to_owned())),
            None => (rest, None),
        };
        let (host, port) = authority_of(authority, port)?;
        Ok(Address { tls, host, port, path })
    }

    /// `host:port`, without a scheme.
    #[cfg(feature = "kafka")]
    pub(crate) fn parse_server(server: &str, port: u16) -> Result<Address, String> {
        let (host, port) = authority_of(server.trim(), port)?;
        Ok(Address { tls: false, host, port, path: None })
    }
}

/// Errors and logs name a broker by this: it holds no secret.
impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

fn authority_of(authority: &str, default_port: u16) -> Result<(String, u16), String> {
    if authority.contains('@') {
        return Err(
            "the url of the broker must not hold a name or a secret: they belong in the login".to_owned()
        );
    }
    let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, "")) => (host, None),
        Some((host, rest)) => (host, rest.strip_prefix(':')),
        None => match authority.rsplit_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let named = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | ':');
    if host.is_empty() || !host.chars().all(named) {
        return Err("the url of the broker must name a host, like amqp://broker.example:5672".to_owned());
    }
    let port =
        match port {
            None => default_port,
            Some(port) => port.parse().ok().filter(|port| *port != 0).ok_or_else(|| {
                "the port in the url of the broker must be a number from 1 to 65535".to_owned()
            })?,
        };
    Ok((host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<String, String> {
        Address::parse(url, &AMQP).map(|address| format!("{} {address} {:?}", address.tls, address.path))
    }

    #[test]
    fn addresses_are_taken_apart() {
        assert_eq!(parse("amqp://broker").as_deref(), Ok("false broker:5672 None"));
        assert_eq!(parse("amqps://broker").as_deref(), Ok("true broker:5671 None"));
        assert_eq!(parse("amqp://broker:99/a%2Fb").as_deref(), Ok("false broker:99 Some(\"a%2Fb\")"));
        assert_eq!(parse("amqp://[::1]:99/").as_deref(), Ok("false [::1]:99 Some(\"\")"));
        assert_eq!(parse("amqp://[::1]").as_deref(), Ok("false [::1]:5672 None"));
    }

    #[test]
    fn errors_in_an_address_do_not_quote_its_secret() {
        for url in
            ["http://user:hush@broker", "amqp://user:hush@broker", "amqp://:hush", "amqp://hu sh", "hush"]
        {
            let told = parse(url).unwrap_err();
            assert!(!told.contains("hush") && told.contains("the url of the broker"), "{url}: {told}");
        }
    }
}
