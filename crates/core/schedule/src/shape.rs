//! What members an object may have, and how JSON of any casing becomes the canonical one.
//!
//! Reading and checking are apart, because a PATCH is read alone and checked only after it has been merged:
//! [`Reader`] turns what a client wrote into canonical members, [`require`] asks for those that must be there.

use serde_json::{Map, Value};

use crate::date::{Date, Moment};
use crate::duration::Duration;
use crate::limits::SECRET_CHARS_MAX;
use crate::problem::{Report, below, did_you_mean, quote};
use crate::{cron, zone};

/// The members of an object.
pub(crate) struct Shape {
    pub(crate) members: Vec<ShapeMember>,
    /// Names that clients are known to write here, and what to do instead.
    pub(crate) hints: &'static [(&'static str, &'static str)],
}

pub(crate) struct ShapeMember {
    pub(crate) name: &'static str,
    pub(crate) kind: MemberKind,
    pub(crate) required: bool,
}

pub(crate) enum MemberKind {
    /// Any text; an empty one says nothing.
    Text,
    /// A text that may be empty.
    Content,
    /// A text that never appears in a message.
    Secret,
    Whole {
        min: i64,
        max: i64,
    },
    Flag,
    Date,
    Moment,
    Duration,
    Zone,
    Cron,
    /// One of these words, in any casing.
    Word(&'static [&'static str]),
    /// Words that a client may not choose, though answers contain them.
    WordOf {
        allowed: &'static [&'static str],
        refused: &'static [(&'static str, &'static str)],
    },
    /// Whole numbers, or one alone.
    Wholes {
        min: i64,
        max: i64,
    },
    /// Counted from the beginning, or with a minus from the end.
    FromEitherEnd {
        max: i64,
    },
    /// Several of those, or one alone.
    AllFromEitherEnd {
        max: i64,
    },
    Words(&'static [&'static str]),
    /// Names and texts.
    Texts,
    Any,
    Object(&'static Shape),
    Objects(&'static Shape),
    /// Set by the server: whatever a client writes there is passed over.
    ReadOnly,
    /// Set by the server, and refused in a PATCH.
    Status,
}

pub(crate) const fn optional(name: &'static str, kind: MemberKind) -> ShapeMember {
    ShapeMember { name, kind, required: false }
}

pub(crate) const fn required(name: &'static str, kind: MemberKind) -> ShapeMember {
    ShapeMember { name, kind, required: true }
}

/// What a member of null means.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The same as no member.
    Whole,
    /// The member is to be removed: it stays in the result, as null.
    Patch,
}

/// Reads objects of known shapes and reports all that it cannot read.
pub(crate) struct ShapeReader<'a> {
    pub(crate) mode: Mode,
    pub(crate) report: &'a mut Report,
}

impl ShapeReader<'_> {
    /// The canonical members of an object; those that are wrong are reported and left out.
    pub(crate) fn object(&mut self, shape: &Shape, value: &Value, path: &str) -> Option<Map<String, Value>> {
        let mut canonical = Map::new();
        let Value::Object(members) = value else {
            self.report.add(path, format!("must be an object, not {}", kind_of(value)));
            return None;
        };
        let mut spellings: Vec<(&str, &str)> = Vec::new();
        for (written, value) in members {
            let Some(member) = shape.members.iter().find(|member| member.name.eq_ignore_ascii_case(written))
            else {
                self.unknown(shape, written, path);
                continue;
            };
            let path = below(path, member.name);
            let Some(value) = self.member(member, value, &path) else { continue };
            let earlier = spellings.iter().find(|(name, _)| *name == member.name);
            match (earlier, canonical.get(member.name)) {
                (Some((_, earlier)), Some(before)) if *before != value => self.report.add(
                    &path,
                    format!(
                        "written twice, as {} and {}, with different values",
                        quote(earlier),
                        quote(written)
                    ),
                ),
                _ => {
                    spellings.push((member.name, written));
                    canonical.insert(member.name.to_owned(), value);
                }
            }
        }
        Some(canonical)
    }

    fn unknown(&mut self, shape: &Shape, written: &str, path: &str) {
        let path = below(path, written.chars().take(80).collect::<String>().as_str());
        if let Some((_, hint)) = shape.hints.iter().find(|(name, _)| name.eq_ignore_ascii_case(written)) {
            self.report.add(&path, *hint);
            return;
        }
        let names = || shape.members.iter().map(|member| member.name);
        let mut hint = did_you_mean(written, names());
        if hint.is_empty() {
            hint = format!("; known are {}", names().collect::<Vec<_>>().join(", "));
        }
        self.report.add(&path, format!("unknown member{hint}"));
    }

    /// The canonical value, or nothing: because it is wrong, or because there is nothing to keep.
    fn member(&mut self, member: &ShapeMember, value: &Value, path: &str) -> Option<Value> {
        match member.kind {
            MemberKind::ReadOnly => return None,
            MemberKind::Status => {
                if self.mode == Mode::Patch {
                    self.report.add(path, "is set by the server and cannot be patched");
                }
                return None;
            }
            _ => {}
        }
        if value.is_null() {
            return (self.mode == Mode::Patch).then_some(Value::Null);
        }
        match &member.kind {
            MemberKind::Texts => self.texts(value, path),
            MemberKind::Object(shape) => self.object(shape, value, path).map(Value::Object),
            MemberKind::Objects(shape) => self.objects(shape, value, path),
            MemberKind::Wholes { min, max } => {
                self.list(value, path, |value| whole(value, *min, *max).map(Value::from))
            }
            MemberKind::AllFromEitherEnd { max } => {
                self.list(value, path, |value| from_either_end(value, *max).map(Value::from))
            }
            MemberKind::Words(words) => self.list(value, path, |value| word(value, words)),
            kind => scalar(kind, value).map_err(|message| self.report.add(path, message)).ok(),
        }
    }

    /// A list, or one item alone.
    fn list(
        &mut self,
        value: &Value,
        path: &str,
        read: impl Fn(&Value) -> Result<Value, String>,
    ) -> Option<Value> {
        let Value::Array(items) = value else {
            return read(value)
                .map(|item| Value::Array(vec![item]))
                .map_err(|message| self.report.add(path, message))
                .ok();
        };
        let mut list = Vec::with_capacity(items.len());
        for (n, item) in items.iter().enumerate() {
            match read(item) {
                Ok(item) => list.push(item),
                Err(message) => self.report.add(&format!("{path}[{n}]"), message),
            }
        }
        Some(Value::Array(list))
    }

    /// A list of objects replaces the one that is stored, so that inside it null is the same as nothing.
    fn objects(&mut self, shape: &Shape, value: &Value, path: &str) -> Option<Value> {
        let Value::Array(items) = value else {
            self.report.add(path, format!("must be a list, not {}", kind_of(value)));
            return None;
        };
        let mut reader = ShapeReader { mode: Mode::Whole, report: self.report };
        let read = |(n, item)| reader.object(shape, item, &format!("{path}[{n}]")).map(Value::Object);
        Some(items.iter().enumerate().filter_map(read).collect())
    }

    fn texts(&mut self, value: &Value, path: &str) -> Option<Value> {
        let mut texts = Map::new();
        let Value::Object(members) = value else {
            self.report.add(path, format!("must be an object of names and texts, not {}", kind_of(value)));
            return None;
        };
        for (name, value) in members {
            let text = match value {
                Value::String(text) => Value::String(text.clone()),
                Value::Number(number) => Value::String(number.to_string()),
                Value::Bool(flag) => Value::String(flag.to_string()),
                Value::Null if self.mode == Mode::Patch => Value::Null,
                Value::Null => continue,
                Value::Array(_) | Value::Object(_) => {
                    let name: String = name.chars().take(80).collect();
                    self.report.add(&below(path, &name), format!("must be a text, not {}", kind_of(value)));
                    continue;
                }
            };
            texts.insert(name.clone(), text);
        }
        Some(Value::Object(texts))
    }
}

fn scalar(kind: &MemberKind, value: &Value) -> Result<Value, String> {
    match kind {
        MemberKind::Text => match text(value)? {
            "" => Err("must not be empty".to_owned()),
            text => Ok(text.into()),
        },
        MemberKind::Content => Ok(text(value)?.into()),
        MemberKind::Secret => match text(value)? {
            text if text.chars().nth(SECRET_CHARS_MAX).is_some() => {
                Err(format!("must be at most {SECRET_CHARS_MAX} characters"))
            }
            text => Ok(text.into()),
        },
        MemberKind::Whole { min, max } => whole(value, *min, *max).map(Value::from),
        MemberKind::FromEitherEnd { max } => from_either_end(value, *max).map(Value::from),
        MemberKind::Flag => match value {
            Value::Bool(flag) => Ok((*flag).into()),
            Value::String(text) if text.eq_ignore_ascii_case("true") => Ok(true.into()),
            Value::String(text) if text.eq_ignore_ascii_case("false") => Ok(false.into()),
            _ => Err(format!("must be true or false, not {}", kind_of(value))),
        },
        MemberKind::Date => canonical::<Date>(text(value)?),
        MemberKind::Moment => canonical::<Moment>(text(value)?),
        MemberKind::Duration => canonical::<Duration>(text(value)?),
        MemberKind::Zone => zone::name(text(value)?).map(Value::from),
        MemberKind::Cron => {
            let text = text(value)?.split_whitespace().collect::<Vec<_>>().join(" ");
            cron::parse_cron(&text).map(|_| text.into())
        }
        MemberKind::Word(words) => word(value, words),
        MemberKind::WordOf { allowed, refused } => {
            let written = text(value)?;
            match refused.iter().find(|(word, _)| word.eq_ignore_ascii_case(written)) {
                Some((_, why)) => Err((*why).to_owned()),
                None => word(value, allowed),
            }
        }
        MemberKind::Any => Ok(value.clone()),
        MemberKind::Wholes { .. }
        | MemberKind::AllFromEitherEnd { .. }
        | MemberKind::Words(_)
        | MemberKind::Texts
        | MemberKind::Object(_)
        | MemberKind::Objects(_)
        | MemberKind::ReadOnly
        | MemberKind::Status => unreachable!("read by the caller"),
    }
}

fn canonical<T: std::str::FromStr + ToString>(text: &str) -> Result<Value, String>
where
    T::Err: ToString,
{
    match text.parse::<T>() {
        Ok(value) => Ok(value.to_string().into()),
        Err(error) => Err(format!("{} is {}", quote(text), error.to_string())),
    }
}

fn text(value: &Value) -> Result<&str, String> {
    value.as_str().ok_or_else(|| format!("must be a text, not {}", kind_of(value)))
}

fn word(value: &Value, words: &[&str]) -> Result<Value, String> {
    let text = text(value)?.trim();
    let known = words.iter().find(|word| word.eq_ignore_ascii_case(text));
    known.map(|word| (*word).into()).ok_or_else(|| {
        let hint = did_you_mean(text, words.iter().copied());
        format!("{} is not one of {}{hint}", quote(text), words.join(", "))
    })
}

/// A whole number of a range.
fn whole(value: &Value, min: i64, max: i64) -> Result<i64, String> {
    let (number, shown) = number(value)?;
    number.filter(|number| (min..=max).contains(number)).ok_or_else(|| format!("{shown} is not {min}-{max}"))
}

/// A whole number but 0, to `max` on either side of it.
fn from_either_end(value: &Value, max: i64) -> Result<i64, String> {
    let (number, shown) = number(value)?;
    let fits = |number: &i64| *number != 0 && (-max..=max).contains(number);
    number.filter(fits).ok_or_else(|| format!("{shown} is not 1 to {max} or -{max} to -1"))
}

/// A whole number, also one that is written as a text, and how to show it; none when it is beyond 64 bits.
fn number(value: &Value) -> Result<(Option<i64>, String), String> {
    match value {
        Value::Number(number) => {
            let float = number.as_f64().unwrap_or(f64::NAN);
            match number.as_i64().or_else(|| integral(float)) {
                None if float.fract() != 0.0 => Err(format!("{number} is not a whole number")),
                whole => Ok((whole, number.to_string())),
            }
        }
        Value::String(text) => match text.trim().parse() {
            Ok(whole) => Ok((Some(whole), text.trim().to_owned())),
            Err(_) => Err(format!("{} is not a whole number", quote(text))),
        },
        _ => Err(format!("must be a whole number, not {}", kind_of(value))),
    }
}

fn integral(number: f64) -> Option<i64> {
    // Below 2^53 every whole number has its own float.
    (number.fract() == 0.0 && number.abs() < 9e15).then_some(number as i64)
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Reports the members that are missing in a canonical object, at every depth.
pub(crate) fn require(shape: &Shape, members: &Map<String, Value>, path: &str, report: &mut Report) {
    for member in &shape.members {
        let path = below(path, member.name);
        match (members.get(member.name), &member.kind) {
            (None, _) if member.required && !report.mentions(&path) => report.add(&path, "required"),
            (Some(Value::Object(members)), MemberKind::Object(shape)) => {
                require(shape, members, &path, report)
            }
            (Some(Value::Array(items)), MemberKind::Objects(shape)) => {
                for (n, item) in items.iter().enumerate() {
                    let members = item.as_object().expect("a list of objects was read as one");
                    require(shape, members, &format!("{path}[{n}]"), report);
                }
            }
            _ => {}
        }
    }
}
