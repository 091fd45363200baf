//! Who signs in at a service: its user, and the secret that the environment holds.

use brokers::Login;
use vault::Secret;
use workflow::Service;

/// The beginning of the names of variables that hold secrets.
const SECRET_PREFIX: &str = "SORTIE_SECRET_";

/// Reads a variable of the environment.
pub type Environment = fn(&str) -> Option<String>;

/// The environment of the process.
pub const PROCESS: Environment = |name| std::env::var(name).ok();

/// The secret of a service, as the environment has it now; an error names the variable that is missing.
pub(crate) fn secret_of(service: &Service, environment: Environment) -> Result<Option<Secret>, String> {
    let Some(name) = &service.secret else { return Ok(None) };
    let variable = format!("{SECRET_PREFIX}{}", name.to_ascii_uppercase().replace('-', "_"));
    match environment(&variable) {
        Some(value) if !value.is_empty() => Ok(Some(Secret::new(value))),
        _ => Err(format!(
            "service '{}' signs in with the environment variable {variable}, which is not set",
            service.name
        )),
    }
}

/// How to sign in at a broker; nothing when the service names no user.
pub fn login_of(service: &Service, environment: Environment) -> Result<Option<Login>, String> {
    let secret = secret_of(service, environment)?;
    let login =
        |(username, secret): (String, Secret)| Login { username, password: secret.expose().to_owned() };
    Ok(service.username.clone().zip(secret).map(login))
}
