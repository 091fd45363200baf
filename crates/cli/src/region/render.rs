//! Regions as text.

use api_types::{DrillView, LeasesView, PromotedView, RegionView, SideView};

use crate::screen::{Screen, Tone};
use crate::table::{Cell, Column, TextTable, clean};
use crate::when;

/// Both regions, then the mirrors.
pub fn status(region: &RegionView, screen: &Screen) -> String {
    let mut sides = TextTable::new([
        Column::whole("REGION"),
        Column::whole("ROLE"),
        Column::number("EPOCH"),
        Column::whole("SINCE (UTC)"),
        Column::text("BY"),
        Column::whole("LEVEL"),
        Column::text("PROMOTION"),
    ]);
    for side in [&region.here, &region.pair] {
        sides.row(side_row(side));
    }
    let mut text = sides.render(screen);
    if !region.pair_reachable {
        text.push_str(&format!("{} does not respond.\n", clean(&region.pair.region)));
    }
    for side in [&region.here, &region.pair].into_iter().filter(|side| side.level == Some(false)) {
        let name = clean(&side.region);
        text.push_str(&format!("{name} has never been in sync: it is not promoted automatically.\n"));
    }
    let (here, pair) = (clean(&region.here.region), clean(&region.pair.region));
    if region.follows == Some(false) {
        text.push_str(&format!(
            "{here} has lagged behind {pair} recently: it does not take over automatically.\n"
        ));
    }
    match region.leases {
        Some(LeasesView { witness: false, pair: false }) => text.push_str(&format!(
            "{here} is suspended: neither the witness nor {pair} confirms its lease. It resumes when one of them responds.\n"
        )),
        Some(LeasesView { witness: false, pair: true }) => text.push_str(&format!(
            "The witness does not respond: {here} runs with the confirmation of {pair}, and there is no automatic failover.\n"
        )),
        Some(LeasesView { witness: true, .. }) => {}
        None if region.active.is_none() => {
            text.push_str("No region is active. Activate one with: sortie region promote\n");
        }
        None => {}
    }
    if !region.mirrors.is_empty() {
        text.push('\n');
        text.push_str(&mirrors(region, screen));
    }
    if let Some(tail) = &region.tail {
        let messages: u64 = tail.streams.iter().map(|stream| stream.messages).sum();
        text.push_str(&format!(
            "\nA divergent tail of {messages} messages was saved at {}. See it with: sortie region tail\n",
            when::second(tail.kept_at)
        ));
    }
    text
}

fn side_row(side: &SideView) -> [Cell; 7] {
    let tone = match side.role.as_str() {
        "active" => Tone::Good,
        "standby" => Tone::Plain,
        _ => Tone::Attention,
    };
    [
        Cell::toned(Tone::Strong, &side.region),
        Cell::toned(tone, &side.role),
        Cell::new(side.epoch.map(|epoch| epoch.to_string()).unwrap_or_default()),
        Cell::new(side.since.map(when::second).unwrap_or_default()),
        Cell::new(side.by.as_deref().unwrap_or_default()),
        match side.level {
            None => Cell::new(""),
            Some(true) => Cell::toned(Tone::Good, "yes"),
            Some(false) => Cell::toned(Tone::Attention, "not yet"),
        },
        Cell::toned(Tone::Attention, side.promotion.as_deref().unwrap_or_default()),
    ]
}

fn mirrors(region: &RegionView, screen: &Screen) -> String {
    let number = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
    let mut table = TextTable::new([
        Column::whole("MIRROR"),
        Column::number("LAST"),
        Column::number("ORIGIN"),
        Column::number("LAG"),
        Column::text("NEWEST"),
    ]);
    for mirror in &region.mirrors {
        let tone = if mirror.lag == Some(0) { Tone::Good } else { Tone::Attention };
        table.row([
            Cell::new(&mirror.stream),
            Cell::new(number(mirror.last)),
            Cell::new(number(mirror.origin_last)),
            Cell::toned(tone, number(mirror.lag)),
            Cell::new(mirror.newest.as_deref().unwrap_or_default()),
        ]);
    }
    table.render(screen)
}

/// The result of a promotion, with RTO and RPO.
pub fn promoted(promoted: &PromotedView) -> String {
    let took = when::length(i64::try_from(promoted.took_ms).unwrap_or(i64::MAX));
    let kind = if promoted.forced { "forced" } else { "planned" };
    let mut text = format!("{} is active under epoch {} ({kind})\n", clean(&promoted.region), promoted.epoch);
    text.push_str(&format!("  RTO {took} from the call until it was active\n"));
    if !promoted.forced {
        text.push_str("  RPO 0: the mirrors were complete\n");
    } else {
        let newest = promoted.mirrors.iter().filter_map(|mirror| mirror.newest.as_deref()).max();
        text.push_str(&format!("  RPO {} messages as far as known", promoted.lost_messages));
        text.push_str(
            &newest.map(|at| format!("; the newest message here is from {at}")).unwrap_or_default(),
        );
        text.push('\n');
        for mirror in promoted.mirrors.iter().filter(|mirror| mirror.lag != Some(0)) {
            let lag = mirror.lag.map_or_else(|| "unknown".to_owned(), |lag| lag.to_string());
            text.push_str(&format!("    {}: lag {lag}\n", clean(&mirror.stream)));
        }
    }
    if !promoted.pair_mirrors {
        text.push_str("  the pair mirrors it as soon as possible\n");
    }
    text
}

/// The checks, then the switches.
pub fn drill(drill: &DrillView, screen: &Screen) -> String {
    let mut text = String::new();
    for check in &drill.checks {
        let mark =
            if check.passed { screen.paint(Tone::Good, "ok  ") } else { screen.paint(Tone::Bad, "FAIL") };
        let detail =
            if check.detail.is_empty() { String::new() } else { format!(": {}", clean(&check.detail)) };
        text.push_str(&format!("{mark} {}{detail}\n", clean(&check.check)));
    }
    for switch in &drill.switches {
        text.push_str(&promoted(switch));
    }
    match (drill.ready, drill.switches.last()) {
        (true, _) => text.push_str("A switch works.\n"),
        (false, None) => text.push_str("A switch would not work.\n"),
        (false, Some(made)) => text.push_str(&format!(
            "The switch back was not made: {} stays active. When the other region is in sync, run on one of its servers: \
             sortie region promote\n",
            clean(&made.region)
        )),
    }
    text
}

/// The saved tail, stream by stream.
pub fn tail(region: &RegionView, screen: &Screen) -> String {
    let Some(tail) = &region.tail else {
        return format!("{} has no divergent tail.\n", clean(&region.here.region));
    };
    let mut text = format!(
        "Written under epoch {}, superseded by epoch {}, saved at {} by {} in {}\n",
        tail.epoch,
        tail.overtaken_by,
        when::second(tail.kept_at),
        clean(&tail.instance),
        clean(&tail.folder)
    );
    if let Some(bucket) = &tail.bucket {
        let bucket = clean(bucket);
        let line =
            format!("and in the region's NATS: nats object ls {bucket}, nats object get {bucket} NAME\n");
        text.push_str(&line);
    }
    let mut table = TextTable::new([
        Column::whole("STREAM"),
        Column::number("FROM"),
        Column::number("THROUGH"),
        Column::number("MESSAGES"),
        Column::number("BYTES"),
        Column::text("WHOLE"),
    ]);
    for stream in &tail.streams {
        table.row([
            Cell::new(&stream.stream),
            Cell::new(stream.from.to_string()),
            Cell::new(stream.through.to_string()),
            Cell::new(stream.messages.to_string()),
            Cell::new(stream.bytes.to_string()),
            Cell::toned(Tone::Attention, stream.whole.as_deref().unwrap_or_default()),
        ]);
    }
    text.push('\n');
    text.push_str(&table.render(screen));
    for stream in &tail.streams {
        text.push_str(&format!("\n{}\n", clean(&stream.stream)));
        text.extend(stream.contents.iter().map(|line| format!("  {}\n", clean(line))));
    }
    text
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    const PLAIN: Screen = Screen { colour: false, width: None };

    #[test]
    fn a_status_shows_both_sides_and_how_far_the_mirrors_are() {
        let json = r#"{"here":{"region":"westeurope","role":"active","epoch":3,"since":"2026-03-01T12:00:00Z",
            "by":"westeurope/a"},"pair":{"region":"northeurope","role":"standby","epoch":3,"level":false},"pair_reachable":true,
            "active":"westeurope","mirrors":[{"stream":"sortie_JRN_00000","last":9,"origin_last":10,"lag":1},
            {"stream":"sortie_JRN_00001"}]}"#;
        let region: RegionView = serde_json::from_str(json).unwrap();
        expect![[r#"
            REGION       ROLE     EPOCH  SINCE (UTC)          BY            LEVEL
            westeurope   active       3  2026-03-01 12:00:00  westeurope/a
            northeurope  standby      3                                     not yet
            northeurope has never been in sync: it is not promoted automatically.

            MIRROR            LAST  ORIGIN  LAG
            sortie_JRN_00000     9      10    1
            sortie_JRN_00001     -       -    -
        "#]]
        .assert_eq(&status(&region, &PLAIN));
    }

    #[test]
    fn a_forced_promotion_prints_what_it_may_have_cost() {
        let json = r#"{"region":"west","epoch":2,"forced":true,"took_ms":1240,"lost_messages":3,"pair_mirrors":false,
            "mirrors":[{"stream":"a","last":7,"lag":3,"newest":"2026-03-01T12:00:00Z"},{"stream":"b","last":1,"lag":0}]}"#;
        let view: PromotedView = serde_json::from_str(json).unwrap();
        expect![[r#"
            west is active under epoch 2 (forced)
              RTO 1.24s from the call until it was active
              RPO 3 messages as far as known; the newest message here is from 2026-03-01T12:00:00Z
                a: lag 3
              the pair mirrors it as soon as possible
        "#]]
        .assert_eq(&promoted(&view));
    }

    #[test]
    fn a_tail_says_where_it_is_and_what_is_in_it() {
        let json = r#"{"here":{"region":"east","role":"standby","epoch":2,"level":true},"pair":{"region":"west",
            "role":"active","epoch":2},"pair_reachable":true,"mirrors":[],"tail":{"kept_at":"2026-03-01T12:00:00Z",
            "epoch":1,"overtaken_by":2,"instance":"a","folder":"/data/divergent/epoch-1","bucket":"sortie_divergent",
            "streams":[{"stream":"sortie_ING_00000","from":11,"through":13,"messages":3,"bytes":36,
            "contents":["run d-1"]}]}}"#;
        let region: RegionView = serde_json::from_str(json).unwrap();
        expect![[r#"
            Written under epoch 1, superseded by epoch 2, saved at 2026-03-01 12:00:00 by a in /data/divergent/epoch-1
            and in the region's NATS: nats object ls sortie_divergent, nats object get sortie_divergent NAME

            STREAM            FROM  THROUGH  MESSAGES  BYTES
            sortie_ING_00000    11       13         3     36

            sortie_ING_00000
              run d-1
        "#]]
        .assert_eq(&tail(&region, &PLAIN));
    }

    #[test]
    fn a_drill_that_failed_says_where() {
        let json = r#"{"ready":false,"switches":[],"checks":[{"check":"the pair responds","passed":true,"detail":""},
            {"check":"the mirrors exist and are current","passed":false,"detail":"a lags 2000 messages"}]}"#;
        let view: DrillView = serde_json::from_str(json).unwrap();
        expect![[r#"
            ok   the pair responds
            FAIL the mirrors exist and are current: a lags 2000 messages
            A switch would not work.
        "#]]
        .assert_eq(&drill(&view, &PLAIN));
    }

    #[test]
    fn a_drill_without_a_way_back_says_who_is_active() {
        let json = r#"{"ready":false,"switches":[{"region":"west","epoch":2,"forced":false,"took_ms":1240,
            "lost_messages":0,"pair_mirrors":true,"mirrors":[]}],"checks":[{"check":"the pair responds","passed":true,
            "detail":""},{"check":"the standby has caught up","passed":false,"detail":"east has not caught up yet"}]}"#;
        let view: DrillView = serde_json::from_str(json).unwrap();
        expect![[r#"
            ok   the pair responds
            FAIL the standby has caught up: east has not caught up yet
            west is active under epoch 2 (planned)
              RTO 1.24s from the call until it was active
              RPO 0: the mirrors were complete
            The switch back was not made: west stays active. When the other region is in sync, run on one of its servers: sortie region promote
        "#]]
        .assert_eq(&drill(&view, &PLAIN));
    }
}
