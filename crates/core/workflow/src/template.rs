//! Text with `${ expression }` parts, and bodies made of such text.

use crate::expression::Expression;
use crate::json;
use crate::yaml::{Node, YamlKind, join};

/// Text in which expressions stand.
#[derive(Debug)]
pub(crate) struct Template {
    pub parts: Vec<TemplatePart>,
}

#[derive(Debug)]
pub(crate) enum TemplatePart {
    Text(String),
    Value(Expression),
}

/// A body: what it is made of decides how it is sent.
#[derive(Debug)]
pub(crate) enum Body {
    /// Sent as it is.
    Text(Template),
    /// JSON, or the text itself when the value is text.
    Value(Expression),
    /// JSON around values.
    Json(Vec<Chunk>),
}

#[derive(Debug)]
pub(crate) enum Chunk {
    /// Finished JSON.
    Json(Vec<u8>),
    /// A value of any type.
    Value(Expression),
    /// A JSON string made of text and values.
    Text(Template),
}

impl Template {
    /// Reads text with `${ … }` parts; `$${` stands for `${` itself.
    pub(crate) fn parse(text: &str) -> Result<Template, String> {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(start) = rest.find("${") {
            if rest[..start].ends_with('$') {
                literal.push_str(&rest[..start]);
                literal.push('{');
                rest = &rest[start + 2..];
                continue;
            }
            literal.push_str(&rest[..start]);
            let inside = &rest[start + 2..];
            let end = expression_end(inside)?;
            if !literal.is_empty() {
                parts.push(TemplatePart::Text(std::mem::take(&mut literal)));
            }
            let source = inside[..end].trim();
            let named = |message| format!("expression {}: {message}", types::problem::quote(source));
            parts.push(TemplatePart::Value(Expression::compile(source).map_err(named)?));
            rest = &inside[end + 1..];
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            parts.push(TemplatePart::Text(literal));
        }
        Ok(Template { parts })
    }

    /// The text, when no expression stands in it.
    pub(crate) fn as_literal(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [TemplatePart::Text(text)] => Some(text),
            _ => None,
        }
    }

    pub(crate) fn expressions(&self) -> impl Iterator<Item = &Expression> {
        self.parts.iter().filter_map(|part| match part {
            TemplatePart::Value(expression) => Some(expression),
            TemplatePart::Text(_) => None,
        })
    }

    /// The template as it was written.
    pub(crate) fn source(&self) -> String {
        let part = |part: &TemplatePart| match part {
            TemplatePart::Text(text) => text.clone(),
            TemplatePart::Value(expression) => format!("${{{}}}", expression.source()),
        };
        self.parts.iter().map(part).collect()
    }
}

/// Where the expression at the start of `text` ends: at the first `}` that leaves a whole expression.
fn expression_end(text: &str) -> Result<usize, String> {
    let candidates = text.match_indices('}').map(|(at, _)| at);
    let within = candidates.take_while(|at| *at <= crate::limits::EXPRESSION_BYTES_MAX);
    let mut first = None;
    for at in within {
        if jaq_core::load::Lexer::new(&text[..at]).lex().is_ok() {
            return Ok(at);
        }
        first = first.or(Some(at));
    }
    // Nothing ends well, but something ends: let the compiler say what is wrong with it.
    first.ok_or_else(|| "'${' without its '}'; to write it as text use '$${'".to_owned())
}

/// Whether a text in a place that takes expressions is one as a whole.
pub(crate) fn is_expression(text: &str) -> bool {
    text.starts_with('.')
}

impl Body {
    /// Reads a body that stands at `path`. `visit` is shown each expression where it stands, or why a text
    /// cannot be read.
    pub(crate) fn read(node: &Node, path: &str, visit: Visit<'_>) -> Body {
        let YamlKind::Text(text) = &node.kind else {
            let mut chunks = Vec::new();
            read_json(node, path, &mut chunks, visit);
            return Body::Json(chunks);
        };
        match visited_text(text, node, path, visit) {
            Some(Text::Value(expression)) => Body::Value(expression),
            Some(Text::Mixed(template)) => Body::Text(template),
            Some(Text::Literal(text)) => Body::Text(Template { parts: vec![TemplatePart::Text(text)] }),
            None => Body::Json(Vec::new()),
        }
    }
}

/// Is shown the dotted path and the node of each expression of a body.
pub(crate) type Visit<'v> = &'v mut dyn FnMut(&str, &Node, Result<&Expression, String>);

/// A text of a body.
enum Text {
    Literal(String),
    Value(Expression),
    Mixed(Template),
}

fn read_text(text: &str) -> Result<Text, String> {
    if is_expression(text) {
        let hint = "text that begins with '.' is written '${\".…\"}'";
        let named = |message| format!("expression {}: {message}; {hint}", types::problem::quote(text));
        return Expression::compile(text).map(Text::Value).map_err(named);
    }
    let mut template = Template::parse(text)?;
    if let Some(text) = template.as_literal() {
        return Ok(Text::Literal(text.to_owned()));
    }
    match template.parts.pop() {
        Some(TemplatePart::Value(expression)) if template.parts.is_empty() => Ok(Text::Value(expression)),
        last => {
            template.parts.extend(last);
            Ok(Text::Mixed(template))
        }
    }
}

fn visited_text(text: &str, node: &Node, path: &str, visit: Visit<'_>) -> Option<Text> {
    match read_text(text) {
        Ok(text) => {
            match &text {
                Text::Literal(_) => {}
                Text::Value(expression) => visit(path, node, Ok(expression)),
                Text::Mixed(template) => {
                    template.expressions().for_each(|expression| visit(path, node, Ok(expression)));
                }
            }
            Some(text)
        }
        Err(message) => {
            visit(path, node, Err(message));
            None
        }
    }
}

fn quoted(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    json::write_text(&mut out, text);
    out
}

fn read_json(node: &Node, path: &str, chunks: &mut Vec<Chunk>, visit: Visit<'_>) {
    match &node.kind {
        YamlKind::Null => push(chunks, b"null"),
        YamlKind::Bool(value) => push(chunks, value.to_string().as_bytes()),
        YamlKind::Number(number) => push(chunks, number.to_string().as_bytes()),
        YamlKind::Text(text) => match visited_text(text, node, path, visit) {
            Some(Text::Literal(text)) => push(chunks, &quoted(&text)),
            Some(Text::Value(expression)) => chunks.push(Chunk::Value(expression)),
            Some(Text::Mixed(template)) => chunks.push(Chunk::Text(template)),
            None => {}
        },
        YamlKind::List(items) => {
            push(chunks, b"[");
            for (n, item) in items.iter().enumerate() {
                if n > 0 {
                    push(chunks, b",");
                }
                read_json(item, &format!("{path}[{n}]"), chunks, visit);
            }
            push(chunks, b"]");
        }
        YamlKind::Map(entries) => {
            push(chunks, b"{");
            for (n, entry) in entries.iter().enumerate() {
                if n > 0 {
                    push(chunks, b",");
                }
                push(chunks, &quoted(&entry.key));
                push(chunks, b":");
                read_json(&entry.value, &join(path, &entry.key), chunks, visit);
            }
            push(chunks, b"}");
        }
    }
}

/// Appends finished JSON, to the last chunk where that is finished JSON too.
fn push(chunks: &mut Vec<Chunk>, json: &[u8]) {
    match chunks.last_mut() {
        Some(Chunk::Json(last)) => last.extend_from_slice(json),
        _ => chunks.push(Chunk::Json(json.to_vec())),
    }
}

#[cfg(test)]
mod tests;
