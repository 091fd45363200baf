//! Rust text taken apart: code without comments and literals, and comments without code. Places stay the same.

/// The two halves of a Rust file. Each has every line of it, blank where the other has its text.
pub(crate) struct Masked {
    pub code: String,
    pub comments: String,
}

/// Separates code, comments and literals. Invalid Rust is separated somehow; the compiler reports it.
pub(crate) fn mask(text: &str) -> Masked {
    let chars: Vec<char> = text.chars().collect();
    let mut code = String::with_capacity(text.len());
    let mut comments = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let (kind, end) = piece(&chars, at);
        for char in &chars[at..end] {
            let blank = if *char == '\n' { '\n' } else { ' ' };
            code.push(if kind == Kind::Code { *char } else { blank });
            comments.push(if kind == Kind::Comment { *char } else { blank });
        }
        at = end;
    }
    Masked { code, comments }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Code,
    Comment,
    Literal,
}

/// What begins here, and where it ends.
fn piece(chars: &[char], at: usize) -> (Kind, usize) {
    let next = chars.get(at + 1).copied();
    match chars[at] {
        '/' if next == Some('/') => (Kind::Comment, find(chars, at, |chars| chars[0] == '\n')),
        '/' if next == Some('*') => (Kind::Comment, block_comment_end(chars, at)),
        '"' => (Kind::Literal, quoted_end(chars, at, '"')),
        '\'' if next == Some('\\') || chars.get(at + 2) == Some(&'\'') => {
            (Kind::Literal, quoted_end(chars, at, '\''))
        }
        'r' if at == 0 || !is_word(chars[at - 1]) || is_prefix(chars, at - 1) => match raw_end(chars, at) {
            Some(end) => (Kind::Literal, end),
            None => (Kind::Code, at + 1),
        },
        _ => (Kind::Code, at + 1),
    }
}

fn find(chars: &[char], from: usize, matches: impl Fn(&[char]) -> bool) -> usize {
    (from..chars.len()).find(|at| matches(&chars[*at..])).unwrap_or(chars.len())
}

fn block_comment_end(chars: &[char], from: usize) -> usize {
    let mut depth = 0;
    let mut at = from;
    while at + 1 < chars.len() {
        match (chars[at], chars[at + 1]) {
            ('/', '*') => depth += 1,
            ('*', '/') => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            return at;
        }
    }
    chars.len()
}

fn quoted_end(chars: &[char], from: usize, quote: char) -> usize {
    let mut at = from + 1;
    while at < chars.len() {
        match chars[at] {
            '\\' => at += 2,
            char if char == quote => return at + 1,
            _ => at += 1,
        }
    }
    chars.len()
}

/// The end of `r"…"` or `r#"…"#`; none when it is a name or a raw identifier.
fn raw_end(chars: &[char], from: usize) -> Option<usize> {
    let hashes = chars[from + 1..].iter().take_while(|char| **char == '#').count();
    if chars.get(from + 1 + hashes) != Some(&'"') {
        return None;
    }
    let closes = |chars: &[char]| {
        chars[0] == '"' && chars.len() > hashes && chars[1..=hashes].iter().all(|char| *char == '#')
    };
    Some((find(chars, from + 2 + hashes, closes) + 1 + hashes).min(chars.len()))
}

/// The `b` of `br"…"` or the `c` of `cr"…"`, on its own.
fn is_prefix(chars: &[char], at: usize) -> bool {
    matches!(chars[at], 'b' | 'c') && (at == 0 || !is_word(chars[at - 1]))
}

pub(crate) fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, code: &str, comments: &str) {
        let masked = mask(text);
        assert_eq!((masked.code.as_str(), masked.comments.as_str()), (code, comments), "{text}");
    }

    #[test]
    fn comments_and_code_part_at_their_places() {
        check("a // b\nc", "a     \nc", "  // b\n ");
        check("a /* b /* c */ d */ e", "a                   e", "  /* b /* c */ d */  ");
    }

    #[test]
    fn braces_in_literals_are_not_code() {
        check(r#"f("{ \" //"); g"#, "f(         ); g", "               ");
        check("f('{'); g('\\''); h", "f(   ); g(    ); h", "                  ");
        check("r#\"{\"# br\"{\" r#fn", "       b     r#fn", "                 ");
    }

    #[test]
    fn lifetimes_are_code() {
        check("fn f<'a>(x: &'a str) {", "fn f<'a>(x: &'a str) {", "                      ");
    }
}
