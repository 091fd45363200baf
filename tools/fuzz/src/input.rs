//! Bytes read as values: how a target that wants structure makes it of an input.

/// Reads values from the front of an input. Past the end there are zeros, so that every input is a value.
pub struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub fn new(bytes: &'a [u8]) -> Input<'a> {
        Input(bytes)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut array = [0; N];
        let length = N.min(self.0.len());
        let (head, rest) = self.0.split_at(length);
        array[..length].copy_from_slice(head);
        self.0 = rest;
        array
    }

    pub fn u8(&mut self) -> u8 {
        self.array::<1>()[0]
    }

    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    pub fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    pub fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }

    pub fn i64(&mut self) -> i64 {
        i64::from_le_bytes(self.array())
    }

    pub fn flag(&mut self) -> bool {
        self.u8() & 1 == 1
    }

    /// One of a list that is not empty.
    pub fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::from(self.u8()) % choices.len()]
    }

    /// At most `most` values, each made by `make`.
    pub fn list<T>(&mut self, most: u8, mut make: impl FnMut(&mut Input<'a>) -> T) -> Vec<T> {
        let length = self.u8() % (most + 1);
        (0..length).map(|_| make(self)).collect()
    }

    /// The next bytes, at most `most`.
    pub fn bytes(&mut self, most: usize) -> &'a [u8] {
        let length = usize::from(self.u16()).min(most).min(self.0.len());
        let (head, rest) = self.0.split_at(length);
        self.0 = rest;
        head
    }

    /// All that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }
}

/// The input as text; input that is not UTF-8 is ignored.
pub fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

/// The first line and the rest.
pub fn first_line(text: &str) -> (&str, &str) {
    text.split_once('\n').unwrap_or((text, ""))
}

/// The two halves of an input that holds two texts, divided by a line of `---`.
pub fn two_parts(text: &str) -> (&str, &str) {
    text.split_once("\n---\n").unwrap_or((text, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_past_the_end_return_zeros() {
        let mut input = Input::new(&[1, 2, 3]);
        assert_eq!((input.u16(), input.u32(), input.u8()), (0x201, 3, 0));
        assert!(input.is_empty());
        assert_eq!(input.list(4, Input::u8), [0; 0]);
    }
}
