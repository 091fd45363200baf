//! Secrets at rest: sealed before they are stored, opened only to make a call.
