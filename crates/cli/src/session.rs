//! What every command that talks to a server needs: the client, the screen, and the output format.

use std::cell::RefCell;

use clap::Args;
use serde::Serialize;

use crate::client::{Answer, Client};
use crate::failure::Failure;
use crate::screen::{self, Color, Screen};

const DEFAULT_URL: &str = "http://127.0.0.1:7070";

/// Options of every command that talks to a server.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// The server to talk to
    #[arg(long, global = true, env = "SORTIE_URL", default_value = DEFAULT_URL, help_heading = "Server")]
    pub url: String,
    /// The API token; not needed for `sortie dev`
    #[arg(long, global = true, env = "SORTIE_TOKEN", hide_env_values = true, help_heading = "Server")]
    pub token: Option<String>,
    /// Print JSON, as the API returns it, instead of tables
    #[arg(long, global = true, help_heading = "Output")]
    pub json: bool,
    /// Use colours; NO_COLOR and CLICOLOR_FORCE are honoured with auto
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        value_enum,
        default_value_t,
        hide_possible_values = true,
        help_heading = "Output"
    )]
    pub color: Color,
}

/// The connection of a command to the server and to its output.
pub struct Session {
    pub client: Client,
    pub screen: Screen,
    json: bool,
    /// Output collected so far, while it is being captured.
    gathered: RefCell<Option<String>>,
}

impl Session {
    pub fn new(options: &Options) -> Result<Session, Failure> {
        let token = options.token.as_deref().filter(|token| !token.is_empty());
        let client = Client::new(&options.url, token)?;
        let gathered = RefCell::new(None);
        Ok(Session { client, screen: Screen::of_stdout(), json: options.json, gathered })
    }

    /// Whether to print only JSON.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Prints the API's JSON with --json, otherwise the result of `human`.
    pub fn show(
        &self,
        answer: &Answer,
        human: impl FnOnce() -> anyhow::Result<String>,
    ) -> anyhow::Result<()> {
        let text = if self.json { answer.text() } else { human()? };
        self.put(&text)
    }

    /// Prints a value as JSON with --json, otherwise the result of `human`.
    pub fn show_value(&self, value: &impl Serialize, human: impl FnOnce() -> String) -> anyhow::Result<()> {
        let text = if self.json { serde_json::to_string(value)? + "\n" } else { human() };
        self.put(&text)
    }

    /// Runs something and returns what it would have printed.
    pub async fn gather<T>(&mut self, show: impl AsyncFnOnce(&mut Session) -> T) -> (T, String) {
        self.screen = Screen::of_stdout();
        self.gathered.replace(Some(String::new()));
        let outcome = show(self).await;
        (outcome, self.gathered.take().unwrap_or_default())
    }

    fn put(&self, text: &str) -> anyhow::Result<()> {
        match self.gathered.borrow_mut().as_mut() {
            Some(gathered) => gathered.push_str(text),
            None => screen::print(text)?,
        }
        Ok(())
    }

    /// How to call this program for this server, for hints.
    pub fn program(&self) -> String {
        if self.client.url() == DEFAULT_URL || std::env::var_os("SORTIE_URL").is_some() {
            return "sortie".to_owned();
        }
        format!("sortie --url {}", self.client.url())
    }
}
