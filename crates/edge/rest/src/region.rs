//! The seam to the regions: what the API asks of them, and what it answers while another region is active.

use std::pin::Pin;
use std::sync::Arc;

use api_types::{DrillView, PromotedView, RegionView, TailRequestView};
use tokio::sync::mpsc;

use crate::error::ApiError;
use crate::routes::OnStandby;

/// An answer that takes a while.
pub type RegionReply<'a, T> = Pin<Box<dyn Future<Output = Result<T, RegionRefusal>> + Send + 'a>>;

/// Why a region refused a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegionRefusal {
    /// It cannot be done as things are.
    #[error("{0}")]
    Conflict(String),
    /// Somebody who is needed did not answer.
    #[error("{0}")]
    Unavailable(String),
}

/// Whether a promotion waits for the pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Force {
    No,
    Yes,
    /// Even if the region has never had everything.
    Incomplete,
}

/// The regions of an installation.
pub trait RegionControl: Send + Sync {
    fn status(&self) -> RegionReply<'_, RegionView>;
    fn promote(&self, force: Force) -> RegionReply<'_, PromotedView>;
    fn demote(&self) -> RegionReply<'_, RegionView>;
    fn drill(&self, switch: bool) -> RegionReply<'_, DrillView>;
    /// The requests that an inbox of the newest divergent tail holds; none when there is no such inbox in it.
    fn tail_requests(&self, stream: String) -> RegionReply<'_, Option<mpsc::Receiver<TailRequestView>>>;

    /// `None` while this region is active; else the region that is, if it is known.
    fn standing_by(&self) -> Option<StandingBy>;
}

/// This region is not the active one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandingBy {
    pub region: String,
    pub active: Option<String>,
}

/// This region and its pair, where there are regions. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Regions(pub Option<Arc<dyn RegionControl>>);

impl Regions {
    pub(crate) fn control(&self) -> Result<&dyn RegionControl, ApiError> {
        let none =
            || ApiError::NotFound("this installation has no regions; region.name sets them up".to_owned());
        self.0.as_deref().ok_or_else(none)
    }
}

/// Why a call is not answered here, if another region is active.
pub(crate) fn refusal(regions: &Regions, route: OnStandby) -> Option<ApiError> {
    let standing_by = regions.0.as_deref()?.standing_by()?;
    match route {
        OnStandby::Answer => None,
        OnStandby::Refuse => Some(ApiError::Standby(standing_by)),
    }
}

#[cfg(test)]
mod tests {
    use engine::Catalog;
    use http::Method;

    use super::*;
    use crate::router::Endpoint;

    struct Standby;

    impl RegionControl for Standby {
        fn status(&self) -> RegionReply<'_, RegionView> {
            Box::pin(async { Err(RegionRefusal::Unavailable(String::new())) })
        }
        fn promote(&self, _force: Force) -> RegionReply<'_, PromotedView> {
            Box::pin(async { Err(RegionRefusal::Unavailable(String::new())) })
        }
        fn demote(&self) -> RegionReply<'_, RegionView> {
            Box::pin(async { Err(RegionRefusal::Unavailable(String::new())) })
        }
        fn drill(&self, _switch: bool) -> RegionReply<'_, DrillView> {
            Box::pin(async { Err(RegionRefusal::Unavailable(String::new())) })
        }
        fn tail_requests(&self, _stream: String) -> RegionReply<'_, Option<mpsc::Receiver<TailRequestView>>> {
            Box::pin(async { Ok(None) })
        }
        fn standing_by(&self) -> Option<StandingBy> {
            Some(StandingBy { region: "west".to_owned(), active: Some("east".to_owned()) })
        }
    }

    fn on_standby(path: &str) -> OnStandby {
        let method = if path.contains(':') { Method::POST } else { Method::GET };
        Endpoint::find(&method, path, &Catalog::default()).on_standby()
    }

    #[test]
    fn a_standby_names_the_active_region_and_answers_for_itself_alone() {
        let standby = Regions(Some(Arc::new(Standby)));
        for path in ["/livez", "/metrics", "/v1/region", "/v1/region:promote"] {
            assert!(refusal(&standby, on_standby(path)).is_none(), "{path}");
        }
        for path in ["/v1/runs", "/v1/workflows/a/runs", "/v1/regional", "/hook"] {
            let problem = refusal(&standby, on_standby(path)).unwrap().problem();
            assert_eq!((problem.status, problem.code.as_str()), (503, "standby"));
            assert!(problem.detail.contains("east"), "{}", problem.detail);
        }
        assert!(refusal(&Regions(None), on_standby("/v1/runs")).is_none());
    }
}
