//! Expressions so plain that no interpreter is needed: a path, or a path that is compared with a constant.

use jaq_core::load::lex::StrPart;
use jaq_core::load::parse::{BinaryOp, Term};
use jaq_core::ops::Cmp;
use jaq_core::path::{Opt, Part};

use crate::json::{self, Segment};

/// The path of a term that is nothing but one, like `.a.b[0]["c"]`.
pub(super) fn plain_path(term: &Term<&str>) -> Option<Vec<Segment>> {
    match term {
        Term::Id => Some(Vec::new()),
        Term::Path(inner, path) => {
            let mut segments = plain_path(inner)?;
            for (part, opt) in &path.0 {
                match (part, opt) {
                    (Part::Index(index), Opt::Essential) => segments.push(segment(index)?),
                    _ => return None,
                }
            }
            Some(segments)
        }
        _ => None,
    }
}

/// What a path can be compared with by its text alone. Numbers are not: 1 and 1.0 are equal.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Constant {
    /// `true`, `false` or `null`.
    Word(&'static str),
    Text(Box<str>),
}

impl Constant {
    /// Whether a JSON text is this value.
    pub(super) fn is(&self, found: &str) -> bool {
        match self {
            Constant::Word(word) => found == *word,
            Constant::Text(text) => json::text_of(found).is_some_and(|found| *found == **text),
        }
    }
}

/// The path and the constant of `path == constant`.
pub(super) fn plain_equality(term: &Term<&str>) -> Option<(Vec<Segment>, Constant)> {
    let Term::BinOp(left, BinaryOp::Cmp(Cmp::Eq), right) = term else { return None };
    let constant = match &**right {
        Term::Call("true", arguments) if arguments.is_empty() => Constant::Word("true"),
        Term::Call("false", arguments) if arguments.is_empty() => Constant::Word("false"),
        Term::Call("null", arguments) if arguments.is_empty() => Constant::Word("null"),
        Term::Str(None, parts) => Constant::Text(plain_text(parts)?.into()),
        _ => return None,
    };
    Some((plain_path(left)?, constant))
}

/// The text of a string without expressions in it.
fn plain_text(parts: &[StrPart<&str, Term<&str>>]) -> Option<String> {
    let mut text = String::new();
    for part in parts {
        match part {
            StrPart::Str(piece) => text.push_str(piece),
            StrPart::Char(c) => text.push(*c),
            StrPart::Term(_) => return None,
        }
    }
    Some(text)
}

pub(super) fn segment(index: &Term<&str>) -> Option<Segment> {
    match index {
        Term::Str(None, parts) => plain_text(parts).map(|name| Segment::Field(name.into())),
        Term::Num(digits) => digits.parse().ok().map(Segment::Item),
        Term::Neg(inner) => match segment(inner)? {
            Segment::Item(index) => Some(Segment::Item(-index)),
            Segment::Field(_) => None,
        },
        _ => None,
    }
}
