//! Fields of a message that a broker has no word for: they travel as properties with names that begin with `x-`.

use types::{Message, Property, Span, Timestamp};

pub(crate) const CONTENT_TYPE: &str = "x-content-type";
pub(crate) const CORRELATION_ID: &str = "x-correlation-id";
pub(crate) const LABEL: &str = "x-label";
pub(crate) const REPLY_TO: &str = "x-reply-to";
pub(crate) const TIME_TO_LIVE: &str = "x-time-to-live-ms";
const PARTITION_KEY: &str = "x-partition-key";
const REPLY_TO_SESSION: &str = "x-reply-to-session";
const SCHEDULED_AT: &str = "x-scheduled-at-ms";
const SESSION: &str = "x-session";
const TO: &str = "x-to";
const VIA_PARTITION_KEY: &str = "x-via-partition-key";

/// The fields that are set, but those that the broker has words for.
pub(crate) fn without_words(message: &Message, known: &[&str]) -> Vec<(&'static str, Property)> {
    let text = |value: &Option<String>| value.clone().map(Property::Text);
    let time_to_live = message.time_to_live.map(|span| Property::Number(span.as_ms().to_string()));
    let fields = [
        (CONTENT_TYPE, text(&message.content_type)),
        (CORRELATION_ID, text(&message.correlation_id)),
        (LABEL, text(&message.label)),
        (PARTITION_KEY, text(&message.partition_key)),
        (REPLY_TO, text(&message.reply_to)),
        (REPLY_TO_SESSION, text(&message.reply_to_session)),
        (SESSION, text(&message.session)),
        (TO, text(&message.to)),
        (VIA_PARTITION_KEY, text(&message.via_partition_key)),
        (TIME_TO_LIVE, time_to_live),
        (SCHEDULED_AT, message.scheduled_at.map(|at| Property::Number(at.0.to_string()))),
    ];
    let set = fields.into_iter().filter_map(|(name, value)| value.map(|value| (name, value)));
    set.filter(|(name, _)| !known.contains(name)).collect()
}

/// Puts a property that came with a message where it belongs: into its field, or among the sender's own.
pub(crate) fn place(message: &mut Message, name: &str, value: Property) {
    let field = match name {
        CONTENT_TYPE => &mut message.content_type,
        CORRELATION_ID => &mut message.correlation_id,
        LABEL => &mut message.label,
        PARTITION_KEY => &mut message.partition_key,
        REPLY_TO => &mut message.reply_to,
        REPLY_TO_SESSION => &mut message.reply_to_session,
        SESSION => &mut message.session,
        TO => &mut message.to,
        VIA_PARTITION_KEY => &mut message.via_partition_key,
        TIME_TO_LIVE if message.time_to_live.is_none() && whole::<u64>(&value).is_some() => {
            message.time_to_live = whole(&value).map(Span::from_ms);
            return;
        }
        SCHEDULED_AT if message.scheduled_at.is_none() && whole::<i64>(&value).is_some() => {
            message.scheduled_at = whole(&value).map(Timestamp);
            return;
        }
        _ => {
            message.properties.insert(name.to_owned(), value);
            return;
        }
    };
    *field = Some(value.to_string());
}

fn whole<T: std::str::FromStr>(value: &Property) -> Option<T> {
    value.to_string().parse().ok()
}

/// A number of JSON as the brokers have them.
pub(crate) enum Number {
    Whole(i64),
    Broken(f64),
}

/// What a number that was written becomes. None where no number of a broker holds it: then it travels as text.
pub(crate) fn number(written: &str) -> Option<Number> {
    if let Ok(whole) = written.parse() {
        return Some(Number::Whole(whole));
    }
    written.parse().ok().filter(|broken: &f64| broken.is_finite()).map(Number::Broken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_without_a_word_come_back_to_their_place() {
        let text = |value: &str| Some(value.to_owned());
        let mut sent = Message::new("1", "body");
        sent.content_type = text("text/plain");
        sent.correlation_id = text("c");
        sent.label = text("l");
        sent.partition_key = text("p");
        sent.reply_to = text("r");
        sent.reply_to_session = text("rs");
        sent.session = text("s");
        sent.to = text("t");
        sent.via_partition_key = text("v");
        sent.time_to_live = Some(Span::from_secs(3));
        sent.scheduled_at = Some(Timestamp(-5));
        let mut back = Message::new("1", "body");
        for (name, value) in without_words(&sent, &[]) {
            place(&mut back, name, value);
        }
        assert_eq!(back, sent);
        assert_eq!(without_words(&sent, &[LABEL]).len(), 10);
    }

    #[test]
    fn an_unknown_field_becomes_a_property() {
        let mut message = Message::default();
        place(&mut message, "x-mine", "1".into());
        place(&mut message, TIME_TO_LIVE, "soon".into());
        let names: Vec<&str> = message.properties.keys().map(String::as_str).collect();
        assert_eq!(names, ["x-mine", TIME_TO_LIVE]);
    }

    #[test]
    fn numbers_are_whole_where_they_can_be() {
        assert!(matches!(number("-3"), Some(Number::Whole(-3))));
        assert!(matches!(number("1e3"), Some(Number::Broken(value)) if value == 1000.0));
        assert!(matches!(number("9223372036854775808"), Some(Number::Broken(_))));
        assert!(number("1e999").is_none());
    }
}
