//! Names of queues, topics and subscriptions, which are kept in lower case: Service Bus takes names in any case.

use kernel::queue::QueueRef;
use types::QueueName;
use workflow::RESERVED_ROUTES;

use crate::error::ApiError;

/// The queue or subscription with these names.
pub(crate) fn queue_ref(name: &str, subscription: Option<&str>) -> Result<QueueRef, ApiError> {
    let subscription = subscription.map(queue_name).transpose()?;
    Ok(QueueRef { name: queue_name(name)?, subscription })
}

fn queue_name(text: &str) -> Result<QueueName, ApiError> {
    QueueName::new(&text.to_ascii_lowercase()).map_err(|error| ApiError::BadRequest(error.to_string()))
}

/// A name for something new: not one that its own path could not be reached by.
pub(crate) fn new_queue_name(text: &str) -> Result<QueueName, ApiError> {
    let name = queue_name(text)?;
    if is_reserved(name.as_str()) {
        return Err(ApiError::BadQueue(format!(
            "name: '{name}' is a path of the API itself; choose another"
        )));
    }
    Ok(name)
}

/// Whether the first part of a path is one of the API's own.
pub(crate) fn is_reserved(first: &str) -> bool {
    RESERVED_ROUTES.iter().any(|reserved| reserved[1..].eq_ignore_ascii_case(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_the_api_is_not_a_name_for_a_queue() {
        assert!(new_queue_name("V1").is_err());
        assert_eq!(new_queue_name("Orders").unwrap().as_str(), "orders");
    }
}
