//! Settings, metrics and error codes as tables, generated from their definitions.

use std::collections::BTreeMap;

use super::table;

/// Every setting with its default.
pub fn config() -> String {
    let rows = server::reference::settings()
        .into_iter()
        .map(|setting| [format!("`{}`", setting.key), setting.default(), setting.meaning]);
    table(["key", "default", "meaning"], rows)
}

/// Every error code.
pub fn errors() -> String {
    let rows = rest::CODES.iter().map(|code| {
        [code.code.to_owned(), code.status.to_string(), code.means.to_owned(), code.remedy.to_owned()]
    });
    table(["code", "status", "what it means", "what to do"], rows)
}

/// One metric, parsed from the text of `/metrics`.
#[derive(Default)]
struct Metric {
    name: String,
    kind: String,
    help: String,
    /// The values that each label begins with.
    labels: BTreeMap<String, Vec<String>>,
}

/// Every metric of a text in the format of OpenMetrics.
pub fn metrics(text: &str) -> String {
    let mut metrics: Vec<Metric> = Vec::new();
    for line in text.lines() {
        if let Some((name, help)) = line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' ')) {
            let help = help.trim_end_matches('.').to_owned();
            metrics.push(Metric { name: name.to_owned(), help, ..Metric::default() });
            continue;
        }
        let Some(metric) = metrics.last_mut() else { continue };
        match line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
            Some((_, kind)) => kind.clone_into(&mut metric.kind),
            None => metric.note_labels(line),
        }
    }
    let rows = metrics.iter().map(|metric| {
        let labels = metric.labels.iter().map(|(label, values)| format!("{label}: {}", values.join(", ")));
        [metric.name.clone(), metric.kind.clone(), labels.collect::<Vec<_>>().join("; "), metric.help.clone()]
    });
    table(["name", "kind", "labels", "meaning"], rows)
}

impl Metric {
    fn note_labels(&mut self, series: &str) {
        let labels = series.split_once('{').and_then(|(_, rest)| rest.split_once('}'));
        let Some((labels, _)) = labels.filter(|_| !series.starts_with('#')) else { return };
        for (label, value) in labels.split(',').filter_map(|label| label.split_once('=')) {
            // The buckets of a histogram are not a label of ours.
            if label != "le" {
                self.labels.entry(label.to_owned()).or_default().push(value.trim_matches('"').to_owned());
            }
        }
        self.labels.values_mut().for_each(|values| values.sort());
    }
}
