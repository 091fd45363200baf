//! The journal on real servers: what every journal keeps, and what only a cluster can break.

#![allow(clippy::unwrap_used)]

mod afar;
mod cluster;
mod conforms;
mod faults;
mod fencing;
mod full;
mod lossy;
mod preflight;
mod restored;
mod tls;
