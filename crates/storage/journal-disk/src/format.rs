//! The bytes on disk: little-endian, checksummed, never reinterpreted.

pub mod frame;
pub mod segment_header;
pub mod superblock;

/// Reads integers from the front of a slice. The caller has checked the length.
pub(crate) struct Cursor<'a>(pub &'a [u8]);

impl Cursor<'_> {
    pub fn take<const N: usize>(&mut self) -> [u8; N] {
        let (head, rest) = self.0.split_first_chunk::<N>().expect("the caller checked the length");
        self.0 = rest;
        *head
    }

    pub fn u8(&mut self) -> u8 {
        self.take::<1>()[0]
    }

    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.take())
    }

    pub fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    pub fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }

    pub fn u128(&mut self) -> u128 {
        u128::from_le_bytes(self.take())
    }
}

/// The checksum of bytes that belong to one use of one segment of one installation. A frame of an earlier use,
/// of a copied file or inside a client's payload does not match.
pub(crate) fn checksum(installation: u128, segment: u32, bytes: &[u8]) -> u32 {
    let seeded = crc32c::crc32c(&installation.to_le_bytes());
    let seeded = crc32c::crc32c_append(seeded, &segment.to_le_bytes());
    crc32c::crc32c_append(seeded, bytes)
}
