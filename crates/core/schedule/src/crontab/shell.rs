//! The words of a command line, as far as they can be known without a shell.

/// What keeps a command from being one plain call.
const NOT_PLAIN: &str = "is more than one plain command";

/// The words of a command: quotes and backslashes taken off, and what it writes away with `>` left out.
///
/// Everything that only a shell could work out (pipes, variables, several commands) is refused.
pub(super) fn words(command: &str) -> Result<Vec<String>, String> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut skip_target = false;
    let mut chars = command.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' => end(&mut word, &mut words, &mut skip_target),
            '\'' => quoted(&mut chars, '\'', word.get_or_insert_default())?,
            '"' => quoted(&mut chars, '"', word.get_or_insert_default())?,
            '\\' => word.get_or_insert_default().extend(chars.next()),
            // A crontab turns it into a line feed before a shell sees it.
            '%' => return Err("has a % that cron reads as a line feed; write \\%".to_owned()),
            '>' => {
                // `2>` names a channel; any other word before it ends there.
                if word.as_deref().is_some_and(|word| word != "1" && word != "2") {
                    end(&mut word, &mut words, &mut skip_target);
                }
                word = None;
                while chars.next_if(|c| matches!(c, '>' | '&' | ' ')).is_some() {}
                skip_target = true;
            }
            '&' if chars.peek() == Some(&'>') => end(&mut word, &mut words, &mut skip_target),
            '|' | '&' | ';' | '<' | '(' | ')' | '`' | '$' | '*' => return Err(NOT_PLAIN.to_owned()),
            '#' if word.is_none() => break,
            c => word.get_or_insert_default().push(c),
        }
    }
    end(&mut word, &mut words, &mut skip_target);
    Ok(words)
}

fn end(word: &mut Option<String>, words: &mut Vec<String>, skip_target: &mut bool) {
    if let Some(word) = word.take()
        && !std::mem::take(skip_target)
    {
        words.push(word);
    }
}

fn quoted(chars: &mut impl Iterator<Item = char>, mark: char, word: &mut String) -> Result<(), String> {
    while let Some(c) = chars.next() {
        match c {
            c if c == mark => return Ok(()),
            '%' => return Err("has a % that cron reads as a line feed; write \\%".to_owned()),
            // Cron takes the backslash before a percent sign away, whatever quotes it stands in.
            '\\' => match (chars.next(), mark) {
                (Some('%'), _) => word.push('%'),
                (Some(c @ ('"' | '\\' | '$' | '`')), '"') => word.push(c),
                (Some(c), _) if mark == '\'' && c == '\'' => {
                    word.push('\\');
                    return Ok(());
                }
                (Some(c), _) => word.extend(['\\', c]),
                (None, _) => break,
            },
            '$' | '`' if mark == '"' => return Err(NOT_PLAIN.to_owned()),
            c => word.push(c),
        }
    }
    Err("has a quote without an end".to_owned())
}
