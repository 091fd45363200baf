//! A tree of JSON as the validator of schemas sees it: what it validates is what was read, not a copy.

use std::borrow::Cow;

use jsonschema::JsonType;
use jsonschema_value::{Array, Json, LazyInstance, Node, NodeIdentity, Object, cmp};
use serde_json::{Number, Value};

use crate::json::{ArrayItems, Fields, FieldsIter, ItemsIter, NodeRef, Shape, Tree};

/// The representation of JSON that is a [`Tree`]. The tree's numbers must be in range.
pub(super) struct Instance;

impl Json for Instance {
    type Node<'a> = NodeRef<'a>;
    type PreparedKey = Box<str>;
    type StringBuffer = Tree<'static>;

    /// A lookup goes through half of the names, one by one.
    const KEYS_PER_LOOKUP: usize = 3;

    fn prepare_key(key: &str) -> Box<str> {
        key.into()
    }

    fn with_string_node<T>(buffer: &mut Tree<'static>, string: &str, f: impl FnOnce(NodeRef<'_>) -> T) -> T {
        buffer.set_text(string);
        f(buffer.root())
    }
}

impl<'a> Node<'a, Instance> for NodeRef<'a> {
    type Object = Fields<'a>;
    type Array = ArrayItems<'a>;
    type Number = Number;

    fn as_object(&self) -> Option<Fields<'a>> {
        self.fields()
    }

    fn as_array(&self) -> Option<ArrayItems<'a>> {
        self.items()
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        self.text().map(Cow::Borrowed)
    }

    fn as_number(&self) -> Option<Number> {
        match self.shape() {
            Shape::Number(digits) => Some(number(digits)),
            _ => None,
        }
    }

    fn as_boolean(&self) -> Option<bool> {
        match self.shape() {
            Shape::Bool(value) => Some(value),
            _ => None,
        }
    }

    fn is_null(&self) -> bool {
        matches!(self.shape(), Shape::Null)
    }

    fn is_number(&self) -> bool {
        matches!(self.shape(), Shape::Number(_))
    }

    fn json_type(&self) -> JsonType {
        match self.shape() {
            Shape::Null => JsonType::Null,
            Shape::Bool(_) => JsonType::Boolean,
            Shape::Number(_) => JsonType::Number,
            Shape::Text(_) => JsonType::String,
            Shape::Array(_) => JsonType::Array,
            Shape::Object(_) => JsonType::Object,
        }
    }

    fn equals_value(&self, expected: &Value) -> bool {
        match (self.shape(), expected) {
            (Shape::Null, Value::Null) => true,
            (Shape::Bool(value), Value::Bool(expected)) => value == *expected,
            (Shape::Number(digits), Value::Number(_)) => cmp::equal(&Value::Number(number(digits)), expected),
            (Shape::Text(text), Value::String(expected)) => text == expected,
            (Shape::Array(items), Value::Array(expected)) => {
                items.len() == expected.len()
                    && items.iter().zip(expected).all(|(item, expected)| item.equals_value(expected))
            }
            (Shape::Object(fields), Value::Object(expected)) => {
                let equals = |(name, expected): (&String, &Value)| {
                    Fields::get(fields, name).is_some_and(|field| field.equals_value(expected))
                };
                Fields::len(fields) == expected.len() && expected.iter().all(equals)
            }
            _ => false,
        }
    }

    fn to_value(&self) -> Cow<'a, Value> {
        Cow::Owned(NodeRef::to_value(*self))
    }

    /// Messages leave out what a client sent: a value for each problem would mostly be made for nothing,
    /// and a large body can have many problems.
    fn lazy_value(&self) -> LazyInstance<'a> {
        let bytes = self.json().as_bytes();
        if bytes.is_empty() {
            return LazyInstance::Ready(Node::to_value(self));
        }
        let make =
            |bytes: &[u8], _| serde_json::from_slice(bytes).expect("a tree in range is JSON to others too");
        LazyInstance::Deferred { bytes, tag: 0, make, cell: Default::default() }
    }

    fn identity(&self) -> Option<NodeIdentity> {
        let (tree, place) = NodeRef::identity(*self);
        Some(NodeIdentity::tagged(tree, place))
    }
}

fn number(digits: &str) -> Number {
    digits.parse().expect("a number in range is one to others too")
}

impl<'a> Object<'a, Instance> for Fields<'a> {
    type Node = NodeRef<'a>;
    type MemberName = &'a str;
    type MembersIter = FieldsIter<'a>;

    fn len(&self) -> usize {
        Fields::len(*self)
    }

    fn get(&self, key: &Box<str>) -> Option<NodeRef<'a>> {
        Fields::get(*self, key)
    }

    fn members(&self) -> FieldsIter<'a> {
        self.iter()
    }
}

impl<'a> Array<'a, Instance> for ArrayItems<'a> {
    type Node = NodeRef<'a>;
    type ElementsIter = ItemsIter<'a>;

    fn len(&self) -> usize {
        ArrayItems::len(*self)
    }

    fn elements(&self) -> ItemsIter<'a> {
        self.iter()
    }
}
