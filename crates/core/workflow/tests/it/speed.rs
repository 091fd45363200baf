//! What taking a request, rendering a call and judging an answer cost. Run with:
//! cargo test --release -p definition --test it speed -- --ignored --nocapture

use std::hint::black_box;
use std::time::Instant;

use crate::common::{REQUEST, Run, drone};
use bytes::Bytes;
use http::HeaderMap;
use types::{StepIndex, Work};

fn measure(name: &str, mut call: impl FnMut()) {
    const ROUNDS: u32 = 200_000;
    for _ in 0..ROUNDS / 10 {
        call();
    }
    let start = Instant::now();
    for _ in 0..ROUNDS {
        call();
    }
    println!("{name:24} {:6} ns", start.elapsed().as_nanos() / u128::from(ROUNDS));
}

#[test]
#[ignore = "a measurement, for release builds"]
fn nanoseconds_per_call() {
    let (definition, mut run) = (drone(), Run::new(REQUEST));
    run.outputs = vec![None, None, None, Some(Bytes::from_static(b"\"drone-9\""))];
    let context = run.context();
    for (n, name) in definition.step_names().iter().enumerate() {
        let work = Work::Do(StepIndex(n as u16));
        measure(&format!("render {name}"), || {
            black_box(definition.render(work, &context).unwrap());
        });
    }
    let (headers, yes) = (HeaderMap::new(), Bytes::from_static(b"true"));
    measure("judge account (jq)", || {
        black_box(definition.judge(Work::Do(StepIndex(0)), &context, 200, &headers, &yes));
    });
    let answer = Bytes::from_static(b"{\"droneId\":\"drone-9\"}");
    measure("judge drone (path)", || {
        black_box(definition.judge(Work::Do(StepIndex(3)), &context, 200, &headers, &answer));
    });
}

/// For the number of instructions: valgrind --tool=callgrind THIS_TEST --ignored requests_are_taken, then the
/// inclusive cost of `take` by the number of its calls.
#[test]
#[ignore = "a measurement, for release builds"]
fn requests_are_taken() {
    let definition = drone();
    measure("take (schema, id)", || {
        black_box(definition.take(REQUEST.as_bytes())).unwrap();
    });
}
