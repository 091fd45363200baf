//! Where a collection is: in a resource group of a subscription, as Azure has it.

use schedule::Scope;

/// Where a collection is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CollectionPath {
    pub subscription: String,
    pub group: String,
    pub name: String,
}

impl CollectionPath {
    /// The id that the collection is stored under.
    pub(crate) fn id(&self) -> String {
        kernel::job::collection_id(&self.subscription, &self.group, &self.name)
    }

    pub(crate) fn scope(&self) -> Scope<'_> {
        Scope { subscription: &self.subscription, resource_group: &self.group }
    }
}
