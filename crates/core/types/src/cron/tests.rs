//! Cron expressions: what they name, how they print, and what is said of those that are wrong.

use super::Cron;

fn cron(text: &str) -> Cron {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn set(values: impl IntoIterator<Item = u8>) -> u64 {
    values.into_iter().fold(0, |set, value| set | 1 << value)
}

#[test]
fn fields_name_sets_of_values() {
    let read = cron("5,10-12,40/7 9-17/4 1,L JAN-mar,12 mon-FRI");
    let expected = Cron {
        seconds: 1,
        minutes: set([5, 10, 11, 12, 40, 47, 54]),
        hours: set([9, 13, 17]) as u32,
        month_days: 2,
        last_day: true,
        months: set([1, 2, 3, 12]) as u16,
        week_days: set(1..=5) as u8,
        either_day: true,
    };
    assert_eq!(read, expected);
}

#[test]
fn six_fields_begin_with_the_second() {
    assert_eq!(cron("*/20 0 0 1 1 *").seconds, set([0, 20, 40]));
    assert_eq!(cron("0 0 0 1 1 *"), cron("0 0 1 1 *"));
}

#[test]
fn sunday_is_0_and_7_and_ends_a_week() {
    for text in ["0", "7", "SUN", "sun", "0,7", "7-7"] {
        assert_eq!(cron(&format!("0 0 * * {text}")).week_days, 1, "{text}");
    }
    assert_eq!(cron("0 0 * * FRI-SUN").week_days, 0b110_0001);
    assert_eq!(cron("0 0 * * 5-7").week_days, 0b110_0001);
    assert_eq!(cron("0 0 * * 0-7").week_days, 0b111_1111);
}

#[test]
fn a_star_leaves_the_day_to_the_other_field() {
    let either = |text: &str| cron(text).either_day;
    assert!(either("0 0 13 * FRI") && either("0 0 L * 1-5") && either("0 0 1-31 * 0-6"));
    assert!(
        !either("0 0 13 * *") && !either("0 0 * * FRI") && !either("0 0 */2 * FRI") && !either("0 0 * * *")
    );
}

#[test]
fn macros_stand_for_what_cron_has_them_stand_for() {
    let pairs = [
        ("@hourly", "0 * * * *"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@weekly", "0 0 * * 0"),
        ("@monthly", "0 0 1 * *"),
        ("@yearly", "0 0 1 1 *"),
        ("@Annually", "0 0 1 1 *"),
    ];
    for (name, text) in pairs {
        assert_eq!(cron(name), cron(text), "{name}");
    }
}

#[test]
fn what_is_printed_is_plain_and_reads_back_the_same() {
    let pairs = [
        ("*/15  9-17 * * mon-fri", "*/15 9-17 * * 1-5"),
        ("0 0 L * *", "0 0 L * *"),
        ("0 0 1,L JAN FRI", "0 0 1,L 1 5"),
        ("0 0 1-31 * MON", "0 0 1-31 * 1"),
        ("0 0 */2 * MON", "0 0 */2 * 1"),
        ("0 0 1/2 * *", "0 0 */2 * *"),
        ("0 0 1/2 * MON", "0 0 1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31 * 1"),
        ("0 0 0 1 1 *", "0 0 1 1 *"),
        ("30 0 0 1 1 *", "30 0 0 1 1 *"),
        ("*/59 * * * *", "*/59 * * * *"),
        ("0 0 * * */3", "0 0 * * */3"),
        ("0 0 1,*/10,L * */3", "0 0 1,11,21,31,L * */3"),
    ];
    for (text, printed) in pairs {
        assert_eq!(cron(text).to_string(), printed);
        assert_eq!(cron(printed), cron(text), "{text}");
    }
}

#[test]
fn an_error_names_the_field_and_its_rule() {
    let pairs = [
        ("0 24 * * *", "cron: field 2 (hour): 24 is not 0-23"),
        ("0 0 24 * * *", "cron: field 3 (hour): 24 is not 0-23"),
        ("60 * * * *", "cron: field 1 (minute): 60 is not 0-59"),
        ("0 0 0 * *", "cron: field 3 (day of month): 0 is not 1-31 or L"),
        ("0 0 ? * *", "cron: field 3 (day of month): \"?\" is not 1-31 or L"),
        ("0 0 1 13 *", "cron: field 4 (month): 13 is not 1-12 or JAN-DEC"),
        ("0 0 * * 8", "cron: field 5 (day of week): 8 is not 0-7 or SUN-SAT"),
        ("0 0 * * FRIDAY", "cron: field 5 (day of week): \"FRIDAY\" is not 0-7 or SUN-SAT"),
        ("0 22-2 * * *", "cron: field 2 (hour): 22-2 runs backwards; write 22-23,0-2"),
        ("*/0 * * * *", "cron: field 1 (minute): the step \"0\" is not 1-59"),
        ("0 */24 * * *", "cron: field 2 (hour): the step \"24\" is not 1-23"),
        ("*/ * * * *", "cron: field 1 (minute): the step \"\" is not 1-59"),
        ("1,,2 * * * *", "cron: field 1 (minute): a value is missing; write * for all of them"),
        ("-5 * * * *", "cron: field 1 (minute): \"\" is not 0-59"),
        ("+5 * * * *", "cron: field 1 (minute): \"+5\" is not 0-59"),
        ("L * * * *", "cron: field 1 (minute): \"L\" is not 0-59"),
    ];
    for (text, message) in pairs {
        assert_eq!(text.parse::<Cron>().unwrap_err().to_string(), message);
    }
    assert!("* * *".parse::<Cron>().unwrap_err().to_string().starts_with("cron: 3 fields; write five"));
    assert!("".parse::<Cron>().is_err() && "* * * * * * *".parse::<Cron>().is_err());
    assert!("@reboot".parse::<Cron>().unwrap_err().to_string().starts_with("cron: \"@reboot\" is not known"));
}

/// Texts made of the dialect's own letters: each is refused or prints as something that reads back the same.
#[test]
fn random_expressions_read_back_as_they_are_printed() {
    const PARTS: [&str; 14] =
        ["*", "1", "7", "12", "L", "-", "/", ",", "MON", "feb", "*/2", "3-5", "2/3", "0"];
    let mut seed: u64 = 0x5eed;
    let mut draw = move |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    let mut read = 0;
    for _ in 0..200_000 {
        let fields = 5 + draw(2);
        let text: Vec<String> =
            (0..fields).map(|_| (0..1 + draw(8) / 7).map(|_| PARTS[draw(PARTS.len())]).collect()).collect();
        let text = text.join(" ");
        if let Ok(cron) = text.parse::<Cron>() {
            read += 1;
            assert_eq!(cron.to_string().parse(), Ok(cron), "{text} prints as {cron}");
        }
    }
    assert!(read > 1000, "only {read} of the texts were expressions");
}
