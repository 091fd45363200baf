//! Reads JSON text into a tree: one pass, and nothing is copied but what is written with escapes.

use super::tree::{FIELDS_SCANNED_MAX, Node, NodeKind, Tree};
use crate::limits::JSON_DEPTH_MAX;

/// The most digits of a whole number that is in the range of an f64 whatever they are.
const DIGITS_IN_RANGE: usize = 308;

/// The tree of a text; `None` when it is not JSON or nested too deep.
pub(super) fn read(bytes: &[u8]) -> Option<Tree<'_>> {
    let text = std::str::from_utf8(bytes).ok()?;
    // Every node has a byte of its own, so that a place fits where a length does.
    u32::try_from(text.len()).ok()?;
    // A member is seldom shorter than 16 bytes and makes two nodes; the largest bodies are mostly text.
    let nodes = Vec::with_capacity((text.len() / 8 + 2).min(64));
    let mut reader = JsonReader { text, at: 0, depth: 0, tree: Tree { nodes, ..Tree::default() } };
    reader.skip_space();
    reader.value()?;
    reader.skip_space();
    (reader.at == text.len()).then_some(reader.tree)
}

struct JsonReader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    tree: Tree<'a>,
}

/// A string literal with its quotes, and the place of what it means when it has escapes.
struct Literal<'a> {
    text: &'a str,
    decoded: Option<u32>,
}

impl<'a> JsonReader<'a> {
    fn value(&mut self) -> Option<()> {
        match self.peek()? {
            b'"' => {
                let literal = self.literal()?;
                self.push(literal.text, literal.decoded.map_or(NodeKind::Text, NodeKind::Escaped));
                Some(())
            }
            b'{' => self.object(),
            b'[' => self.array(),
            b't' => self.word("true", NodeKind::Bool(true)),
            b'f' => self.word("false", NodeKind::Bool(false)),
            b'n' => self.word("null", NodeKind::Null),
            _ => self.number(),
        }
    }

    fn object(&mut self) -> Option<()> {
        let (start, place) = self.open()?;
        let (mut fields, mut names, mut repeats) = (0, NameFilter::default(), false);
        if !self.take(b'}') {
            loop {
                let literal = self.literal()?;
                let name = &literal.text[1..literal.text.len() - 1];
                match literal.decoded {
                    None => {
                        repeats |= names.add(name);
                        self.push(name, NodeKind::Name);
                    }
                    Some(decoded) => {
                        repeats |= names.add(&self.tree.decoded[decoded as usize]);
                        self.push(name, NodeKind::Escaped(decoded));
                    }
                }
                self.skip_space();
                self.expect(b':')?;
                self.skip_space();
                self.value()?;
                fields += 1;
                self.skip_space();
                if !self.take(b',') {
                    self.expect(b'}')?;
                    break;
                }
                self.skip_space();
            }
        }
        let mut ordered = 0;
        if repeats || fields > FIELDS_SCANNED_MAX {
            (fields, ordered) = order_names(&mut self.tree, place + 1, fields);
        }
        self.close(start, place, |end| NodeKind::Object { fields, end, ordered });
        Some(())
    }

    fn array(&mut self) -> Option<()> {
        let (start, place) = self.open()?;
        let mut items = 0;
        if !self.take(b']') {
            loop {
                self.value()?;
                items += 1;
                self.skip_space();
                if !self.take(b',') {
                    self.expect(b']')?;
                    break;
                }
                self.skip_space();
            }
        }
        self.close(start, place, |end| NodeKind::Array { items, end });
        Some(())
    }

    /// Goes into an object or an array: where its text begins, and its node, which [`Reader::close`] fills in.
    fn open(&mut self) -> Option<(usize, u32)> {
        self.depth += 1;
        if self.depth > JSON_DEPTH_MAX {
            return None;
        }
        let opened = (self.at, self.place());
        self.push("", NodeKind::Null);
        self.at += 1;
        self.skip_space();
        Some(opened)
    }

    fn close(&mut self, start: usize, place: u32, kind: impl FnOnce(u32) -> NodeKind) {
        self.depth -= 1;
        let end = self.place();
        self.tree.nodes[place as usize] = Node { text: &self.text[start..self.at], kind: kind(end) };
    }

    #[inline]
    fn literal(&mut self) -> Option<Literal<'a>> {
        let start = self.at;
        self.expect(b'"')?;
        self.at = plain_end(self.text.as_bytes(), self.at);
        match self.peek()? {
            b'"' => {
                self.at += 1;
                Some(Literal { text: &self.text[start..self.at], decoded: None })
            }
            b'\\' => self.escaped_literal(start),
            _ => None,
        }
    }

    /// The rest of a literal from its first escape on.
    #[cold]
    fn escaped_literal(&mut self, start: usize) -> Option<Literal<'a>> {
        while self.peek()? == b'\\' {
            self.at = plain_end(self.text.as_bytes(), self.at + 2);
        }
        self.expect(b'"')?;
        let text = &self.text[start..self.at];
        // Which escapes there are, and that no half of a character stands alone, is not for us to say.
        self.tree.decoded.push(serde_json::from_str(text).ok()?);
        Some(Literal { text, decoded: Some(self.tree.decoded.len() as u32 - 1) })
    }

    fn number(&mut self) -> Option<()> {
        let start = self.at;
        self.take(b'-');
        let whole = self.digits()?;
        if whole > 1 && self.text.as_bytes()[self.at - whole] == b'0' {
            return None;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        let has_exponent = self.take(b'e') || self.take(b'E');
        if has_exponent {
            let _signed = self.take(b'+') || self.take(b'-');
            self.digits()?;
        }
        let text = &self.text[start..self.at];
        if has_exponent || whole > DIGITS_IN_RANGE {
            self.tree.has_number_out_of_range |= text.parse::<serde_json::Number>().is_err();
        }
        self.push(text, NodeKind::Number);
        Some(())
    }

    /// The number of digits here, at least one.
    fn digits(&mut self) -> Option<usize> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        (self.at > start).then_some(self.at - start)
    }

    fn word(&mut self, word: &'static str, kind: NodeKind) -> Option<()> {
        self.text.as_bytes()[self.at..].starts_with(word.as_bytes()).then_some(())?;
        self.at += word.len();
        self.push(word, kind);
        Some(())
    }

    fn push(&mut self, text: &'a str, kind: NodeKind) {
        self.tree.nodes.push(Node { text, kind });
    }

    /// The place of the node that is pushed next.
    fn place(&self) -> u32 {
        self.tree.nodes.len() as u32
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        self.take(byte).then_some(())
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }
}

/// Where, from `at` on, a string literal ends or stops being plain: a quote, a backslash, a control
/// character or the end. Looks at eight bytes at a time.
fn plain_end(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = ONES << 7;
    // The high bit of each byte that is less than `limit`, and maybe of some after the first of them.
    let below = |word: u64, limit: u8| word.wrapping_sub(ONES * u64::from(limit)) & !word;
    let equal = |word: u64, byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    while let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let word = u64::from_le_bytes(*chunk);
        let found = (below(word, b' ') | equal(word, b'"') | equal(word, b'\\')) & HIGHS;
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let rest = bytes.get(at..).unwrap_or_default();
    let plain = rest.iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | 0..b' ')).count();
    at + plain
}

/// Which names an object may have already: never a false no.
#[derive(Default)]
struct NameFilter([u64; 4]);

impl NameFilter {
    /// Adds a name, and whether it may have been there.
    fn add(&mut self, name: &str) -> bool {
        let bytes = name.as_bytes();
        let byte = |place: usize| bytes.get(place).copied().unwrap_or_default();
        let sample = [byte(0), byte(bytes.len() / 2), byte(bytes.len().wrapping_sub(1)), bytes.len() as u8];
        let hash = u32::from_le_bytes(sample).wrapping_mul(0x9e37_79b1) >> 24;
        let (word, bit) = (&mut self.0[hash as usize >> 6], 1 << (hash & 63));
        let found = *word & bit != 0;
        *word |= bit;
        found
    }
}

/// Shadows all but the last of equal names. Returns how many fields count, and where among the ordered
/// names theirs begin when they are many.
#[cold]
fn order_names(tree: &mut Tree<'_>, first: u32, fields: u32) -> (u32, u32) {
    let next = |name: &u32| Some(tree.after(*name + 1));
    let mut names: Vec<u32> = std::iter::successors(Some(first), next).take(fields as usize).collect();
    // Stable: of equal names the last in the text stays the last.
    names.sort_by(|a, b| tree.name(*a).cmp(tree.name(*b)));
    let repeated = names.windows(2).filter(|pair| tree.name(pair[0]) == tree.name(pair[1]));
    let shadowed: Vec<u32> = repeated.map(|pair| pair[0]).collect();
    for name in shadowed {
        tree.nodes[name as usize].kind = NodeKind::Shadowed;
    }
    names.retain(|name| tree.nodes[*name as usize].kind != NodeKind::Shadowed);
    let (count, ordered) = (names.len() as u32, tree.ordered.len() as u32);
    if count > FIELDS_SCANNED_MAX {
        tree.ordered.append(&mut names);
    }
    (count, ordered)
}
