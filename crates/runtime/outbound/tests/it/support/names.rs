//! A resolver that answers as the test says, and lies on request.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use outbound::{Resolver, Resolving};

/// Gives each name's answers in turn, the last one for ever, and notes every question.
#[derive(Debug, Default)]
pub struct Names {
    answers: Mutex<BTreeMap<String, VecDeque<Vec<IpAddr>>>>,
    questions: Mutex<Vec<String>>,
}

impl Names {
    /// Each answer is a list of addresses, separated by spaces.
    pub fn new(names: &[(&str, &[&str])]) -> Arc<Names> {
        let addresses =
            |answer: &&str| answer.split_whitespace().map(|address| address.parse().unwrap()).collect();
        let names =
            names.iter().map(|(name, answers)| ((*name).to_owned(), answers.iter().map(addresses).collect()));
        Arc::new(Names { answers: Mutex::new(names.collect()), questions: Mutex::default() })
    }

    pub fn questions(&self) -> Vec<String> {
        self.questions.lock().unwrap().clone()
    }
}

impl Resolver for Names {
    fn resolve<'a>(&'a self, name: &'a str) -> Resolving<'a> {
        Box::pin(async move {
            self.questions.lock().unwrap().push(name.to_owned());
            let mut answers = self.answers.lock().unwrap();
            let answers = answers.get_mut(name).ok_or_else(|| io::Error::other("no such name"))?;
            let last = answers.back().cloned().unwrap_or_default();
            Ok(if answers.len() > 1 { answers.pop_front().unwrap_or_default() } else { last })
        })
    }
}
