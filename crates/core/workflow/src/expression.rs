//! jq expressions: a plain path is a lookup, comparing it with a constant too, everything else is compiled once and runs metered.

mod convert;
mod functions;
mod guard;
mod order;
mod plain;
mod value;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use jaq_core::load::{Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Vars};
use jaq_json::Val;

use self::functions::Data;
use self::value::Value;
use crate::json::Segment;

/// A compiled expression. Shared by threads; each evaluation stays within one call.
pub(crate) struct Expression {
    source: Box<str>,
    program: Program,
    uses: guard::Uses,
}

enum Program {
    Path(Vec<Segment>),
    /// A path that is compared with a word or a text: what most conditions are.
    Equals(Vec<Segment>, plain::Constant),
    Jq(Box<jaq_core::Filter<Data>>),
}

/// What expressions are evaluated over: an object that is looked into only where it is needed.
pub(crate) trait Input {
    /// The JSON text at a path; `null` where nothing is.
    fn find(&self, path: &[Segment]) -> Result<Cow<'_, str>, String>;
    /// The names of the input's fields, or `None` when the input is not such an object.
    fn fields(&self) -> Option<&'static [&'static str]>;
}

impl Expression {
    /// Compiles an expression, or says why it cannot be.
    pub(crate) fn compile(source: &str) -> Result<Expression, String> {
        let term = guard::parse(source)?;
        let program = if let Some(path) = plain::plain_path(&term) {
            Program::Path(path)
        } else if let Some((path, constant)) = plain::plain_equality(&term) {
            Program::Equals(path, constant)
        } else {
            Program::Jq(Box::new(compile_jq(source, &term)?))
        };
        Ok(Expression { source: source.trim().into(), program, uses: guard::Uses::of(&term) })
    }

    /// The text it was compiled from.
    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    /// The name of the field that it looks up, when it does nothing else.
    pub(crate) fn plain_field(&self) -> Option<&str> {
        match &self.program {
            Program::Path(path) => match path.as_slice() {
                [Segment::Field(name)] => Some(name),
                _ => None,
            },
            Program::Equals(..) | Program::Jq(_) => None,
        }
    }

    /// The first and, where it is plain, the second name of each path that it takes from its input.
    pub(crate) fn uses(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.uses.fields.iter().map(|(first, second)| (first.as_str(), second.as_deref()))
    }

    /// The first result as JSON text, at most `bytes_max` long; `None` when there is no result.
    pub(crate) fn evaluate<'i>(
        &self,
        input: &'i dyn Input,
        bytes_max: usize,
    ) -> Result<Option<Cow<'i, str>>, String> {
        match &self.program {
            Program::Path(path) => {
                let found = input.find(path)?;
                if found.len() > bytes_max {
                    return Err(format!("the result is larger than {bytes_max} bytes"));
                }
                Ok(Some(found))
            }
            Program::Equals(path, constant) => {
                let equal = constant.is(&input.find(path)?);
                Ok(Some(Cow::Borrowed(if equal { "true" } else { "false" })))
            }
            Program::Jq(filter) => {
                let input = self.input_value(input)?;
                let first = value::metered(|| run_first(filter, input, bytes_max));
                first.unwrap_or_else(|| Err("the expression takes too many steps".to_owned()))
            }
        }
    }

    /// The input as a value, with only those fields that the expression can reach.
    fn input_value(&self, input: &dyn Input) -> Result<Value, String> {
        let Some(fields) = input.fields() else { return Value::parse(&input.find(&[])?) };
        let mut object = jaq_json::Map::default();
        for name in
            fields.iter().filter(|name| self.uses.all || self.uses().any(|(first, _)| first == **name))
        {
            object.insert(Val::utf8_str(name.as_bytes()), self.field_value(name, input)?);
        }
        Ok(Value(Val::obj(object)))
    }

    /// One field of the input; of those that are always objects only the names that are used. The request
    /// need not be an object, and then it is for the expression to find out.
    fn field_value(&self, name: &'static str, input: &dyn Input) -> Result<Val, String> {
        let field = Segment::Field(name.into());
        let whole = |(first, second): (&str, Option<&str>)| first == name && second.is_none();
        if !matches!(name, "run" | "steps" | "response") || self.uses.all || self.uses().any(whole) {
            return convert::from_json(&input.find(&[field])?);
        }
        let mut object = jaq_json::Map::default();
        for (_, second) in self.uses().filter(|(first, _)| *first == name) {
            let second = second.unwrap_or_default();
            let found = input.find(&[field.clone(), Segment::Field(second.into())])?;
            object.insert(Val::utf8_str(second.as_bytes().to_vec()), convert::from_json(&found)?);
        }
        Ok(Val::obj(object))
    }
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)
    }
}

fn run_first(
    filter: &jaq_core::Filter<Data>,
    input: Value,
    bytes_max: usize,
) -> Result<Option<Cow<'static, str>>, String> {
    let ctx = Ctx::<Data>::new(&filter.lut, Vars::new([]));
    match filter.id.run((ctx, input)).next() {
        None => Ok(None),
        Some(Ok(value)) => convert::to_json(&value.0, bytes_max).map(|text| Some(Cow::Owned(text))),
        // `halt` is not on the list of functions and labels are checked, so only errors come out.
        Some(Err(exception)) => {
            let message = exception.get_err().map_or_else(|_| "broken off".to_owned(), |e| cut(&e));
            Err(message)
        }
    }
}

/// An error's text, cut: it can quote a whole value.
fn cut(error: &value::Error) -> String {
    let text = error.to_string();
    let max = crate::limits::QUOTE_CHARS_MAX;
    let mut short: String = text.chars().take(max).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

fn compile_jq(
    source: &str,
    term: &jaq_core::load::parse::Term<&str>,
) -> Result<jaq_core::Filter<Data>, String> {
    let arena = Arena::default();
    let loader = Loader::new(needed_definitions(term));
    let program = File { code: source, path: () };
    let modules = loader.load(&arena, program).map_err(|_| "cannot be read as one expression".to_owned())?;
    let compiled = Compiler::default().with_funs(functions::natives()).compile(modules);
    compiled.map_err(|errors| {
        let undefined = errors.iter().flat_map(|(_, errors)| errors).next();
        undefined.map_or_else(
            || "does not compile".to_owned(),
            |(name, what)| format!("there is no {} '{name}'", what.as_str()),
        )
    })
}

/// The library definitions that a term can reach: compiling all of them for each expression costs a
/// hundred times more than the expression itself.
fn needed_definitions(
    term: &jaq_core::load::parse::Term<&str>,
) -> Vec<jaq_core::load::parse::Def<&'static str>> {
    let definitions = functions::definitions();
    let mut called: BTreeSet<&str> = BTreeSet::new();
    guard::calls(term, &mut called);
    // Negation, interpolation and the like compile to calls of these.
    called.extend(["tostring", "not", "empty", "error", "true", "false", "null"]);
    let mut needed = vec![false; definitions.len()];
    loop {
        let mut grew = false;
        for (n, definition) in definitions.iter().enumerate() {
            if !needed[n] && called.contains(definition.name) {
                needed[n] = true;
                grew = true;
                guard::calls(&definition.body, &mut called);
            }
        }
        if !grew {
            break;
        }
    }
    definitions.iter().zip(needed).filter(|(_, needed)| *needed).map(|(d, _)| d.clone()).collect()
}

#[cfg(test)]
mod tests;
