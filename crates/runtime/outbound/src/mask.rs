//! Secrets that must not show up in what is shown of a call.

use serde_json::json;

/// What a secret is replaced by.
pub(crate) const MASK: &str = "***";

/// The texts to be hidden.
#[derive(Default)]
pub(crate) struct Mask {
    /// The longest first, so that a secret that contains another one is hidden whole.
    needles: Vec<String>,
}

impl Mask {
    /// Hides the text from now on, also as it would stand in a form, in a URL or in JSON.
    pub(crate) fn hide(&mut self, secret: &str) {
        let json = json!(secret).to_string();
        let component = form_encoded(secret).replace('+', "%20");
        let spellings = [
            secret.to_owned(),
            form_encoded(secret),
            component.to_lowercase(),
            component,
            json[1..json.len() - 1].to_owned(),
        ];
        for spelling in spellings {
            if !spelling.is_empty() && !self.needles.contains(&spelling) {
                self.needles.push(spelling);
            }
        }
        self.needles.sort_by_key(|needle| std::cmp::Reverse(needle.len()));
    }

    /// Hides a query as a whole, and the signature in it, encoded or not.
    pub(crate) fn hide_query(&mut self, query: &str) {
        let query = query.trim().trim_start_matches('?');
        self.hide(query);
        for signature in query.split('&').filter_map(|part| part.strip_prefix("sig=")) {
            self.hide(signature);
            self.hide(&percent_decoded(signature));
        }
    }

    pub(crate) fn apply(&self, text: &str) -> String {
        self.needles.iter().fold(text.to_owned(), |text, needle| {
            if text.contains(needle.as_str()) { text.replace(needle.as_str(), MASK) } else { text }
        })
    }
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        match rest.get(at + 1..at + 3).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &rest[at + 3..];
            }
            None => {
                bytes.push(b'%');
                rest = &rest[at + 1..];
            }
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The text as `application/x-www-form-urlencoded` has it.
pub(crate) fn form_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'*' => encoded.push(byte.into()),
            b' ' => encoded.push('+'),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_hidden_in_every_spelling() {
        let mut mask = Mask::default();
        mask.hide("p&s \"w\u{f6}rd\"/\u{7}+%41");
        let text = "raw p&s \"w\u{f6}rd\"/\u{7}+%41, form p%26s+%22w%C3%B6rd%22%2F%07%2B%2541, \
                    url p%26s%20%22w%c3%b6rd%22%2f%07%2b%2541, json p&s \\\"w\u{f6}rd\\\"/\\u0007+%41.";
        assert_eq!(mask.apply(text), "raw ***, form ***, url ***, json ***.");
    }

    #[test]
    fn the_signature_of_a_query_is_hidden_alone_too() {
        let mut mask = Mask::default();
        mask.hide_query("?sv=2020-10-02&sig=a%2Bb%2F%3D&sp=a");
        let text = "sv=2020-10-02&sig=a%2Bb%2F%3D&sp=a, a%2Bb%2F%3D, a%2bb%2f%3d, a+b/=.";
        assert_eq!(mask.apply(text), "***, ***, ***, ***.");
    }

    #[test]
    fn a_secret_within_another_does_not_leave_its_rest() {
        let mut mask = Mask::default();
        mask.hide("abc");
        mask.hide("xabcx");
        mask.hide("");
        assert_eq!(mask.apply("abc xabcx abcx"), "*** *** ***x");
    }
}
