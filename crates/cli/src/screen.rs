//! Where output goes: how wide it is, whether it takes colours, and what a colour means.

use std::io::{IsTerminal, Write};

/// What a piece of text means; a terminal shows it by colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    #[default]
    Plain,
    Strong,
    Faint,
    Good,
    Attention,
    Bad,
}

/// What the output is shown on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Screen {
    pub colour: bool,
    /// Columns; `None` where nothing needs to fit, as in a pipe or a file.
    pub width: Option<usize>,
}

impl Screen {
    /// The terminal that stdout is, or a plain screen without bounds if it is none.
    pub fn of_stdout() -> Screen {
        let stdout = std::io::stdout();
        if !stdout.is_terminal() {
            return Screen { colour: false, width: None };
        }
        let size = rustix::termios::tcgetwinsize(&stdout).ok();
        let width = size.map(|size| usize::from(size.ws_col)).filter(|width| *width > 0);
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Screen { colour: !no_colour && !dumb, width }
    }

    /// The text in the colour of its tone.
    pub fn paint(&self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Plain => return text.to_owned(),
            Tone::Strong => "1",
            Tone::Faint => "2",
            Tone::Good => "32",
            Tone::Attention => "33",
            Tone::Bad => "31",
        };
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// Writes to stdout. A reader that went away, as `head` does, is no error.
pub fn print(text: &str) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}
