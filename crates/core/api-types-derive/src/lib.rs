//! `#[derive(ApiSchema)]`: describes a type of the API from its members, their doc comments and their serde attributes.
//!
//! `#[schema(name = "Run")]` gives a type its name in the document; `input` marks one that clients write, whose members are
//! required unless serde has a default for them. On a member, `like = Type` describes it like another type, `one_of("a", "b")`
//! lists its values, `nullable`, `optional` and `required("a")` correct what serde's attributes cannot say, and any other
//! `key = literal` becomes a keyword of the schema (`max_length = 64` is `maxLength`).

mod attributes;

use proc_macro::TokenStream;
use proc_macro2::TokenStream as Tokens;
use quote::quote;
use syn::{Data, DeriveInput, Field, Fields, GenericArgument, PathArguments, Type, parse_macro_input};

use attributes::{Attributes, renamed};

#[proc_macro_derive(ApiSchema, attributes(schema))]
pub fn derive_api_schema(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    describe(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

fn describe(input: &DeriveInput) -> syn::Result<Tokens> {
    let attributes = Attributes::read(&input.attrs)?;
    match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => {
                let members = fields.named.iter().map(|field| member(field, &attributes));
                object(input, &attributes, members.collect::<syn::Result<Vec<_>>>()?)
            }
            _ => Err(syn::Error::new_spanned(input, "only structs with named members are objects")),
        },
        Data::Enum(data) => {
            let name = |variant: &syn::Variant| match variant.fields {
                Fields::Unit => Ok(renamed(&variant.ident.to_string(), &attributes.rename_all)),
                _ => Err(syn::Error::new_spanned(variant, "only variants without data are words")),
            };
            let names = data.variants.iter().map(name).collect::<syn::Result<Vec<_>>>()?;
            Ok(words(input, &attributes, &names))
        }
        Data::Union(_) => Err(syn::Error::new_spanned(input, "a union cannot be described")),
    }
}

fn object(input: &DeriveInput, attributes: &Attributes, members: Vec<Tokens>) -> syn::Result<Tokens> {
    let ident = &input.ident;
    let name = attributes.name.clone();
    let name = name
        .ok_or_else(|| syn::Error::new_spanned(input, "give the object a name: #[schema(name = \"…\")]"))?;
    let description = &attributes.description;
    let close = attributes.deny_unknown_fields.then(|| quote! { object.refuse_unknown(); });
    Ok(quote! {
        impl ::api_types::ApiObject for #ident {
            fn members(object: &mut ::api_types::ObjectSchema, components: &mut ::api_types::Components) {
                #(#members)*
            }
        }
        impl ::api_types::ApiSchema for #ident {
            fn schema(components: &mut ::api_types::Components) -> ::serde_json::Value {
                components.named::<Self>(#name, |components| {
                    let mut object = ::api_types::ObjectSchema::new(#description);
                    <Self as ::api_types::ApiObject>::members(&mut object, components);
                    #close
                    object.finish()
                })
            }
        }
    })
}

fn words(input: &DeriveInput, attributes: &Attributes, names: &[String]) -> Tokens {
    let ident = &input.ident;
    let description = &attributes.description;
    let schema = quote! { ::api_types::words(&[#(#names),*], #description) };
    let body = match &attributes.name {
        Some(name) => quote! { components.named::<Self>(#name, |_| #schema) },
        None => quote! { let _ = components; ::api_types::words(&[#(#names),*], "") },
    };
    quote! {
        impl ::api_types::ApiSchema for #ident {
            fn schema(components: &mut ::api_types::Components) -> ::serde_json::Value { #body }
        }
    }
}

/// The statement that adds a member to an object.
fn member(field: &Field, container: &Attributes) -> syn::Result<Tokens> {
    let attributes = Attributes::read(&field.attrs)?;
    let ty = &field.ty;
    if attributes.flatten {
        let required = &attributes.required;
        let narrow = (!required.is_empty()).then(|| quote! { object.require_only(&[#(#required),*]); });
        return Ok(quote! { <#ty as ::api_types::ApiObject>::members(object, components); #narrow });
    }
    let ident = field.ident.as_ref().expect("a named member has a name").to_string();
    let name = attributes.rename.clone().unwrap_or_else(|| renamed(&ident, &container.rename_all));
    let has_default = attributes.default || container.default;
    let inner = option_of(ty);
    let absent = if container.input { has_default || inner.is_some() } else { attributes.skipped };
    let required = !absent && !attributes.optional;
    // An absent member and a null one are the same to serde, but only the first is what the API writes.
    let described = attributes.described_as.as_ref().or(inner.filter(|_| absent)).unwrap_or(ty);
    let schema = quote! { <#described as ::api_types::ApiSchema>::schema(components) };
    let schema = if attributes.nullable {
        quote! { ::api_types::nullable(#schema) }
    } else {
        schema
    };
    let (description, keywords) = (&attributes.description, &attributes.keywords);
    let keywords = keywords.iter().map(|(key, value)| quote! { (#key, ::serde_json::json!(#value)) });
    Ok(quote! {
        let schema = #schema;
        object.member(#name, #required, schema, #description, &[#(#keywords),*]);
    })
}

/// `T` of `Option<T>`.
fn option_of(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last().filter(|segment| segment.ident == "Option")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first()? {
        GenericArgument::Type(inner) => Some(inner),
        _ => None,
    }
}
