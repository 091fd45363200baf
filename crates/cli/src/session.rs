//! What every command that talks to a server has: the client, the screen, and how output is wanted.

use clap::Args;
use serde::Serialize;

use crate::client::{Answer, Client};
use crate::failure::Failure;
use crate::screen::{self, Screen};

const DEFAULT_URL: &str = "http://127.0.0.1:7070";

/// Options of every command that talks to a server.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// The server to talk to
    #[arg(long, global = true, env = "SORTIE_URL", default_value = DEFAULT_URL, help_heading = "Server")]
    pub url: String,
    /// The API token to show it; not needed for `sortie dev`
    #[arg(long, global = true, env = "SORTIE_TOKEN", hide_env_values = true, help_heading = "Server")]
    pub token: Option<String>,
    /// Print JSON, as the API gives it, instead of tables
    #[arg(long, global = true)]
    pub json: bool,
}

/// A command's way to the server and to the reader.
pub struct Session {
    pub client: Client,
    pub screen: Screen,
    json: bool,
}

impl Session {
    pub fn new(options: &Options) -> Result<Session, Failure> {
        let token = options.token.as_deref().filter(|token| !token.is_empty());
        let client = Client::new(&options.url, token)?;
        Ok(Session { client, screen: Screen::of_stdout(), json: options.json })
    }

    /// Whether JSON is wanted, and nothing beside it.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Prints the API's own JSON if that is wanted, else what `human` makes of it.
    pub fn show(
        &self,
        answer: &Answer,
        human: impl FnOnce() -> anyhow::Result<String>,
    ) -> anyhow::Result<()> {
        let text = if self.json { answer.text() } else { human()? };
        Ok(screen::print(&text)?)
    }

    /// Prints a value as JSON if that is wanted, else what `human` makes of it.
    pub fn show_value(&self, value: &impl Serialize, human: impl FnOnce() -> String) -> anyhow::Result<()> {
        let text = if self.json { serde_json::to_string(value)? + "\n" } else { human() };
        Ok(screen::print(&text)?)
    }

    /// The words with which a reader runs this program on this server.
    pub fn program(&self) -> String {
        if self.client.url() == DEFAULT_URL || std::env::var_os("SORTIE_URL").is_some() {
            return "sortie".to_owned();
        }
        format!("sortie --url {}", self.client.url())
    }
}
