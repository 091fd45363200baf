//! The decisions of a region: what it becomes, and who may be active. They neither sleep nor start tasks, and reach leases
//! only through [`lease::Keys`], so that tests run every interleaving of two regions and a witness.

pub(crate) mod consent;
pub(crate) mod lease;
pub(crate) mod role;
pub(crate) mod witness;
