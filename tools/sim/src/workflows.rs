//! The workflows of a simulated installation: with and without pivot, alternative, order and deadline.

pub const NAMES: [&str; 3] = ["delivery", "ledger", "parcel"];

/// The workflow whose runs are sequential.
pub const SERIAL: &str = NAMES[1];

pub const SOURCES: [&str; 3] = [
    r#"
name: delivery
services: { s: { url: "http://127.0.0.1:1" } }
steps:
  account:
    call: { service: s, method: PUT, path: /a }
  package:
    call: { service: s, method: PUT, path: /b }
    undo: { service: s, method: DELETE, path: /b }
  drone:
    after: [account, package]
    call: { service: s, method: PUT, path: /c }
    undo: { service: s, method: DELETE, path: /c }
  delivery:
    after: [drone]
    call: { service: s, method: PUT, path: /d }
    undo: { service: s, method: DELETE, path: /d }
    pivot: true
  notice:
    after: [delivery]
    call: { service: s, method: PUT, path: /e }
retry: { type: exponential, first: 200ms, factor: 2, max: 5s, attempts: 4 }
undo_retry: { type: exponential, first: 100ms, factor: 2, max: 1m, patience: 1h }
on_undone: { action: { type: http, method: POST, url: "http://127.0.0.1:1/undone" } }
"#,
    r#"
name: ledger
accept: { key: .key }
serial: true
services: { s: { url: "http://127.0.0.1:1" } }
steps:
  one:
    call: { service: s, method: PUT, path: /a }
    undo: { service: s, method: DELETE, path: /a }
  two:
    after: [one]
    call: { service: s, method: PUT, path: /b }
    undo: { service: s, method: DELETE, path: /b }
retry: { type: fixed, delay: 300ms, attempts: 3 }
undo_retry: { type: fixed, delay: 1s, attempts: 1000 }
"#,
    r#"
name: parcel
deadline: 30s
services: { s: { url: "http://127.0.0.1:1" } }
steps:
  pick:
    call: { service: s, method: PUT, path: /a }
    undo: { service: s, method: DELETE, path: /a }
    alternative: { call: { service: s, method: PUT, path: /alt }, retry: { type: fixed, delay: 1s, attempts: 2 } }
    retry: { type: none }
  pack:
    after: [pick]
    call: { service: s, method: PUT, path: /b }
    undo: { service: s, method: DELETE, path: /b }
    complete_by: 10s
  send:
    after: [pack]
    call: { service: s, method: PUT, path: /c }
    undo: { service: s, method: DELETE, path: /c }
retry: { type: fixed, delay: 500ms, attempts: 5 }
undo_retry: { type: fixed, delay: 2s, attempts: 20 }
on_parked: { action: { type: http, method: POST, url: "http://127.0.0.1:1/parked" } }
"#,
];
