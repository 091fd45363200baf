//! A small table printer: columns as wide as they need to be, narrower where the screen ends.

use crate::screen::{self, Screen, Tone};

const GAP: &str = "  ";
/// A column is not cut below this, or it would say nothing; where it does not fit either it is hidden.
const CUT_COLUMNS_MIN: usize = 8;

/// The rank of a major column.
const MAJOR: u8 = 3;

/// One column of a table. The first one names the row and is always there.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    title: &'static str,
    side: Side,
    /// Whether it may be truncated: truncating a number or a timestamp would change its value.
    cut: bool,
    rank: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

impl Column {
    /// Text that stays whole as long as anything else can give way, like an id that is copied.
    pub const fn whole(title: &'static str) -> Column {
        Column { title, side: Side::Left, cut: false, rank: 2 }
    }

    /// Text that may be cut, and a column that is hidden when it is empty.
    pub const fn text(title: &'static str) -> Column {
        Column { title, side: Side::Left, cut: true, rank: 1 }
    }

    /// Numbers.
    pub const fn number(title: &'static str) -> Column {
        Column { title, side: Side::Right, cut: false, rank: 2 }
    }

    /// The same column as the first to give way when the screen is narrow.
    #[must_use]
    pub const fn minor(self) -> Column {
        Column { rank: 0, ..self }
    }

    /// The same column as one that stays even when the name of the row must be cut for it.
    #[must_use]
    pub const fn major(self) -> Column {
        Column { rank: MAJOR, ..self }
    }
}

/// One cell: a line of text and what it means.
#[derive(Debug, Clone, Default)]
pub struct Cell {
    text: String,
    tone: Tone,
}

impl Cell {
    pub fn new(text: impl AsRef<str>) -> Cell {
        Cell::toned(Tone::Plain, text)
    }

    pub fn toned(tone: Tone, text: impl AsRef<str>) -> Cell {
        Cell { text: clean(text.as_ref()), tone }
    }

    fn width(&self) -> usize {
        screen::columns(&self.text)
    }
}

/// Rows under titles.
#[derive(Debug)]
pub struct TextTable {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    indent: usize,
}

impl TextTable {
    pub fn new(columns: impl Into<Vec<Column>>) -> TextTable {
        TextTable { columns: columns.into(), rows: Vec::new(), indent: 0 }
    }

    /// The same table, `spaces` to the right.
    #[must_use]
    pub fn indented(self, spaces: usize) -> TextTable {
        TextTable { indent: spaces, ..self }
    }

    /// Adds a row; it has a cell for each column.
    pub fn row(&mut self, cells: impl Into<Vec<Cell>>) {
        let cells = cells.into();
        assert_eq!(cells.len(), self.columns.len(), "a cell for each column");
        self.rows.push(cells);
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table as lines of text, each with its end; none is wider than the screen.
    pub fn render(&self, screen: &Screen) -> String {
        let room = screen.width.map(|width| width.saturating_sub(self.indent));
        let shown = self.fit(room);
        let titles: Vec<Cell> =
            self.columns.iter().map(|column| Cell::toned(Tone::Faint, column.title)).collect();
        let mut out = String::new();
        for row in std::iter::once(&titles).chain(&self.rows) {
            let mut line = " ".repeat(self.indent);
            for (place, (column, width)) in shown.iter().enumerate() {
                if place > 0 {
                    line.push_str(GAP);
                }
                line.push_str(&self.cell(&row[*column], *column, *width, screen));
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }

    fn cell(&self, cell: &Cell, column: usize, width: usize, screen: &Screen) -> String {
        let text = screen::cut(&cell.text, width);
        let space = " ".repeat(width.saturating_sub(screen::columns(&text)));
        let text = screen.paint(cell.tone, &text);
        match self.columns[column].side {
            Side::Left => text + &space,
            Side::Right => space + &text,
        }
    }

    /// The columns that are shown, each with its width: what its widest cell needs, less what the screen does not
    /// have. The least important ones are cut first; if that is not enough they are hidden. The name of the row is
    /// cut before anything of the major columns is lost.
    fn fit(&self, room: Option<usize>) -> Vec<(usize, usize)> {
        let is_shown = |column: &usize| {
            !self.columns[*column].cut || self.rows.iter().any(|row| !row[*column].text.is_empty())
        };
        let all = (0..self.columns.len()).filter(is_shown);
        let mut shown: Vec<(usize, usize)> = all.map(|column| (column, self.natural(column))).collect();
        let Some(room) = room else { return shown };
        self.shrink(&mut shown, room);
        while excess(&shown, room) > 0 && shown.len() > 1 {
            let rank = |place: &usize| self.columns[shown[*place].0].rank;
            // Of those that matter least the rightmost goes.
            let least = (1..shown.len()).rev().min_by_key(rank).expect("more than one column is shown");
            let name = shown[0].1;
            if rank(&least) >= MAJOR && name >= excess(&shown, room) + CUT_COLUMNS_MIN {
                shown[0].1 = name - excess(&shown, room);
                break;
            }
            shown.remove(least);
            // What was cut for the one that is gone has room again.
            for (column, width) in &mut shown {
                *width = self.natural(*column);
            }
            self.shrink(&mut shown, room);
        }
        if let [(_, width)] = shown.as_mut_slice() {
            *width = room.min(*width);
        }
        shown
    }

    /// Cuts the columns that may be cut, the least important before the others, and of those the widest.
    fn shrink(&self, shown: &mut [(usize, usize)], room: usize) {
        let mut ranks: Vec<u8> = self.columns.iter().map(|column| column.rank).collect();
        ranks.sort_unstable();
        ranks.dedup();
        for rank in ranks {
            while excess(shown, room) > 0 {
                let can_shrink = |(column, width): &&mut (usize, usize)| {
                    let column = self.columns[*column];
                    column.rank == rank && column.cut && *width > CUT_COLUMNS_MIN
                };
                let widest = shown.iter_mut().filter(can_shrink).max_by_key(|(_, width)| *width);
                let Some((_, width)) = widest else { break };
                *width -= 1;
            }
        }
    }

    fn natural(&self, column: usize) -> usize {
        let cells = self.rows.iter().map(|row| row[column].width());
        cells.chain([self.columns[column].title.len()]).max().unwrap_or(0)
    }
}

/// How many columns of the screen are missing.
fn excess(shown: &[(usize, usize)], room: usize) -> usize {
    let gaps = GAP.len() * shown.len().saturating_sub(1);
    let needed = shown.iter().map(|(_, width)| width).sum::<usize>() + gaps;
    needed.saturating_sub(room)
}

/// Text on one line without control characters: what services answered must not steer the terminal.
pub fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(screen: Screen, expected: Expect) {
        let columns = [Column::whole("ID"), Column::number("N"), Column::text("WHY"), Column::text("NOTE")];
        let mut table = TextTable::new(columns);
        let row = |id: &str, n: &str, why: &str| {
            [Cell::new(id), Cell::new(n), Cell::toned(Tone::Bad, why), Cell::default()]
        };
        table.row(row("delivery-1", "1", "the drone service answered 503: no drone is free at this hour"));
        table.row(row("a-much-longer-id-of-a-run", "10000", "tab\tand \u{1b}[2Jescape"));
        expected.assert_eq(&table.render(&screen));
    }

    #[test]
    fn columns_line_up_and_empty_ones_are_hidden() {
        check(
            Screen { colour: false, width: None },
            expect![[r#"
                  ID                             N  WHY
                  delivery-1                     1  the drone service answered 503: no drone is free at this hour
                  a-much-longer-id-of-a-run  10000  tab and  [2Jescape
            "#]],
        );
    }

    #[test]
    fn text_is_cut_where_the_screen_ends_and_ids_stay_whole() {
        check(
            Screen { colour: false, width: Some(60) },
            expect![[r#"
                ID                             N  WHY
                delivery-1                     1  the drone service answere…
                a-much-longer-id-of-a-run  10000  tab and  [2Jescape
            "#]],
        );
        check(
            Screen { colour: false, width: Some(42) },
            expect![[r#"
                ID                             N  WHY
                delivery-1                     1  the dro…
                a-much-longer-id-of-a-run  10000  tab and…
            "#]],
        );
        check(
            Screen { colour: false, width: Some(41) },
            expect![[r#"
                ID                             N
                delivery-1                     1
                a-much-longer-id-of-a-run  10000
            "#]],
        );
        check(
            Screen { colour: false, width: Some(10) },
            expect![[r#"
                ID
                delivery-1
                a-much-lo…
            "#]],
        );
    }

    #[test]
    fn the_least_important_columns_give_way_first() {
        let columns = [Column::whole("NAME"), Column::text("STEPS").minor(), Column::text("WHY").major()];
        let mut table = TextTable::new(columns);
        table.row([Cell::new("order"), Cell::new("reserve pay ship"), Cell::new("stock was refused")]);
        let render = |width| table.render(&Screen { colour: false, width: Some(width) });
        expect![[r#"
            NAME   STEPS       WHY
            order  reserve p…  stock was refused
        "#]]
        .assert_eq(&render(36));
        expect![[r#"
            NAME   STEPS     WHY
            order  reserve…  stock was re…
        "#]]
        .assert_eq(&render(30));
        expect![[r#"
            NAME   WHY
            order  stock was re…
        "#]]
        .assert_eq(&render(20));
        expect![[r#"
            NAME
            ord…
        "#]]
        .assert_eq(&render(4));
    }

    #[test]
    fn no_line_is_wider_than_the_screen_whatever_is_in_it() {
        let columns = [
            Column::whole("ID"),
            Column::number("N"),
            Column::text("WHY"),
            Column::whole("STATE"),
            Column::text("NOTE").minor(),
        ];
        for width in 1..120 {
            let mut table = TextTable::new(columns).indented(width % 3);
            table.row(
                ["a-long-id-of-a-run", "123456", "日本語のテスト because of that", "running", "n"]
                    .map(Cell::new),
            );
            table.row(["b", "1", "", "half open", "a note that goes on and on and on"].map(Cell::new));
            let text = table.render(&Screen { colour: false, width: Some(width) });
            let widest = text.lines().map(screen::columns).max().unwrap_or(0);
            assert!(widest <= width, "{widest} > {width}\n{text}");
            let whole = table.render(&Screen { colour: false, width: None });
            assert!(whole.contains("日本語のテスト because of that") && !whole.contains('…'), "{whole}");
        }
    }

    #[test]
    fn an_indented_table_still_fits() {
        let mut table = TextTable::new([Column::text("A")]).indented(2);
        table.row([Cell::new("0123456789abcdef")]);
        assert_eq!(table.render(&Screen { colour: false, width: Some(12) }), "  A\n  012345678…\n");
    }

    #[test]
    fn colours_take_no_width() {
        let screen = Screen { colour: true, width: Some(60) };
        let mut table = TextTable::new([Column::text("A"), Column::whole("B")]);
        table.row([Cell::toned(Tone::Good, "ok"), Cell::new("x")]);
        assert_eq!(
            table.render(&screen),
            "\u{1b}[2mA\u{1b}[0m   \u{1b}[2mB\u{1b}[0m\n\u{1b}[32mok\u{1b}[0m  x\n"
        );
    }
}
