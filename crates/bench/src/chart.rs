//! Charts as SVG, without a library: lines over time, one panel below the other.

mod axis;

use std::fmt::Write;

use self::axis::{label, linear_ticks, log_ticks};

const WIDTH: f64 = 880.0;
const LEFT: f64 = 76.0;
const RIGHT: f64 = 24.0;
const HEAD: f64 = 62.0;
const PANEL: f64 = 168.0;
/// Between two panels: the axis of the one above, title and legend of the one below.
const GAP: f64 = 66.0;
const FOOT: f64 = 48.0;

/// Colours that differ on light and dark backgrounds, also for colour-blind readers.
const STYLE: &str = "
  .ground { fill: #ffffff } .text { fill: #24292f } .faint { fill: #57606a }
  .grid { stroke: #d0d7de; stroke-width: 1 } .band { fill: #afb8c1; opacity: 0.25 }
  text { font-family: system-ui, sans-serif; font-size: 12px } .title { font-size: 16px; font-weight: 600 }
  .panel { font-weight: 600 } .line { fill: none; stroke-width: 2; stroke-linejoin: round }
  .blue { stroke: #0969da } .orange { stroke: #bc4c00 } .green { stroke: #1a7f37 }
  .red { stroke: #cf222e } .grey { stroke: #818b98 }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #0d1117 } .text { fill: #e6edf3 } .faint { fill: #9198a1 } .grid { stroke: #30363d }
    .blue { stroke: #4493f8 } .orange { stroke: #f0883e } .green { stroke: #3fb950 }
    .red { stroke: #f85149 } .grey { stroke: #9198a1 }
  }
";

/// Panels over the same time.
pub struct Chart {
    pub title: String,
    /// Where and on what it was measured.
    pub subtitle: String,
    /// Times that stand out, with what they are.
    pub bands: Vec<(f64, f64, String)>,
    pub panels: Vec<Panel>,
}

pub struct Panel {
    pub title: &'static str,
    pub unit: &'static str,
    pub scale: Scale,
    pub lines: Vec<Line>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    Linear,
    Log,
}

pub struct Line {
    name: &'static str,
    /// The name of a colour in the style.
    colour: &'static str,
    points: Vec<(f64, f64)>,
}

impl Line {
    pub fn new(name: &'static str, colour: &'static str, points: Vec<(f64, f64)>) -> Line {
        Line { name, colour, points }
    }
}

/// Where the time is on the page, and where the values of a panel are.
struct Frame {
    seconds_max: f64,
    top: f64,
    low: f64,
    high: f64,
    scale: Scale,
}

impl Chart {
    pub fn render(&self) -> String {
        let panels = self.panels.len() as f64;
        let height = HEAD + panels * PANEL + (panels - 1.0).max(0.0) * GAP + FOOT;
        let seconds_max = self.seconds_max();
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\">\n<title>{}</title>\n<style>{STYLE}</style>\n<rect class=\"ground\" width=\"{WIDTH}\" height=\"{height}\"/>\n",
            escape(&self.title)
        );
        text(&mut svg, LEFT, 22.0, "title text", "start", &self.title);
        text(&mut svg, LEFT, 40.0, "faint", "start", &self.subtitle);
        for (place, panel) in self.panels.iter().enumerate() {
            let top = HEAD + 14.0 + place as f64 * (PANEL + GAP);
            let frame = Frame::of(panel, top, seconds_max);
            self.draw_bands(&mut svg, &frame);
            if place == 0 {
                self.name_bands(&mut svg, &frame);
            }
            draw(&mut svg, panel, &frame);
        }
        svg + "</svg>\n"
    }

    fn seconds_max(&self) -> f64 {
        let points = self.panels.iter().flat_map(|panel| &panel.lines).flat_map(|line| &line.points);
        points.map(|(second, _)| second.ceil()).fold(1.0, f64::max)
    }

    fn draw_bands(&self, svg: &mut String, frame: &Frame) {
        for (from, until, _) in &self.bands {
            let (x, end) = (frame.x(*from), frame.x(until.min(frame.seconds_max)));
            let (top, width, height) = (frame.top, (end - x).max(0.0), frame.bottom() - frame.top);
            write(
                svg,
                format_args!(
                    "<rect class=\"band\" x=\"{x:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>\n"
                ),
            );
        }
    }

    /// Once is enough: the panels have the same time.
    fn name_bands(&self, svg: &mut String, frame: &Frame) {
        for (from, _, name) in &self.bands {
            text(svg, frame.x(*from) + 4.0, frame.top + 13.0, "faint", "start", name);
        }
    }
}

/// Draws the axes of a panel, its lines and what they are.
fn draw(svg: &mut String, panel: &Panel, frame: &Frame) {
    let ticks = match panel.scale {
        Scale::Linear => linear_ticks(frame.high),
        Scale::Log => log_ticks(frame.low, frame.high),
    };
    let right = WIDTH - RIGHT;
    for tick in ticks {
        let y = frame.y(tick);
        write(
            svg,
            format_args!("<line class=\"grid\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\n"),
        );
        text(svg, LEFT - 8.0, y + 4.0, "faint", "end", &label(tick));
    }
    for tick in linear_ticks(frame.seconds_max).into_iter().filter(|tick| *tick <= frame.seconds_max) {
        text(svg, frame.x(tick), frame.bottom() + 18.0, "faint", "middle", &format!("{} s", label(tick)));
    }
    for line in &panel.lines {
        frame.draw_line(svg, line);
    }
    let title = format!("{} ({})", panel.title, panel.unit);
    text(svg, LEFT, frame.top - 8.0, "panel text", "start", &title);
    draw_legend(svg, panel, frame.top - 8.0);
}

impl Frame {
    fn of(panel: &Panel, top: f64, seconds_max: f64) -> Frame {
        let values = || panel.lines.iter().flat_map(|line| &line.points).map(|(_, value)| *value);
        let highest = values().fold(0.0, f64::max);
        let (low, high) = match panel.scale {
            Scale::Linear => (0.0, linear_ticks(highest).last().copied().unwrap_or(1.0)),
            Scale::Log => {
                let lowest = values().filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
                let ticks = log_ticks(lowest.min(highest).max(0.001), highest.max(0.01));
                (ticks[0], ticks[ticks.len() - 1])
            }
        };
        Frame { seconds_max, top, low, high, scale: panel.scale }
    }

    fn bottom(&self) -> f64 {
        self.top + PANEL - 14.0
    }

    fn x(&self, second: f64) -> f64 {
        LEFT + second / self.seconds_max * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear => value / self.high,
            Scale::Log => (value.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
        };
        self.top + (PANEL - 14.0) * (1.0 - share)
    }

    fn draw_line(&self, svg: &mut String, line: &Line) {
        let points: Vec<String> = line
            .points
            .iter()
            .map(|(second, value)| format!("{:.1},{:.1}", self.x(*second), self.y(*value)))
            .collect();
        if !points.is_empty() {
            write(
                svg,
                format_args!("<polyline class=\"line {}\" points=\"{}\"/>\n", line.colour, points.join(" ")),
            );
        }
    }
}

/// The names of the lines at the right, on the height of the panel's title.
fn draw_legend(svg: &mut String, panel: &Panel, y: f64) {
    let mut x = WIDTH - RIGHT;
    for line in panel.lines.iter().rev() {
        text(svg, x, y, "text", "end", line.name);
        x -= line.name.len() as f64 * 7.0 + 8.0;
        write(
            svg,
            format_args!(
                "<line class=\"line {}\" x1=\"{:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{:.1}\"/>\n",
                line.colour,
                x - 18.0,
                y - 4.0,
                y - 4.0
            ),
        );
        x -= 34.0;
    }
}

fn text(svg: &mut String, x: f64, y: f64, class: &str, anchor: &str, words: &str) {
    let words = escape(words);
    write(
        svg,
        format_args!(
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>\n"
        ),
    );
}

fn write(svg: &mut String, words: std::fmt::Arguments<'_>) {
    svg.write_fmt(words).expect("a string takes everything");
}

fn escape(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests;
