//! From names to addresses.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;

use tokio::net::lookup_host;

/// The answer to one question, on its way.
pub type Resolving<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Looks names up. Its answers are not trusted: each is checked by the outbound guard, and what was checked is what
/// is connected to.
pub trait Resolver: fmt::Debug + Send + Sync + 'static {
    fn resolve<'a>(&'a self, name: &'a str) -> Resolving<'a>;
}

/// Asks the system: its hosts file and its name servers.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve<'a>(&'a self, name: &'a str) -> Resolving<'a> {
        Box::pin(async move {
            // The port is the question's form, not its content.
            let answers = lookup_host((name, 0)).await?;
            Ok(answers.map(|answer| answer.ip()).collect())
        })
    }
}
