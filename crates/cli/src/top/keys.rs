//! The keys of a person who watches.

use std::io::{IsTerminal, Read};

use tokio::sync::mpsc::{Receiver, channel};

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyCommand {
    Quit,
    Pause,
    Next,
    Previous,
}

/// More than anybody presses between two pictures.
const KEYS_MAX: usize = 16;

/// The keys as they come; none where nobody has a keyboard.
pub struct Keys {
    keys: Option<Receiver<KeyCommand>>,
}

impl Keys {
    /// Reads standard input on a thread of its own, which ends with the process: nothing else can wake a read.
    pub fn read() -> Keys {
        if !std::io::stdin().is_terminal() {
            return Keys { keys: None };
        }
        let (sender, receiver) = channel(KEYS_MAX);
        std::thread::spawn(move || {
            let mut bytes = [0; 64];
            while let Ok(count @ 1..) = std::io::stdin().lock().read(&mut bytes) {
                for key in parse(&bytes[..count]) {
                    if sender.blocking_send(key).is_err() {
                        return;
                    }
                }
            }
        });
        Keys { keys: Some(receiver) }
    }

    /// The next key; never, where there are none.
    pub async fn next(&mut self) -> KeyCommand {
        if let Some(keys) = &mut self.keys {
            if let Some(key) = keys.recv().await {
                return key;
            }
            self.keys = None;
        }
        std::future::pending().await
    }
}

/// The keys in what a terminal sends; unknown sequences are ignored.
fn parse(bytes: &[u8]) -> Vec<KeyCommand> {
    let mut keys = Vec::new();
    let mut rest = bytes;
    while let [first, more @ ..] = rest {
        let (key, after) = match (first, more) {
            (0x1b, [b'[' | b'O', letter, after @ ..]) => {
                let key = match letter {
                    b'A' | b'D' | b'Z' => Some(KeyCommand::Previous),
                    b'B' | b'C' => Some(KeyCommand::Next),
                    _ => None,
                };
                (key, after)
            }
            (b'q' | b'Q', _) => (Some(KeyCommand::Quit), more),
            (b'p' | b'P' | b' ', _) => (Some(KeyCommand::Pause), more),
            (b'\t', _) => (Some(KeyCommand::Next), more),
            _ => (None, more),
        };
        keys.extend(key);
        rest = after;
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_and_letters_are_distinguished() {
        assert_eq!(
            parse(b"\x1b[C\x1b[Z\tp"),
            [KeyCommand::Next, KeyCommand::Previous, KeyCommand::Next, KeyCommand::Pause]
        );
        assert_eq!(parse(b"x\x1b[Aq"), [KeyCommand::Previous, KeyCommand::Quit]);
        assert_eq!(parse(b"\x1b"), []);
    }
}
