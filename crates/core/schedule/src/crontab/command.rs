//! `curl` and `wget` as http requests.

use serde_json::{Map, Value, json};

use super::shell;
use crate::problem::quote;

/// What to do with a command that is not a call of a URL.
const WHAT_TO_DO: &str =
    "let a small service run it, and give its address as the URI template, or write curl with a plain URL";

/// What the options of a command add up to.
#[derive(Default)]
struct CurlCall {
    uri: Option<String>,
    method: Option<String>,
    headers: Map<String, Value>,
    data: Option<String>,
    /// The data are part of the address.
    data_in_query: bool,
    user: Option<(String, String)>,
}

/// What an option does to a call.
#[derive(Clone, Copy)]
enum Effect {
    /// It concerns the terminal, or what a job has its own rules for.
    Nothing,
    /// The same, and a value follows.
    NothingWith,
    Method,
    Head,
    Header,
    UserAgent,
    Data,
    Json,
    DataInQuery,
    User,
    Username,
    Password,
    Uri,
}

const CURL: &[(&[&str], Effect)] = &[
    (&["-s", "--silent", "-S", "--show-error", "-f", "--fail", "--fail-with-body"], Effect::Nothing),
    (&["-L", "--location", "-v", "--verbose", "-i", "--include", "-O", "--remote-name"], Effect::Nothing),
    (
        &["-N", "--no-buffer", "-#", "--progress-bar", "--compressed", "-q", "--no-progress-meter"],
        Effect::Nothing,
    ),
    (&["-o", "--output", "-m", "--max-time", "--connect-timeout", "-w", "--write-out"], Effect::NothingWith),
    (&["--retry", "--retry-delay", "--retry-max-time", "--max-redirs"], Effect::NothingWith),
    (&["-X", "--request"], Effect::Method),
    (&["-I", "--head"], Effect::Head),
    (&["-H", "--header"], Effect::Header),
    (&["-A", "--user-agent"], Effect::UserAgent),
    (&["-d", "--data", "--data-raw", "--data-ascii", "--data-binary"], Effect::Data),
    (&["--json"], Effect::Json),
    (&["-G", "--get"], Effect::DataInQuery),
    (&["-u", "--user"], Effect::User),
    (&["--url"], Effect::Uri),
];

const WGET: &[(&[&str], Effect)] = &[
    (&["-q", "--quiet", "-nv", "--no-verbose", "-v", "--verbose", "-nc", "--no-cache"], Effect::Nothing),
    (&["-O", "--output-document", "-o", "--output-file", "-a", "--append-output"], Effect::NothingWith),
    (&["-t", "--tries", "-T", "--timeout", "--waitretry"], Effect::NothingWith),
    (&["--method"], Effect::Method),
    (&["--spider"], Effect::Head),
    (&["--header"], Effect::Header),
    (&["-U", "--user-agent"], Effect::UserAgent),
    (&["--post-data", "--body-data"], Effect::Data),
    (&["--user", "--http-user"], Effect::Username),
    (&["--password", "--http-password"], Effect::Password),
];

/// The request that a command makes, or why it cannot be determined.
pub(super) fn request(command: &str) -> Result<Value, String> {
    // The rest of the command may hold a password.
    let program = command.split_whitespace().next().unwrap_or_default();
    let told = |why: String| format!("the command {} {why}; {WHAT_TO_DO}", quote(program));
    let words = shell::words(command).map_err(told)?;
    let program = words.first().map_or("", |word| word.rsplit('/').next().unwrap_or_default());
    let options = match program {
        "curl" => CURL,
        "wget" => WGET,
        _ => {
            let caller = words.get(1).is_some_and(|word| matches!(word.as_str(), "curl" | "wget"));
            let user = " (a crontab of the system names a user there: take it out)";
            return Err(told(format!("is not curl or wget{}", if caller { user } else { "" })));
        }
    };
    let mut call = CurlCall::default();
    let mut rest = words[1..].iter();
    while let Some(word) = rest.next() {
        call.word(word, options, &mut rest).map_err(told)?;
    }
    call.request().map_err(told)
}

impl CurlCall {
    fn word<'a>(
        &mut self,
        word: &str,
        options: &[(&[&str], Effect)],
        rest: &mut impl Iterator<Item = &'a String>,
    ) -> Result<(), String> {
        let effect =
            |name: &str| options.iter().find(|(names, _)| names.contains(&name)).map(|(_, effect)| *effect);
        if !word.starts_with('-') || word == "-" {
            return self.apply(Effect::Uri, word);
        }
        if let Some(effect) = effect(word) {
            let value =
                if effect.takes_value() { rest.next().ok_or(format!("ends after {word}"))? } else { "" };
            return self.apply(effect, value);
        }
        if let Some((name, value)) = word.split_once('=')
            && let Some(effect) = effect(name).filter(|effect| effect.takes_value())
        {
            return self.apply(effect, value);
        }
        // `-fsSXPOST`: letters without a value, then perhaps one followed by its value.
        for (at, letter) in word.char_indices().skip(1) {
            let short = format!("-{letter}");
            let name = if word.starts_with("--") { word.split('=').next().unwrap_or(word) } else { &short };
            let unknown = || format!("has an option that is not known here: {}", quote(name));
            let effect = effect(name).ok_or_else(unknown)?;
            if !effect.takes_value() {
                self.apply(effect, "")?;
                continue;
            }
            let attached = &word[at + letter.len_utf8()..];
            let value = if attached.is_empty() { rest.next().ok_or_else(unknown)? } else { attached };
            return self.apply(effect, value);
        }
        Ok(())
    }

    fn apply(&mut self, effect: Effect, value: &str) -> Result<(), String> {
        match effect {
            Effect::Nothing | Effect::NothingWith => {}
            Effect::Method => self.method = Some(value.to_owned()),
            Effect::Head => self.method = Some("HEAD".to_owned()),
            Effect::DataInQuery => self.data_in_query = true,
            Effect::Header => {
                let (name, value) = value.split_once(':').ok_or("has a header without a colon")?;
                self.headers.insert(name.trim().to_owned(), value.trim().into());
            }
            Effect::UserAgent => {
                self.headers.insert("User-Agent".to_owned(), value.into());
            }
            Effect::Data => self.add_data(value, "application/x-www-form-urlencoded")?,
            Effect::Json => self.add_data(value, "application/json")?,
            Effect::User => {
                let (name, password) = value.split_once(':').ok_or("has a user without a password")?;
                self.user = Some((name.to_owned(), password.to_owned()));
            }
            Effect::Username => self.user.get_or_insert_default().0 = value.to_owned(),
            Effect::Password => self.user.get_or_insert_default().1 = value.to_owned(),
            Effect::Uri if self.uri.is_some() => return Err("calls more than one URL".to_owned()),
            Effect::Uri => {
                let uri = if value.contains("://") { value.to_owned() } else { format!("http://{value}") };
                self.uri = Some(uri);
            }
        }
        Ok(())
    }

    /// Several data are joined as a form is.
    fn add_data(&mut self, value: &str, content_type: &str) -> Result<(), String> {
        if value.starts_with('@') {
            return Err("sends a file, which a job does not have".to_owned());
        }
        self.data = Some(match self.data.take() {
            Some(data) => format!("{data}&{value}"),
            None => value.to_owned(),
        });
        let named = self.headers.keys().any(|name| name.eq_ignore_ascii_case("content-type"));
        if !named {
            self.headers.insert("Content-Type".to_owned(), content_type.into());
        }
        Ok(())
    }

    fn request(self) -> Result<Value, String> {
        let mut uri = self.uri.ok_or("calls no URL")?;
        let mut headers = self.headers;
        let mut data = self.data;
        if self.data_in_query
            && let Some(data) = data.take()
        {
            uri.push(if uri.contains('?') { '&' } else { '?' });
            uri.push_str(&data);
            headers.retain(|name, _| !name.eq_ignore_ascii_case("content-type"));
        }
        keep_last_content_type(&mut headers);
        let method = self.method.unwrap_or_else(|| if data.is_some() { "POST" } else { "GET" }.to_owned());
        let mut request = json!({"uri": uri, "method": method});
        if !headers.is_empty() {
            request["headers"] = Value::Object(headers);
        }
        if let Some(data) = data {
            request["body"] = data.into();
        }
        if let Some((username, password)) = self.user {
            request["authentication"] = json!({"type": "Basic", "username": username, "password": password});
        }
        Ok(request)
    }
}

/// A type that the command names after its data takes the place of the one that the data brought.
fn keep_last_content_type(headers: &mut Map<String, Value>) {
    let named: Vec<String> =
        headers.keys().filter(|name| name.eq_ignore_ascii_case("content-type")).cloned().collect();
    if named.len() > 1 {
        headers.remove("Content-Type");
    }
}

impl Effect {
    fn takes_value(self) -> bool {
        !matches!(self, Effect::Nothing | Effect::Head | Effect::DataInQuery)
    }
}
