//! A full disk: new requests are refused, running work continues for a while, and all resumes when space returns.

use bytes::Bytes;
use journal::AppendError;
use types::{Epoch, Seq};

use super::model::{Held, Model, SLOTS, check, open, settings};
use crate::log::{Log, LogCompletion, LogOperation, LogRequest};
use crate::simdisk::SimDisk;

const SEGMENT_BYTES: u64 = 64 << 10;

fn ask(log: &mut Log, slot: u16, ask: LogOperation) -> Result<LogCompletion, AppendError> {
    let mut answers = Vec::new();
    log.write_group(&[LogRequest { slot, ask }], &mut answers).expect("the disk works");
    answers.remove(0)
}

// guards: 14
#[test]
fn requests_are_refused_first_and_events_last() {
    let disk = SimDisk::new(1);
    let mut settings = settings(SEGMENT_BYTES);
    settings.reserve_bytes = 2 * SEGMENT_BYTES;
    let mut log = open(&disk, &settings).unwrap();
    log.tend().unwrap();
    let mut model: Model = vec![Held::default(); usize::from(SLOTS)];
    let record = Bytes::from(vec![7; 3000]);
    assert!(matches!(ask(&mut log, 0, LogOperation::Claim), Ok(LogCompletion::Claimed(_))));
    model[0].epoch = 1;

    let used: usize = disk.files().iter().map(|(_, size)| size).sum();
    disk.set_capacity(used as u64 + SEGMENT_BYTES / 2);
    let refused = loop {
        match ask(&mut log, 0, LogOperation::Inbox { records: vec![record.clone()] }) {
            Ok(_) => model[0].inbox.push(record.clone()),
            Err(error) => break error,
        }
        log.tend().unwrap();
    };
    assert_eq!(refused, AppendError::Full);
    assert!(!log.space().room(&disk).accepts);

    let mut appended = 0;
    let refused = loop {
        let tail = Seq(model[0].events.len() as u64);
        let append = LogOperation::Append { epoch: Epoch(1), expected_tail: tail, frame: record.clone() };
        match ask(&mut log, 0, append) {
            Ok(_) => model[0].events.push(record.clone()),
            Err(error) => break error,
        }
        appended += 1;
        log.tend().unwrap();
    };
    assert_eq!(refused, AppendError::Full);
    assert!(appended > 2 * SEGMENT_BYTES / 4096, "the reserve carried events: {appended}");
    check(&log, &model, &model);

    drop(log);
    disk.power_cut();
    let mut log = open(&disk, &settings).unwrap();
    check(&log, &model, &model);
    let refused = ask(&mut log, 1, LogOperation::Inbox { records: vec![record.clone(); 40] });
    assert_eq!(refused, Err(AppendError::Full), "the disk is as full as before");

    disk.set_capacity(u64::MAX);
    log.tend().unwrap();
    assert!(log.space().room(&disk).accepts);
    assert!(ask(&mut log, 0, LogOperation::Inbox { records: vec![record.clone()] }).is_ok());
    model[0].inbox.push(record);
    check(&log, &model, &model);
    assert!(disk.files().iter().any(|(name, size)| name == "reserve" && *size as u64 == 2 * SEGMENT_BYTES));
}
