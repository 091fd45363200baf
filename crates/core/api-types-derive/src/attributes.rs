//! What the attributes of a type or member say: `serde`, `schema` and doc comments.

use proc_macro2::TokenStream as Tokens;
use quote::quote;
use syn::meta::ParseNestedMeta;
use syn::parse::Parse;
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, ExprLit, Lit, LitStr, Meta, Token, Type, parenthesized};

/// Of a type or of a member; each has only some of these.
#[derive(Default)]
pub(crate) struct Attributes {
    pub name: Option<String>,
    /// Whether clients write it.
    pub input: bool,
    pub description: String,
    pub rename: Option<String>,
    pub rename_all: Option<String>,
    pub default: bool,
    pub deny_unknown_fields: bool,
    pub flatten: bool,
    /// Whether serde may leave it out when it writes.
    pub skipped: bool,
    pub optional: bool,
    pub nullable: bool,
    pub required: Vec<String>,
    pub described_as: Option<Type>,
    /// Further keywords of the schema.
    pub keywords: Vec<(String, Tokens)>,
}

impl Attributes {
    pub(crate) fn read(attributes: &[Attribute]) -> syn::Result<Attributes> {
        let mut read = Attributes::default();
        let mut lines = Vec::new();
        for attribute in attributes {
            if attribute.path().is_ident("doc")
                && let Meta::NameValue(doc) = &attribute.meta
                && let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = &doc.value
            {
                lines.push(text.value().trim().to_owned());
            } else if attribute.path().is_ident("serde") {
                attribute.parse_nested_meta(|meta| read.serde(&meta))?;
            } else if attribute.path().is_ident("schema") {
                attribute.parse_nested_meta(|meta| read.schema(&meta))?;
            }
        }
        read.description = lines.join(" ").trim().to_owned();
        Ok(read)
    }

    fn serde(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        let value =
            if meta.input.peek(Token![=]) { Some(meta.value()?.parse::<LitStr>()?.value()) } else { None };
        let word = meta.path.require_ident()?.to_string();
        match (word.as_str(), value) {
            ("rename", value) => self.rename = value,
            ("rename_all", value) => self.rename_all = value,
            ("default", _) => self.default = true,
            ("deny_unknown_fields", _) => self.deny_unknown_fields = true,
            ("flatten", _) => self.flatten = true,
            ("skip_serializing_if", _) => self.skipped = true,
            (word, _) => return Err(meta.error(format!("a schema cannot be derived with serde({word})"))),
        }
        Ok(())
    }

    fn schema(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        let word = meta.path.require_ident()?.to_string();
        match word.as_str() {
            "name" => self.name = Some(meta.value()?.parse::<LitStr>()?.value()),
            "input" => self.input = true,
            "optional" => self.optional = true,
            "nullable" => self.nullable = true,
            "like" => self.described_as = Some(Type::parse(meta.value()?)?),
            "required" => self.required = texts(meta)?,
            "one_of" => {
                let values = texts(meta)?;
                self.keywords.push(("enum".to_owned(), quote! { [#(#values),*] }));
            }
            word => {
                let value: Lit = meta.value()?.parse()?;
                self.keywords.push((camel(word), quote! { #value }));
            }
        }
        Ok(())
    }
}

fn texts(meta: &ParseNestedMeta<'_>) -> syn::Result<Vec<String>> {
    let content;
    parenthesized!(content in meta.input);
    let texts = Punctuated::<LitStr, Token![,]>::parse_terminated(&content)?;
    Ok(texts.iter().map(LitStr::value).collect())
}

/// The name of a member or variant as serde writes it.
pub(crate) fn renamed(ident: &str, rule: &Option<String>) -> String {
    match rule.as_deref() {
        Some("PascalCase") => ident.split('_').map(capital).collect(),
        Some("snake_case") => {
            let mut name = String::new();
            for (index, letter) in ident.char_indices() {
                if letter.is_uppercase() && index > 0 {
                    name.push('_');
                }
                name.extend(letter.to_lowercase());
            }
            name
        }
        _ => ident.to_owned(),
    }
}

fn camel(word: &str) -> String {
    let mut parts = word.split('_');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |name, part| name + &capital(part))
}

fn capital(part: &str) -> String {
    let mut letters = part.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}
