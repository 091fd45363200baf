//! The output of `sortie cluster dev`: text, or lines of JSON.

use std::process::ExitStatus;

use drone_delivery::workflows;
use serde::Serialize;

use super::dev::Directory;
use super::keys::Keys;
use super::plan::ClusterLayout;
use crate::json::one_line;
use crate::screen;

/// The output format.
pub struct ClusterReport {
    pub json: bool,
}

/// An event as a line of JSON.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum ReportEvent<'a> {
    Ready {
        /// For SORTIE_TOKEN: valid only for this cluster, which ends with the command.
        token: &'a str,
        data: String,
        members: Vec<ReportedMember<'a>>,
    },
    Ended {
        member: &'a str,
        status: String,
        command: &'a str,
    },
    Stopping,
}

#[derive(Debug, Serialize)]
struct ReportedMember<'a> {
    name: &'a str,
    kind: &'static str,
    region: usize,
    url: String,
    pid: u32,
}

impl ClusterReport {
    pub fn ready(
        &self,
        plan: &ClusterLayout,
        pid_of: impl Fn(&str) -> u32,
        keys: &Keys,
        directory: &Directory,
    ) -> anyhow::Result<()> {
        if !self.json {
            return Ok(screen::print(&welcome(plan, pid_of, keys, directory))?);
        }
        let mut members = Vec::new();
        for (region, place) in plan.regions.iter().zip(1..) {
            let member =
                |name, kind, url| ReportedMember { name, kind, region: place, url, pid: pid_of(name) };
            members.extend(region.instances.iter().map(|one| member(&one.name, "sortie", one.url())));
            members.extend(
                region.nats.iter().zip(region.nats_urls()).map(|(node, url)| member(&node.name, "nats", url)),
            );
        }
        say(&ReportEvent::Ready { token: &keys.token, data: directory.path().display().to_string(), members })
    }

    /// A member has ended on its own.
    pub fn ended(&self, member: &str, status: &ExitStatus, command: &str) -> anyhow::Result<()> {
        if self.json {
            return say(&ReportEvent::Ended { member, status: status.to_string(), command });
        }
        Ok(screen::print(&format!("{member} ended: {status}; start it again with\n  {command}\n"))?)
    }

    pub fn stopping(&self) -> anyhow::Result<()> {
        if self.json {
            return say(&ReportEvent::Stopping);
        }
        Ok(screen::print("\nShutting down; press Ctrl-C again to stop at once.\n")?)
    }
}

fn say(line: &ReportEvent<'_>) -> anyhow::Result<()> {
    Ok(screen::print(&(serde_json::to_string(line)? + "\n"))?)
}

fn welcome(plan: &ClusterLayout, pid_of: impl Fn(&str) -> u32, keys: &Keys, directory: &Directory) -> String {
    let mut text = String::from("The cluster is ready.\n\n");
    for region in &plan.regions {
        for instance in &region.instances {
            text.push_str(&format!(
                "  {:14} {:28} pid {}\n",
                instance.name,
                instance.url(),
                pid_of(&instance.name)
            ));
        }
        for (node, url) in region.nats.iter().zip(region.nats_urls()) {
            text.push_str(&format!("  {:14} {url:28} pid {}\n", node.name, pid_of(&node.name)));
        }
    }
    let kept = match directory {
        Directory::Named(_) => "",
        Directory::Temporary(_) => " (temporary; keep it with --data DIR)",
    };
    let program = crate::dev::program();
    let home = &plan.regions[0];
    let [first, second] = [&home.instances[0], &home.instances[1]];
    text.push_str(&format!(
        "  {:14} {}{kept}

Try, in another terminal:
  export SORTIE_TOKEN={}
  curl -s {}/api/deliveryrequests -H \"authorization: Bearer $SORTIE_TOKEN\" -H 'content-type: application/json' -d '{}'
  {program} --url {} run show delivery-1
  {program} --url {} partition list
  kill -KILL {}      its partitions go on elsewhere
  kill -STOP {}      and -CONT: whoever wakes up is refused
",
        "data",
        directory.path().display(),
        keys.token,
        first.url(),
        one_line(workflows::SAMPLE_REQUEST),
        second.url(),
        second.url(),
        pid_of(&home.instances[2].name),
        pid_of(&second.name),
    ));
    if let Some(standby) = plan.regions.get(1) {
        let url = standby.instances[0].url();
        text.push_str(&format!(
            "  {program} --url {url} region status\n  {program} --url {url} region promote\n"
        ));
    }
    text.push_str("\nPress Ctrl-C to stop.\n");
    text
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn each_line_of_json_names_its_event() {
        let member = ReportedMember {
            name: "local-1",
            kind: "sortie",
            region: 1,
            url: "http://127.0.0.1:7070".to_owned(),
            pid: 7,
        };
        let lines = [
            ReportEvent::Ready { token: "t", data: "/d".to_owned(), members: vec![member] },
            ReportEvent::Ended { member: "local-1", status: "signal: 9".to_owned(), command: "sortie serve" },
            ReportEvent::Stopping,
        ];
        let text: Vec<String> = lines.iter().map(|line| serde_json::to_string(line).unwrap()).collect();
        expect![[r#"
            {"event":"ready","token":"t","data":"/d","members":[{"name":"local-1","kind":"sortie","region":1,"url":"http://127.0.0.1:7070","pid":7}]}
            {"event":"ended","member":"local-1","status":"signal: 9","command":"sortie serve"}
            {"event":"stopping"}"#]].assert_eq(&text.join("\n"));
    }
}
