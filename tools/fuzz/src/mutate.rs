//! Makes new inputs out of known ones: the same seed, the same inputs.

/// A seeded sequence of draws.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    /// SplitMix64.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// From zero to below `beyond`, which is not zero.
    pub fn below(&mut self, beyond: usize) -> usize {
        (self.draw() % beyond as u64) as usize
    }

    fn one_of<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len())]
    }
}

/// Longer inputs only cost time.
const BYTES_MAX: usize = 16 << 10;

/// Numbers at which code goes wrong.
const NUMBERS: [&str; 18] = [
    "0",
    "-1",
    "1",
    "127",
    "128",
    "255",
    "256",
    "32767",
    "65535",
    "65536",
    "2147483647",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551616",
    "1e400",
    "0.1",
    "99999999999999999999",
];

/// Pieces of text at which code goes wrong.
const PIECES: [&str; 22] = [
    "\"",
    "'",
    "\\",
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\n",
    "\r\n",
    "\0",
    " ",
    "\u{fc}",
    "\u{1f680}",
    "\u{202e}",
    "\u{feff}",
    "null",
    "true",
    "%2f",
    "..",
    "/",
];

/// An input derived from other inputs by a few changes.
pub fn mutate(dice: &mut Dice, seeds: &[Vec<u8>], words: &[&str]) -> Vec<u8> {
    let mut bytes = match seeds.is_empty() {
        true => Vec::new(),
        false => seeds[dice.below(seeds.len())].clone(),
    };
    // Mostly one or two changes: more of them only make noise of a valid input.
    let changes = 1 + dice.below(3) + if dice.below(4) == 0 { dice.below(16) } else { 0 };
    for _ in 0..changes {
        change(dice, &mut bytes, seeds, words);
    }
    bytes.truncate(BYTES_MAX);
    bytes
}

fn change(dice: &mut Dice, bytes: &mut Vec<u8>, seeds: &[Vec<u8>], words: &[&str]) {
    let at = dice.below(bytes.len() + 1);
    let end = (at + 1 + dice.below(16)).min(bytes.len());
    match dice.below(12) {
        0 if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
        1 if at < bytes.len() => bytes[at] = dice.draw() as u8,
        2 => drop(bytes.drain(at.min(end)..end)),
        3 => {
            let noise: Vec<u8> = (0..1 + dice.below(8)).map(|_| dice.draw() as u8).collect();
            bytes.splice(at..at, noise);
        }
        4 => put_number(dice, bytes, at),
        5 => replace_digits(dice, bytes, at),
        6 => drop(bytes.splice(at..at, dice.one_of(&PIECES).bytes())),
        7 | 8 if !words.is_empty() => put_word(dice, bytes, at, words),
        9 if !seeds.is_empty() => {
            let other = dice.below(seeds.len());
            splice(dice, bytes, at, &seeds[other]);
        }
        10 => repeat(dice, bytes, at, end),
        11 => bytes.truncate(at),
        _ => swap(dice, bytes),
    }
}

/// A number in binary, at a width of one to eight bytes.
fn put_number(dice: &mut Dice, bytes: &mut [u8], at: usize) {
    let numbers = [0, 1, u64::MAX, 1 << 7, 1 << 15, 1 << 31, 1 << 63, u64::from(u32::MAX), i64::MAX as u64];
    let number = numbers[dice.below(numbers.len())].wrapping_add(dice.below(3) as u64).wrapping_sub(1);
    let width = 1 << dice.below(4);
    if let Some(place) = bytes.get_mut(at..at + width) {
        place.copy_from_slice(&number.to_le_bytes()[..width]);
    }
}

/// Replaces the next number that is written in digits.
fn replace_digits(dice: &mut Dice, bytes: &mut Vec<u8>, at: usize) {
    let Some(start) = bytes[at..].iter().position(u8::is_ascii_digit) else { return };
    let start = at + start;
    let length = bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    bytes.splice(start..start + length, dice.one_of(&NUMBERS).bytes());
}

/// Inserts a word of the target, or replaces the word at the position, with its quotes if both have some.
fn put_word(dice: &mut Dice, bytes: &mut Vec<u8>, at: usize, words: &[&str]) {
    let word = dice.one_of(words);
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let (mut start, mut end) = (at, at);
    if dice.below(2) == 0 {
        end += bytes[at..].iter().take_while(|byte| is_letter(byte)).count();
        start -= bytes[..at].iter().rev().take_while(|byte| is_letter(byte)).count();
        if word.starts_with('"') && bytes[..start].ends_with(b"\"") && bytes[end..].starts_with(b"\"") {
            (start, end) = (start - 1, end + 1);
        }
    }
    bytes.splice(start..end, word.bytes());
}

/// Replaces a piece by one of another input.
fn splice(dice: &mut Dice, bytes: &mut Vec<u8>, at: usize, other: &[u8]) {
    if other.is_empty() {
        return;
    }
    let from = dice.below(other.len());
    let length = 1 + dice.below((other.len() - from).min(256));
    let end = (at + dice.below(length + 1)).min(bytes.len());
    bytes.splice(at..end, other[from..from + length].iter().copied());
}

/// A piece over and over: nesting, long lists and long names come of it.
fn repeat(dice: &mut Dice, bytes: &mut Vec<u8>, at: usize, end: usize) {
    let piece = bytes[at.min(end)..end].to_vec();
    let times = 1 << dice.below(10);
    if piece.len() * times <= BYTES_MAX {
        bytes.splice(at..at, piece.repeat(times));
    }
}

fn swap(dice: &mut Dice, bytes: &mut [u8]) {
    if bytes.is_empty() {
        return;
    }
    let (one, other) = (dice.below(bytes.len()), dice.below(bytes.len()));
    let length = (1 + dice.below(16)).min(bytes.len() - one.max(other));
    for n in 0..length {
        bytes.swap(one + n, other + n);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_inputs() {
        let seeds = [b"{\"a\": 12}".to_vec(), b"name: w\nsteps: {}\n".to_vec()];
        let inputs = |seed| {
            let mut dice = Dice::new(seed);
            (0..500).map(|_| mutate(&mut dice, &seeds, &["steps", "call"])).collect::<Vec<_>>()
        };
        assert_eq!(inputs(7), inputs(7));
        assert_ne!(inputs(7), inputs(8));
        assert!(inputs(7).iter().all(|input| input.len() <= BYTES_MAX));
    }

    #[test]
    fn nothing_becomes_something() {
        let mut dice = Dice::new(1);
        assert!((0..100).any(|_| !mutate(&mut dice, &[], &[]).is_empty()));
    }
}
