//! A JSON text as one flat tree: read once, in full, and looked into from there.

use serde_json::Value;

use super::read::read;
use super::{InvalidJson, Segment, cannot_look, check, item_at};

/// Fields beyond which an object keeps its names in order, so that one is found without a look at each.
pub(super) const FIELDS_SCANNED_MAX: u32 = 32;

/// A valid JSON text, at most [`JSON_DEPTH_MAX`](crate::limits::JSON_DEPTH_MAX) levels deep, and where its
/// parts are. Of equal names in an object only the last is there, as in every JSON reader we know.
#[derive(Debug, Default)]
pub(crate) struct Tree<'a> {
    /// The values in the order of the text; a field's name comes right before its value.
    pub(super) nodes: Vec<Node<'a>>,
    /// What the texts and names that are written with escapes mean.
    pub(super) decoded: Vec<String>,
    /// The places of the names of each wide object, in the order of the names.
    pub(super) ordered: Vec<u32>,
    pub(super) has_number_out_of_range: bool,
}

#[derive(Debug)]
pub(super) struct Node<'a> {
    /// The value's text as it was sent; a name's without the quotes.
    pub text: &'a str,
    pub kind: NodeKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeKind {
    Null,
    Bool(bool),
    Number,
    Text,
    Name,
    /// A text or a name, by its place among the decoded ones.
    Escaped(u32),
    /// A name that comes again further on: neither it nor its value counts.
    Shadowed,
    /// `end` is the position after its last node, here and below.
    Array {
        items: u32,
        end: u32,
    },
    Object {
        fields: u32,
        end: u32,
        ordered: u32,
    },
}

impl<'a> Tree<'a> {
    /// Reads a text, with or without space around it. What is refused is what [`check`] refuses.
    pub(crate) fn new(bytes: &'a [u8]) -> Result<Tree<'a>, InvalidJson> {
        read(bytes).ok_or_else(|| explain(bytes))
    }

    /// Makes this the tree of one text, which is given as it is meant.
    pub(crate) fn set_text(&mut self, text: &str) {
        let mut decoded = self.decoded.pop().unwrap_or_default();
        decoded.clear();
        decoded.push_str(text);
        self.decoded.clear();
        self.decoded.push(decoded);
        self.nodes.clear();
        self.nodes.push(Node { text: "", kind: NodeKind::Escaped(0) });
    }

    /// Refuses the bytes that this was read from when one of the numbers is more than an f64 can hold, like
    /// 1e999.
    pub(crate) fn check_range(&self, bytes: &[u8]) -> Result<(), InvalidJson> {
        if self.has_number_out_of_range { Err(explain_range(bytes)) } else { Ok(()) }
    }

    pub(crate) fn root(&self) -> NodeRef<'_> {
        NodeRef { tree: self, index: 0 }
    }

    /// The text at `path`, `null` where nothing is; an error where a scalar is looked into.
    pub(crate) fn find(&self, path: &[Segment]) -> Result<&str, String> {
        let mut here = self.root();
        for segment in path {
            let next = match (here.shape(), segment) {
                (Shape::Object(fields), Segment::Field(name)) => fields.get(name),
                (Shape::Array(items), Segment::Item(index)) => {
                    item_at(*index, items.len()).and_then(|index| items.iter().nth(index))
                }
                (Shape::Null, _) => None,
                _ => return Err(cannot_look(segment, here.json())),
            };
            match next {
                Some(next) => here = next,
                None => return Ok("null"),
            }
        }
        Ok(here.json())
    }

    #[inline]
    fn node(&self, index: u32) -> &Node<'a> {
        &self.nodes[index as usize]
    }

    /// The name at a place where a name is.
    pub(super) fn name(&self, index: u32) -> &str {
        let node = self.node(index);
        match node.kind {
            NodeKind::Escaped(place) => &self.decoded[place as usize],
            _ => node.text,
        }
    }

    /// The position after a value and everything below it.
    #[inline]
    pub(super) fn after(&self, index: u32) -> u32 {
        match self.node(index).kind {
            NodeKind::Array { end, .. } | NodeKind::Object { end, .. } => end,
            _ => index + 1,
        }
    }
}

/// Why no tree was made of a text; read again, because this is rare and the words are others'.
#[cold]
fn explain(bytes: &[u8]) -> InvalidJson {
    check(bytes).err().unwrap_or_else(|| InvalidJson::Malformed("longer than 4 GiB".to_owned()))
}

#[cold]
fn explain_range(bytes: &[u8]) -> InvalidJson {
    let read = serde_json::from_slice::<Value>(bytes);
    InvalidJson::Malformed(read.err().map_or_else(|| "number out of range".to_owned(), |e| e.to_string()))
}

/// One value of a tree.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NodeRef<'t> {
    tree: &'t Tree<'t>,
    index: u32,
}

impl<'t> NodeRef<'t> {
    /// The value as it was sent; nothing where [`Tree::set_text`] put it.
    pub(crate) fn json(self) -> &'t str {
        self.tree.node(self.index).text
    }

    /// What tells it from every other value of every tree that lives.
    pub(crate) fn identity(self) -> (usize, u32) {
        (std::ptr::from_ref(self.tree).addr(), self.index)
    }

    #[inline]
    pub(crate) fn shape(self) -> Shape<'t> {
        match self.tree.node(self.index).kind {
            NodeKind::Null => Shape::Null,
            NodeKind::Bool(value) => Shape::Bool(value),
            NodeKind::Number => Shape::Number(self.json()),
            NodeKind::Text => {
                let json = self.json();
                Shape::Text(&json[1..json.len() - 1])
            }
            // Names are not values: no place leads to one.
            NodeKind::Name | NodeKind::Escaped(_) | NodeKind::Shadowed => {
                Shape::Text(self.tree.name(self.index))
            }
            NodeKind::Array { items, .. } => Shape::Array(ArrayItems { array: self, count: items }),
            NodeKind::Object { fields, ordered, .. } => {
                Shape::Object(Fields { object: self, count: fields, ordered })
            }
        }
    }

    pub(crate) fn fields(self) -> Option<Fields<'t>> {
        match self.shape() {
            Shape::Object(fields) => Some(fields),
            _ => None,
        }
    }

    pub(crate) fn items(self) -> Option<ArrayItems<'t>> {
        match self.shape() {
            Shape::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The text of a text.
    pub(crate) fn text(self) -> Option<&'t str> {
        match self.shape() {
            Shape::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The value as others hold it. The numbers in it must be in range.
    pub(crate) fn to_value(self) -> Value {
        match self.shape() {
            Shape::Text(text) => Value::from(text),
            _ => serde_json::from_str(self.json()).expect("a tree in range is JSON to others too"),
        }
    }
}

/// What a value is, and what is in it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape<'t> {
    Null,
    Bool(bool),
    /// Its digits as they were sent.
    Number(&'t str),
    /// Without quotes and escapes.
    Text(&'t str),
    Array(ArrayItems<'t>),
    Object(Fields<'t>),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ArrayItems<'t> {
    array: NodeRef<'t>,
    count: u32,
}

impl<'t> ArrayItems<'t> {
    pub(crate) fn len(self) -> usize {
        self.count as usize
    }

    pub(crate) fn iter(self) -> ItemsIter<'t> {
        ItemsIter { tree: self.array.tree, at: self.array.index + 1, left: self.count }
    }
}

pub(crate) struct ItemsIter<'t> {
    tree: &'t Tree<'t>,
    at: u32,
    left: u32,
}

impl<'t> Iterator for ItemsIter<'t> {
    type Item = NodeRef<'t>;

    fn next(&mut self) -> Option<NodeRef<'t>> {
        self.left = self.left.checked_sub(1)?;
        let item = NodeRef { tree: self.tree, index: self.at };
        self.at = self.tree.after(self.at);
        Some(item)
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields<'t> {
    object: NodeRef<'t>,
    count: u32,
    ordered: u32,
}

impl<'t> Fields<'t> {
    pub(crate) fn len(self) -> usize {
        self.count as usize
    }

    pub(crate) fn get(self, name: &str) -> Option<NodeRef<'t>> {
        if self.count <= FIELDS_SCANNED_MAX {
            return self.iter().find(|(field, _)| *field == name).map(|(_, value)| value);
        }
        let tree = self.object.tree;
        let names = &tree.ordered[self.ordered as usize..][..self.len()];
        let found = names.binary_search_by(|place| tree.name(*place).cmp(name)).ok()?;
        Some(NodeRef { tree, index: names[found] + 1 })
    }

    /// The names and values in the order of the text.
    pub(crate) fn iter(self) -> FieldsIter<'t> {
        FieldsIter { tree: self.object.tree, at: self.object.index + 1, left: self.count }
    }
}

pub(crate) struct FieldsIter<'t> {
    tree: &'t Tree<'t>,
    at: u32,
    left: u32,
}

impl<'t> Iterator for FieldsIter<'t> {
    type Item = (&'t str, NodeRef<'t>);

    #[inline]
    fn next(&mut self) -> Option<(&'t str, NodeRef<'t>)> {
        self.left = self.left.checked_sub(1)?;
        loop {
            let name = self.at;
            self.at = self.tree.after(name + 1);
            if self.tree.node(name).kind != NodeKind::Shadowed {
                return Some((self.tree.name(name), NodeRef { tree: self.tree, index: name + 1 }));
            }
        }
    }
}
