//! Secrets that must not show up in what is told of a call.

use serde_json::json;

/// What a secret is replaced by.
pub(super) const MASK: &str = "***";

/// The texts to be hidden.
#[derive(Default)]
pub(super) struct Mask {
    /// The longest first, so that a secret that contains another one is hidden whole.
    needles: Vec<String>,
}

impl Mask {
    /// Hides the text from now on, also as it would stand in a form, in a URL or in JSON.
    pub(super) fn hide(&mut self, secret: &str) {
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

    pub(super) fn apply(&self, text: &str) -> String {
        self.needles.iter().fold(text.to_owned(), |text, needle| {
            if text.contains(needle.as_str()) { text.replace(needle.as_str(), MASK) } else { text }
        })
    }
}

/// The text as `application/x-www-form-urlencoded` has it.
pub(super) fn form_encoded(text: &str) -> String {
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
    fn a_secret_within_another_does_not_leave_its_rest() {
        let mut mask = Mask::default();
        mask.hide("abc");
        mask.hide("xabcx");
        mask.hide("");
        assert_eq!(mask.apply("abc xabcx abcx"), "*** *** ***x");
    }
}
