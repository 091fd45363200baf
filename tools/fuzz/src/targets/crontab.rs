//! Crontabs: every line that is read becomes a job that is read as well.

use std::collections::BTreeSet;

use schedule::{CrontabOptions, Limits, read_crontab, read_job};
use types::Timestamp;

use crate::Target;
use crate::input::{first_line, text};

pub const TARGET: Target = Target {
    name: "crontab",
    run,
    seeds,
    words: &[
        "curl ",
        "wget ",
        "-X POST",
        "--data '",
        "-H \"",
        "-d @file",
        "-fsS",
        "-o /dev/null",
        "-u user:pass",
        "--retry 3",
        "https://a.test/x?y=1",
        "CRON_TZ=",
        "TZ=",
        "Europe/Berlin",
        "@daily ",
        "@reboot ",
        "* * * * * ",
        " && ",
        " | ",
        "; ",
        "$(",
        "`",
        "\\",
        "2>&1",
        "#",
        "\"",
        "'",
    ],
    inputs: 1200,
};

fn run(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let (template, table) = first_line(text);
    let template = Some(template).filter(|template| template.starts_with("http"));
    match read_crontab(table, CrontabOptions { uri_template: template }) {
        Ok(lines) => {
            let names: BTreeSet<&str> = lines.iter().map(|line| line.name.as_str()).collect();
            assert_eq!(names.len(), lines.len(), "no two lines share a name");
            for line in &lines {
                assert!(read_job(&line.body, &Limits::default(), Timestamp(0)).is_ok(), "{line:?}");
                assert!((1..=table.lines().count()).contains(&line.number));
            }
        }
        Err(problems) => {
            for problem in problems.iter() {
                assert!(problem.field.is_empty() || problem.field.starts_with("line "), "{problem}");
                assert!(!problem.message.is_empty());
            }
        }
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let tables = [
        "\n# nightly\nCRON_TZ=Europe/Berlin\n0 3 * * * curl -fsS -X POST -H 'Content-Type: application/json' -d '{\"a\":1}' https://a.test/x\n@daily wget -q -O - https://a.test/y?z=1\n",
        "https://shell.test/run/{line}\n*/5 * * * * /usr/local/bin/backup.sh --all >/dev/null 2>&1\n15 4 1 * * rm -rf /tmp/x\n",
        "\nMAILTO=\"ops@a.test\"\n30 2 * * 1-5 curl --user \"me:secret\" \"https://a.test/\\\"q\\\"\"\n@reboot echo hi\n",
    ];
    tables.map(|text| text.as_bytes().to_vec()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last one has a line that cannot be a job.
    #[test]
    fn every_seed_but_the_last_is_accepted() {
        let seeds = seeds();
        let read = |seed: &Vec<u8>| {
            let (template, table) = first_line(text(seed).expect("seeds are text"));
            let uri_template = Some(template).filter(|template| template.starts_with("http"));
            read_crontab(table, CrontabOptions { uri_template }).map(|lines| lines.len())
        };
        assert_eq!(read(&seeds[0]).unwrap(), 2);
        assert_eq!(read(&seeds[1]).unwrap(), 2);
        assert!(read(&seeds[2]).is_err());
    }
}
