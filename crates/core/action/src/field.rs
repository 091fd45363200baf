//! Fields of destinations and origins: how they are spelled and what they take.

/// One field of a destination or an origin.
#[derive(Debug, PartialEq, Eq)]
pub struct Field {
    /// In workflow files, like `routing_key`.
    pub name: &'static str,
    /// In job documents, like `routingKey`.
    pub member: &'static str,
    pub kind: FieldKind,
    pub required: bool,
    /// One sentence for people, also in the description of the API.
    pub doc: &'static str,
}

/// What a field takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldKind {
    /// A text that must not be empty.
    Name,
    /// A text that may be empty.
    Text,
    Flag,
    /// One of these words.
    Choice(&'static [&'static str]),
}

/// The value of a field: `T` is a template in workflow files, a string in job documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldValue<T> {
    Text(T),
    Flag(bool),
    Choice(&'static str),
}

/// The values of the fields that are written, by the names of the fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldValues<T>(Vec<(&'static str, FieldValue<T>)>);

impl Field {
    /// A text that must be there and must not be empty.
    pub(crate) const fn name(name: &'static str, member: &'static str, doc: &'static str) -> Field {
        Field { name, member, kind: FieldKind::Name, required: true, doc }
    }

    /// A text that may be empty or absent.
    pub(crate) const fn text(name: &'static str, member: &'static str, doc: &'static str) -> Field {
        Field { name, member, kind: FieldKind::Text, required: false, doc }
    }

    pub(crate) const fn flag(name: &'static str, member: &'static str, doc: &'static str) -> Field {
        Field { name, member, kind: FieldKind::Flag, required: false, doc }
    }

    pub(crate) const fn choice(
        name: &'static str,
        member: &'static str,
        words: &'static [&'static str],
        doc: &'static str,
    ) -> Field {
        Field { name, member, kind: FieldKind::Choice(words), required: false, doc }
    }

    pub(crate) const fn optional(self) -> Field {
        Field { required: false, ..self }
    }
}

impl<T> Default for FieldValues<T> {
    fn default() -> FieldValues<T> {
        FieldValues(Vec::new())
    }
}

impl<T> FieldValues<T> {
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &FieldValue<T>)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }

    pub fn push(&mut self, field: &Field, value: FieldValue<T>) {
        self.0.push((field.name, value));
    }

    /// The same values with each text replaced by what `change` makes of it; stops at its first error.
    pub fn try_map<U, E>(
        self,
        mut change: impl FnMut(&'static str, T) -> Result<U, E>,
    ) -> Result<FieldValues<U>, E> {
        let change_one = |(name, value)| {
            let value = match value {
                FieldValue::Text(text) => FieldValue::Text(change(name, text)?),
                FieldValue::Flag(flag) => FieldValue::Flag(flag),
                FieldValue::Choice(word) => FieldValue::Choice(word),
            };
            Ok((name, value))
        };
        Ok(FieldValues(self.0.into_iter().map(change_one).collect::<Result<_, E>>()?))
    }

    pub(crate) fn with_text(mut self, name: &'static str, text: Option<T>) -> FieldValues<T> {
        self.0.extend(text.map(|text| (name, FieldValue::Text(text))));
        self
    }

    pub(crate) fn with_flag(mut self, name: &'static str, flag: Option<bool>) -> FieldValues<T> {
        self.0.extend(flag.map(|flag| (name, FieldValue::Flag(flag))));
        self
    }

    pub(crate) fn with_choice(mut self, name: &'static str, word: Option<&'static str>) -> FieldValues<T> {
        self.0.extend(word.map(|word| (name, FieldValue::Choice(word))));
        self
    }

    pub(crate) fn take_text(&mut self, name: &str) -> Option<T> {
        match self.take(name)? {
            FieldValue::Text(text) => Some(text),
            FieldValue::Flag(_) | FieldValue::Choice(_) => None,
        }
    }

    pub(crate) fn take_flag(&mut self, name: &str) -> Option<bool> {
        match self.take(name)? {
            FieldValue::Flag(flag) => Some(flag),
            FieldValue::Text(_) | FieldValue::Choice(_) => None,
        }
    }

    pub(crate) fn take_choice(&mut self, name: &str) -> Option<&'static str> {
        match self.take(name)? {
            FieldValue::Choice(word) => Some(word),
            FieldValue::Text(_) | FieldValue::Flag(_) => None,
        }
    }

    fn take(&mut self, name: &str) -> Option<FieldValue<T>> {
        let at = self.0.iter().position(|(known, _)| *known == name)?;
        Some(self.0.swap_remove(at).1)
    }
}
