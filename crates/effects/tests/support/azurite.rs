//! Azurite's queue service on a free port of loopback, gone with its handle.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use effects::{Request, Url};
use http::Method;
use ring::hmac;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::OnceCell;

use super::client;

/// Newer ones do not run on Node 20.
const PACKAGE: &str = "azurite@3.35.0";
/// Azurite's own account and its key, the same in every installation.
const ACCOUNT: &str = "devstoreaccount1";
const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

pub struct Azurite {
    origin: String,
    _process: Child,
}

impl Azurite {
    /// Starts it; `None` where there is no npm to install it with.
    pub async fn start() -> Option<Azurite> {
        static PROGRAM: OnceCell<Option<PathBuf>> = OnceCell::const_new();
        let program = PROGRAM.get_or_init(install).await.as_ref()?;
        let arguments = ["--queueHost", "127.0.0.1", "--queuePort", "0", "--inMemoryPersistence"];
        let mut process = Command::new(program)
            .args(arguments)
            .arg("--disableTelemetry")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("azurite starts");
        let mut lines = BufReader::new(process.stdout.take().expect("its output is piped")).lines();
        let origin = async {
            while let Some(line) = lines.next_line().await.expect("its output is text") {
                if let Some((_, origin)) = line.split_once("successfully listens on ") {
                    return origin.trim().to_owned();
                }
            }
            panic!("azurite ended before it listened")
        };
        let origin = tokio::time::timeout(Duration::from_secs(120), origin).await.expect("azurite listens");
        // It stops when nobody reads what it says.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Some(Azurite { origin, _process: process })
    }

    pub fn account_url(&self) -> String {
        format!("{}/{ACCOUNT}", self.origin)
    }

    /// A token for everything in the account's queues.
    pub fn sas(&self) -> String {
        let (permissions, expiry, version) = ("rwdlacup", "2099-01-01T00:00:00Z", "2020-10-02");
        let text = format!("{ACCOUNT}\n{permissions}\nq\nsco\n\n{expiry}\n\n\n{version}\n");
        let key = hmac::Key::new(hmac::HMAC_SHA256, &STANDARD.decode(KEY).expect("base64"));
        let signature = STANDARD.encode(hmac::sign(&key, text.as_bytes()));
        let signature = signature.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
        format!("?sv={version}&ss=q&srt=sco&sp={permissions}&se={expiry}&sig={signature}")
    }

    pub async fn create_queue(&self, name: &str) {
        let (status, body) = self.ask(Method::PUT, &format!("/{name}")).await;
        assert_eq!(status, 201, "{body}");
    }

    /// The text of the next message, out of its base64.
    pub async fn receive(&self, queue: &str) -> String {
        let (status, body) = self.ask(Method::GET, &format!("/{queue}/messages")).await;
        assert_eq!(status, 200, "{body}");
        let text = body.split("MessageText>").nth(1).unwrap_or_else(|| panic!("no message: {body}"));
        let text = STANDARD.decode(text.trim_end_matches("</")).expect("base64");
        String::from_utf8(text).expect("text")
    }

    async fn ask(&self, method: Method, path: &str) -> (u16, String) {
        let url = format!("{}{path}{}", self.account_url(), self.sas());
        let mut request = Request::new(method, Url::parse(&url).expect("a URL"));
        request.body = Some(bytes::Bytes::new());
        let answer = client().send(request).await.expect("azurite answers");
        (answer.status, String::from_utf8_lossy(&answer.body).into_owned())
    }
}

/// Where its program is; installs it with npm when it is not there yet.
async fn install() -> Option<PathBuf> {
    let dir = std::env::temp_dir().join(format!("sortie-{}", PACKAGE.replace('@', "-")));
    let program = dir.join("node_modules/.bin/azurite-queue");
    if program.exists() {
        return Some(program);
    }
    eprintln!("installing {PACKAGE} into {}", dir.display());
    // Into a folder of its own first, so that nobody finds half of it.
    let half = dir.with_extension(std::process::id().to_string());
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--prefix"]).arg(&half).arg(PACKAGE);
    match npm.stdout(Stdio::null()).status().await {
        Ok(status) => assert!(status.success(), "npm cannot install {PACKAGE}"),
        Err(error) => {
            eprintln!("not tested: npm cannot be started: {error}");
            return None;
        }
    }
    if std::fs::rename(&half, &dir).is_err() {
        // Somebody else was faster.
        let _ = std::fs::remove_dir_all(&half);
    }
    Some(program)
}
