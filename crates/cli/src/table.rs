//! A small table printer: columns as wide as they need to be, cut where the screen ends.

use crate::screen::{Screen, Tone};

const GAP: &str = "  ";
/// A column is not cut below this, or it would say nothing.
const CUT_CHARS_MIN: usize = 8;

/// One column of a table.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    title: &'static str,
    side: Side,
    cut: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

impl Column {
    /// Text that must stay whole, like an id that is copied.
    pub const fn whole(title: &'static str) -> Column {
        Column { title, side: Side::Left, cut: false }
    }

    /// Text that may be cut, and a column that is left out when nothing stands in it.
    pub const fn text(title: &'static str) -> Column {
        Column { title, side: Side::Left, cut: true }
    }

    /// Numbers.
    pub const fn number(title: &'static str) -> Column {
        Column { title, side: Side::Right, cut: false }
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
        self.text.chars().count()
    }
}

/// Rows under titles.
#[derive(Debug)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    indent: usize,
}

impl Table {
    pub fn new(columns: impl Into<Vec<Column>>) -> Table {
        Table { columns: columns.into(), rows: Vec::new(), indent: 0 }
    }

    /// The same table, `spaces` to the right.
    #[must_use]
    pub fn indented(self, spaces: usize) -> Table {
        Table { indent: spaces, ..self }
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

    /// The table as lines of text, each with its end.
    pub fn render(&self, screen: &Screen) -> String {
        let shown: Vec<usize> = (0..self.columns.len()).filter(|column| self.is_shown(*column)).collect();
        let widths = self.widths(&shown, screen.width.map(|width| width.saturating_sub(self.indent)));
        let titles: Vec<Cell> =
            self.columns.iter().map(|column| Cell::toned(Tone::Faint, column.title)).collect();
        let mut out = String::new();
        for row in std::iter::once(&titles).chain(&self.rows) {
            let mut line = " ".repeat(self.indent);
            for (place, (column, width)) in shown.iter().zip(&widths).enumerate() {
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

    fn is_shown(&self, column: usize) -> bool {
        !self.columns[column].cut || self.rows.iter().any(|row| !row[column].text.is_empty())
    }

    fn cell(&self, cell: &Cell, column: usize, width: usize, screen: &Screen) -> String {
        let text = cut(&cell.text, width);
        let space = " ".repeat(width - text.chars().count());
        let text = screen.paint(cell.tone, &text);
        match self.columns[column].side {
            Side::Left => text + &space,
            Side::Right => space + &text,
        }
    }

    /// The width of each shown column: what its widest cell needs, less what the screen does not have.
    fn widths(&self, shown: &[usize], screen: Option<usize>) -> Vec<usize> {
        let natural = |column: &usize| {
            let cells = self.rows.iter().map(|row| row[*column].width());
            cells.chain([self.columns[*column].title.len()]).max().unwrap_or(0)
        };
        let mut widths: Vec<usize> = shown.iter().map(natural).collect();
        let Some(screen) = screen else { return widths };
        let gaps = GAP.len() * shown.len().saturating_sub(1);
        while widths.iter().sum::<usize>() + gaps > screen {
            let can_shrink =
                |place: &usize| self.columns[shown[*place]].cut && widths[*place] > CUT_CHARS_MIN;
            let widest = (0..shown.len()).filter(can_shrink).max_by_key(|place| widths[*place]);
            let Some(widest) = widest else { break };
            widths[widest] -= 1;
        }
        widths
    }
}

/// Text on one line without control characters: what services answered must not steer the terminal.
pub fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// At most `chars` of a text; the last one says if there was more.
pub fn cut(text: &str, chars: usize) -> String {
    if text.chars().count() <= chars {
        return text.to_owned();
    }
    let kept: String = text.chars().take(chars.saturating_sub(1)).collect();
    format!("{kept}…")
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(screen: Screen, expected: Expect) {
        let columns = [Column::whole("ID"), Column::number("N"), Column::text("WHY"), Column::text("NOTE")];
        let mut table = Table::new(columns);
        let row = |id: &str, n: &str, why: &str| {
            [Cell::new(id), Cell::new(n), Cell::toned(Tone::Bad, why), Cell::default()]
        };
        table.row(row("delivery-1", "1", "the drone service answered 503: no drone is free at this hour"));
        table.row(row("a-much-longer-id-of-a-run", "10000", "tab\tand \u{1b}[2Jescape"));
        expected.assert_eq(&table.render(&screen));
    }

    #[test]
    fn columns_line_up_and_empty_ones_are_left_out() {
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
            Screen { colour: false, width: Some(10) },
            expect![[r#"
                  ID                             N  WHY
                  delivery-1                     1  the dro…
                  a-much-longer-id-of-a-run  10000  tab and…
            "#]],
        );
    }

    #[test]
    fn an_indented_table_still_fits() {
        let mut table = Table::new([Column::text("A")]).indented(2);
        table.row([Cell::new("0123456789abcdef")]);
        assert_eq!(table.render(&Screen { colour: false, width: Some(12) }), "  A\n  012345678…\n");
    }

    #[test]
    fn colours_take_no_width() {
        let screen = Screen { colour: true, width: Some(60) };
        let mut table = Table::new([Column::text("A"), Column::whole("B")]);
        table.row([Cell::toned(Tone::Good, "ok"), Cell::new("x")]);
        assert_eq!(
            table.render(&screen),
            "\u{1b}[2mA\u{1b}[0m   \u{1b}[2mB\u{1b}[0m\n\u{1b}[32mok\u{1b}[0m  x\n"
        );
    }
}
