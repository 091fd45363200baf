//! The documents of jobs and collections: what clients write, what is stored of it, what they read back.
