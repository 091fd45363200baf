//! Reads an expression's syntax tree before it is compiled: refuses what must not run, finds what it uses.

use std::collections::BTreeSet;

use jaq_core::load::lex::{self, StrPart};
use jaq_core::load::parse::{self, BinaryOp, Pattern, Term};
use jaq_core::load::{Lexer, Parser};
use jaq_core::path::Part;

use super::functions::{ALLOWED, ALLOWED_FORMATS};
use super::plain::segment;
use crate::json::Segment;
use crate::limits::{EXPRESSION_BYTES_MAX, EXPRESSION_DEPTH_MAX};
use types::problem::did_you_mean;

/// The syntax tree of `source`, or why it cannot be one, with the column where it goes wrong.
pub(super) fn parse(source: &str) -> Result<Term<&str>, String> {
    if source.len() > EXPRESSION_BYTES_MAX {
        return Err(format!("an expression has at most {EXPRESSION_BYTES_MAX} bytes"));
    }
    // The lexer and the parser call themselves for each bracket; nothing else nests deeper than it is long.
    let mut brackets = 0usize;
    for c in source.chars() {
        match c {
            '(' | '[' | '{' => brackets += 1,
            ')' | ']' | '}' => brackets = brackets.saturating_sub(1),
            _ => {}
        }
        if brackets > EXPRESSION_DEPTH_MAX {
            return Err(too_deep());
        }
    }
    let tokens = Lexer::new(source).lex().map_err(|errors| lex_message(source, &errors))?;
    let parsed = Parser::new(&tokens).parse(|parser| parser.term());
    let term = parsed.map_err(|errors| parse_message(source, &errors))?;
    check(&term, 0)?;
    Ok(term)
}

fn too_deep() -> String {
    format!("an expression nests at most {EXPRESSION_DEPTH_MAX} levels")
}

/// The column of `part`, which is a slice of `source`, counted from 1.
fn column(source: &str, part: &str) -> usize {
    let start = (part.as_ptr() as usize).checked_sub(source.as_ptr() as usize);
    let before = start.and_then(|start| source.get(..start)).unwrap_or(source);
    before.chars().count() + 1
}

fn lex_message(source: &str, errors: &[lex::Error<&str>]) -> String {
    let Some((expected, found)) = errors.first() else { return "cannot be read".to_owned() };
    let found_at = column(source, found);
    format!("expected {} at column {found_at} of the expression{}", expected.as_str(), but_found(found))
}

fn parse_message(source: &str, errors: &[parse::TError<'_, &str>]) -> String {
    let Some((expected, found)) = errors.first() else { return "cannot be read".to_owned() };
    let found = lex::Token::opt_as_str(*found, source);
    let found_at = column(source, found);
    format!("expected {} at column {found_at} of the expression{}", expected.as_str(), but_found(found))
}

fn but_found(found: &str) -> String {
    let word: String = found.chars().take_while(|c| !c.is_whitespace()).take(20).collect();
    if word.is_empty() { ", but it ends there".to_owned() } else { format!(", found '{word}'") }
}

/// Refuses definitions, functions that are not on the list, and nesting that would use up the stack.
fn check(term: &Term<&str>, depth: usize) -> Result<(), String> {
    if depth > EXPRESSION_DEPTH_MAX {
        return Err(too_deep());
    }
    match term {
        Term::Def(..) => return Err("'def' is not available in expressions".to_owned()),
        Term::Call(name, arguments) => check_call(name, arguments.len())?,
        Term::Str(Some(format), _) => check_format(format)?,
        // The parser hands a lone format on as a call of that name; here it is a variable's turn.
        Term::Var(name) if matches!(*name, "$ENV" | "$__loc__" | "$__prog_args") => {
            return Err(format!("'{name}' is not available in expressions"));
        }
        _ => {}
    }
    let mut result = Ok(());
    each_part(term, &mut |part| {
        if result.is_ok() {
            result = check(part, depth + 1);
        }
    });
    result
}

fn check_format(format: &str) -> Result<(), String> {
    if ALLOWED_FORMATS.contains(&format) {
        return Ok(());
    }
    Err(format!("format '{format}' is not available; there are {}", ALLOWED_FORMATS.join(", ")))
}

fn check_call(name: &str, arguments: usize) -> Result<(), String> {
    if name.starts_with('@') {
        return check_format(name);
    }
    match ALLOWED.iter().find(|(allowed, _)| *allowed == name) {
        Some((_, counts)) if counts.contains(&arguments) => Ok(()),
        Some((_, counts)) => {
            let counts: Vec<_> = counts.iter().map(usize::to_string).collect();
            let counts = counts.join(" or ");
            Err(format!(
                "function '{name}' cannot be called with {arguments} arguments here; it takes {counts}"
            ))
        }
        None => {
            let hint = did_you_mean(name, ALLOWED.iter().map(|(name, _)| *name));
            Err(format!("function '{name}' is not available in expressions{hint}"))
        }
    }
}

/// Calls `visit` with each term directly inside `term`.
fn each_part<'t, 's>(term: &'t Term<&'s str>, visit: &mut dyn FnMut(&'t Term<&'s str>)) {
    match term {
        Term::Id | Term::Recurse | Term::Num(_) | Term::Break(_) | Term::Var(_) => {}
        Term::Str(_, parts) => each_string_part(parts, visit),
        Term::Arr(inner) => inner.iter().for_each(|inner| visit(inner)),
        Term::Obj(fields) => {
            for (key, value) in fields {
                visit(key);
                value.iter().for_each(&mut *visit);
            }
        }
        Term::Neg(inner) | Term::Label(_, inner) => visit(inner),
        Term::BinOp(left, operator, right) => {
            visit(left);
            if let BinaryOp::Pipe(Some(pattern)) = operator {
                each_pattern_part(pattern, visit);
            }
            visit(right);
        }
        Term::Fold(_, values, pattern, arguments) => {
            visit(values);
            each_pattern_part(pattern, visit);
            arguments.iter().for_each(visit);
        }
        Term::TryCatch(tried, caught) => {
            visit(tried);
            caught.iter().for_each(|caught| visit(caught));
        }
        Term::IfThenElse(branches, otherwise) => {
            for (condition, then) in branches {
                visit(condition);
                visit(then);
            }
            otherwise.iter().for_each(|otherwise| visit(otherwise));
        }
        Term::Def(definitions, inner) => {
            definitions.iter().for_each(|definition| visit(&definition.body));
            visit(inner);
        }
        Term::Call(_, arguments) => arguments.iter().for_each(visit),
        Term::Path(inner, path) => {
            visit(inner);
            each_index(path, visit);
        }
    }
}

fn each_string_part<'t, 's>(
    parts: &'t [StrPart<&'s str, Term<&'s str>>],
    visit: &mut dyn FnMut(&'t Term<&'s str>),
) {
    for part in parts {
        if let StrPart::Term(term) = part {
            visit(term);
        }
    }
}

fn each_index<'t, 's>(
    path: &'t jaq_core::path::Path<Term<&'s str>>,
    visit: &mut dyn FnMut(&'t Term<&'s str>),
) {
    for (part, _) in &path.0 {
        match part {
            Part::Index(index) => visit(index),
            Part::Range(from, to) => from.iter().chain(to).for_each(&mut *visit),
        }
    }
}

fn each_pattern_part<'t, 's>(pattern: &'t Pattern<&'s str>, visit: &mut dyn FnMut(&'t Term<&'s str>)) {
    match pattern {
        Pattern::Var(_) => {}
        Pattern::Arr(patterns) => patterns.iter().for_each(|pattern| each_pattern_part(pattern, visit)),
        Pattern::Obj(fields) => {
            for (key, pattern) in fields {
                visit(key);
                each_pattern_part(pattern, visit);
            }
        }
    }
}

/// The names of all functions that a term calls.
pub(super) fn calls<'s>(term: &Term<&'s str>, names: &mut BTreeSet<&'s str>) {
    match term {
        Term::Call(name, _) => {
            names.insert(name);
        }
        Term::Str(Some(format), _) => {
            names.insert(format);
        }
        _ => {}
    }
    each_part(term, &mut |part| calls(part, names));
}

/// What an expression takes from its input.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Uses {
    /// The input as a whole, so that no part of it can be left out.
    pub all: bool,
    /// The first and, where it is plain, the second name of each path into the input.
    pub fields: BTreeSet<(String, Option<String>)>,
}

impl Uses {
    pub(super) fn of(term: &Term<&str>) -> Uses {
        let mut uses = Uses::default();
        uses.follow(term);
        uses
    }

    /// Follows the terms whose input is the expression's own input.
    fn follow(&mut self, term: &Term<&str>) {
        match term {
            Term::Num(_) | Term::Var(_) | Term::Break(_) => {}
            Term::Id | Term::Recurse | Term::Def(..) => self.all = true,
            Term::Path(inner, path) if matches!(**inner, Term::Id) => {
                self.start(path);
                each_index(path, &mut |index| self.follow(index));
            }
            Term::Call(name, _) if !matches!(*name, "true" | "false" | "null" | "empty") => self.all = true,
            Term::BinOp(left, BinaryOp::Pipe(None), _) => self.follow(left),
            Term::BinOp(_, operator, _) if updates(operator) => self.all = true,
            Term::Fold(_, values, _, arguments) => {
                self.follow(values);
                arguments.first().iter().for_each(|init| self.follow(init));
            }
            Term::TryCatch(tried, _) => self.follow(tried),
            Term::IfThenElse(_, None) => self.all = true,
            _ => each_part(term, &mut |part| self.follow(part)),
        }
    }

    fn start(&mut self, path: &jaq_core::path::Path<Term<&str>>) {
        let field = |n: usize| match path.0.get(n) {
            Some((Part::Index(index), _)) => match segment(index) {
                Some(Segment::Field(name)) => Some(String::from(name)),
                _ => None,
            },
            _ => None,
        };
        match field(0) {
            Some(first) => {
                self.fields.insert((first, field(1)));
            }
            None => self.all = true,
        }
    }
}

fn updates(operator: &BinaryOp<&str>) -> bool {
    matches!(operator, BinaryOp::Assign | BinaryOp::Update | BinaryOp::UpdateMath(_) | BinaryOp::UpdateAlt)
}
