//! The dashboard, as the API serves it.

use bytes::Bytes;
use dashboard::Dashboard;
use http::{HeaderMap, HeaderValue, Request};
use rest::{Ask, Pages, PagesAnswer};
use tokio::sync::watch;

/// The pages of the dashboard.
#[derive(Default)]
pub(crate) struct DashboardPages(Dashboard);

impl Pages for DashboardPages {
    fn authorization(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        Dashboard::authorization(headers)
    }

    fn answer(&self, request: Request<Bytes>, ask: Ask, stopping: watch::Receiver<bool>) -> PagesAnswer<'_> {
        Box::pin(self.0.answer(request, ask, stopping))
    }
}
