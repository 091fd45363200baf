//! A terminal that is ours for a while, and given back as it was, whatever happens.

use std::io::{IsTerminal, Write};
use std::sync::Once;

use anyhow::Context;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use super::page::TopPage;
use crate::screen::{Screen, Size, cut_painted, print_to_reader, size};

/// The other screen, without a cursor; and back.
const ENTER: &str = "\u{1b}[?1049h\u{1b}[?25l";
const LEAVE: &str = "\u{1b}[?25h\u{1b}[?1049l";
const SIZE_USUAL: Size = Size { columns: 80, rows: 24 };

/// The terminal; dropped, it is as it was.
pub struct Terminal {
    /// How the keyboard was; `None` if there is none.
    before: Option<Termios>,
}

impl Terminal {
    /// Shows the other screen, and hands over keys as they are pressed. Ctrl-C stays a signal.
    pub fn take() -> anyhow::Result<Terminal> {
        let stdin = std::io::stdin();
        let mut before = None;
        if stdin.is_terminal() {
            let was = tcgetattr(&stdin).context("asking for the mode of the terminal")?;
            let mut now = was.clone();
            now.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
            tcsetattr(&stdin, OptionalActions::Now, &now).context("setting the mode of the terminal")?;
            before = Some(was);
        }
        let terminal = Terminal { before };
        terminal.restore_on_panic();
        print_to_reader(ENTER)?;
        Ok(terminal)
    }

    /// Draws a page over the one before, without a moment of emptiness between them.
    pub fn draw(&mut self, page: &TopPage<'_>) -> anyhow::Result<()> {
        let size = size().unwrap_or(SIZE_USUAL);
        let screen = Screen { width: Some(size.columns), ..Screen::of_stdout() };
        print_to_reader(&picture(&page.text(&screen), size))?;
        Ok(())
    }

    /// A release aborts at a panic, without dropping anything: the hook is the only place that is sure to be passed.
    fn restore_on_panic(&self) {
        static ONCE: Once = Once::new();
        let before = self.before.clone();
        ONCE.call_once(|| {
            let usual = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                restore(before.as_ref());
                usual(panic);
            }));
        });
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore(self.before.as_ref());
    }
}

fn restore(before: Option<&Termios>) {
    let mut stdout = std::io::stdout();
    // Nobody is left to see it where it fails.
    let _ = stdout.write_all(LEAVE.as_bytes()).and_then(|()| stdout.flush());
    if let Some(before) = before {
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, before);
    }
}

/// The characters that show a text from the top left corner on; what does not fit is cut off.
fn picture(text: &str, size: Size) -> String {
    let mut out = String::from("\u{1b}[?2026h\u{1b}[H");
    let lines: Vec<&str> = text.lines().take(size.rows).collect();
    for (place, line) in lines.iter().enumerate() {
        let end = if place + 1 < lines.len() { "\r\n" } else { "" };
        out += &format!("{}\u{1b}[K{end}", cut_painted(line, size.columns));
    }
    out + "\u{1b}[J\u{1b}[?2026l"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_fills_the_screen_and_no_more() {
        let drawn = picture("one\ntwo and more\nthree\n", Size { columns: 6, rows: 2 });
        assert_eq!(drawn.replace('\u{1b}', "^"), "^[?2026h^[Hone^[K\r\ntwo a…^[K^[J^[?2026l");
    }
}
