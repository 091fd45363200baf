//! Where output goes: how wide it is, whether it takes colours, and what a colour means.

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::sync::OnceLock;

use clap::ValueEnum;
use unicode_width::UnicodeWidthChar;

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

/// When colours are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR says otherwise
    #[default]
    Auto,
    Always,
    Never,
}

/// What --color said. Said once, before anything is shown: every screen of this process is the same one.
static CHOSEN: OnceLock<Color> = OnceLock::new();

/// Keeps what --color said for all screens to come.
pub fn choose(color: Color) {
    CHOSEN.get_or_init(|| color);
}

/// What the output is shown on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Screen {
    pub colour: bool,
    /// Columns; `None` where nothing needs to fit, as in a pipe or a file.
    pub width: Option<usize>,
}

impl Screen {
    /// The terminal that stdout is, or a screen without bounds if it is none.
    pub fn of_stdout() -> Screen {
        let terminal = std::io::stdout().is_terminal();
        let colour =
            colours(CHOSEN.get().copied().unwrap_or_default(), terminal, |name| std::env::var_os(name));
        Screen { colour, width: size().map(|size| size.columns) }
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

const ROWS_USUAL: u16 = 24;

/// How much a terminal shows at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub columns: usize,
    pub rows: usize,
}

/// The size of the terminal that stdout is; `None` if it is none, or does not say how wide it is.
pub fn size() -> Option<Size> {
    let stdout = std::io::stdout();
    if !stdout.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(&stdout).ok();
    let variable = |name| std::env::var(name).ok().and_then(|text| text.parse().ok());
    // A terminal over a serial line does not know its size; its user may have set it.
    let first = |size: Option<u16>, name| [size, variable(name)].into_iter().flatten().find(|size| *size > 0);
    let columns = first(size.map(|size| size.ws_col), "COLUMNS")?;
    let rows = first(size.map(|size| size.ws_row), "LINES").unwrap_or(ROWS_USUAL);
    Some(Size { columns: columns.into(), rows: rows.into() })
}

/// Whether to use colours: the option first, then NO_COLOR, then CLICOLOR_FORCE, then what the output is.
fn colours(color: Color, terminal: bool, variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let is_set = |name| variable(name).is_some_and(|value| !value.is_empty());
    let is_on = |name| variable(name).is_some_and(|value| !value.is_empty() && value != "0");
    match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto if is_set("NO_COLOR") => false,
        Color::Auto if is_on("CLICOLOR_FORCE") => true,
        Color::Auto => {
            let off = variable("CLICOLOR").is_some_and(|value| value == "0");
            let dumb = variable("TERM").is_some_and(|term| term == "dumb");
            terminal && !off && !dumb
        }
    }
}

/// Writes to stdout. A reader that went away, as `head` does, is not an error.
pub fn print(text: &str) -> std::io::Result<()> {
    print_to_reader(text).map(drop)
}

/// Whether the output still has a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputState {
    Open,
    Closed,
}

/// Writes to stdout and says whether that is worth going on with.
pub fn print_to_reader(text: &str) -> std::io::Result<OutputState> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(OutputState::Open),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(OutputState::Closed),
        Err(error) => Err(error),
    }
}

/// The columns that a text takes; it has no control characters.
pub fn columns(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// At most `room` columns of a text; the last one says if there was more.
pub fn cut(text: &str, room: usize) -> String {
    if columns(text) <= room {
        return text.to_owned();
    }
    match room {
        0 => String::new(),
        room => format!("{}…", start(text, room - 1)),
    }
}

/// As much of a text as `room` columns hold.
fn start(text: &str, room: usize) -> &str {
    let mut taken = 0;
    let end = text.char_indices().find(|(_, c)| {
        taken += c.width().unwrap_or(0);
        taken > room
    });
    end.map_or(text, |(end, _)| &text[..end])
}

/// A line with its colours, cut to `room` columns.
pub fn cut_painted(line: &str, room: usize) -> String {
    let plain: String = pieces(line).filter(|piece| !piece.starts_with('\u{1b}')).collect();
    if columns(&plain) <= room {
        return line.to_owned();
    }
    let mut left = room.saturating_sub(1);
    let mut out = String::new();
    let mut painted = false;
    for piece in pieces(line) {
        if piece.starts_with('\u{1b}') {
            painted = true;
            out.push_str(piece);
            continue;
        }
        let wide = columns(piece);
        if wide > left {
            out.push_str(start(piece, left));
            out.push('…');
            break;
        }
        left -= wide;
        out.push_str(piece);
    }
    if painted { out + "\u{1b}[0m" } else { out }
}

/// The parts of a line: its text, and the sequences that colour it.
fn pieces(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = match rest.strip_prefix('\u{1b}') {
            Some(sequence) => sequence.find('m').map_or(rest.len(), |end| end + 2),
            None => rest.find('\u{1b}').unwrap_or(rest.len()),
        };
        let (piece, more) = rest.split_at(end);
        rest = more;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coloured(color: Color, terminal: bool, variables: &[(&str, &str)]) -> bool {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        };
        colours(color, terminal, variable)
    }

    #[test]
    fn colours_are_for_terminals_unless_somebody_says_otherwise() {
        assert!(coloured(Color::Auto, true, &[]));
        assert!(!coloured(Color::Auto, false, &[]));
        assert!(!coloured(Color::Auto, true, &[("NO_COLOR", "1")]));
        assert!(coloured(Color::Auto, true, &[("NO_COLOR", "")]));
        assert!(coloured(Color::Auto, false, &[("CLICOLOR_FORCE", "1")]));
        assert!(!coloured(Color::Auto, false, &[("CLICOLOR_FORCE", "0")]));
        assert!(!coloured(Color::Auto, true, &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")]));
        assert!(!coloured(Color::Auto, true, &[("CLICOLOR", "0")]));
        assert!(!coloured(Color::Auto, true, &[("TERM", "dumb")]));
        assert!(coloured(Color::Always, false, &[("NO_COLOR", "1")]));
        assert!(!coloured(Color::Never, true, &[("CLICOLOR_FORCE", "1")]));
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(columns("日本x"), 5);
        assert_eq!(cut("日本語のテスト", 6), "日本…");
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 1), "…");
        assert_eq!(cut("abcd", 0), "");
    }

    #[test]
    fn a_painted_line_is_cut_by_what_is_seen_of_it() {
        let red = "\u{1b}[31mred\u{1b}[0m and more";
        assert_eq!(cut_painted(red, 12), red);
        assert_eq!(cut_painted(red, 6), "\u{1b}[31mred\u{1b}[0m a…\u{1b}[0m");
        assert_eq!(cut_painted(red, 3), "\u{1b}[31mre…\u{1b}[0m");
        assert_eq!(cut_painted("plain text", 7), "plain …");
    }
}
