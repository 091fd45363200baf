//! A store in a cloud: S3 and compatible services, Azure Blob Storage, Google Cloud Storage.
//!
//! Credentials come from the environment, in the variables of each cloud's own tools (`AWS_…`, `AZURE_…`, `GOOGLE_…`), or
//! from the identity of the machine; never from the address.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::TryStreamExt;
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt};

use crate::store::{Store, StoreError};

/// The prefixes of the environment variables that configure a store.
const CLOUDS: [&str; 3] = ["AWS_", "AZURE_", "GOOGLE_"];

/// Objects in a bucket or container, below a prefix.
#[derive(Debug, Clone)]
pub struct Cloud {
    objects: Arc<dyn ObjectStore>,
    /// Empty, or ends with `/`.
    prefix: String,
}

impl Cloud {
    /// `s3://bucket/prefix`, `az://container/prefix`, `gs://bucket/prefix`.
    pub fn open(address: &str) -> Result<Cloud, StoreError> {
        // Another caller may have installed the same provider.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let failed = |error: &dyn std::fmt::Display| StoreError::new("opening the store", address, error);
        let address = url::Url::parse(address).map_err(|error| failed(&error))?;
        // Without the filter it would also use `TOKEN`, `REGION` or `ENDPOINT`, which may belong to other programs.
        let variables =
            std::env::vars().filter(|(name, _)| CLOUDS.iter().any(|cloud| name.starts_with(cloud)));
        let opened = object_store::parse_url_opts(&address, variables);
        let (objects, path) = opened.map_err(|error| failed(&error))?;
        let prefix = if path.as_ref().is_empty() { String::new() } else { format!("{path}/") };
        Ok(Cloud { objects: objects.into(), prefix })
    }

    fn path(&self, name: &str) -> Path {
        Path::from(format!("{}{name}", self.prefix))
    }
}

impl Store for Cloud {
    async fn put(&self, name: &str, bytes: Bytes) -> Result<(), StoreError> {
        let put = self.objects.put(&self.path(name), bytes.into()).await;
        put.map(drop).map_err(|error| StoreError::new("putting", name, error))
    }

    async fn get(&self, name: &str) -> Result<Option<Bytes>, StoreError> {
        let read = async { self.objects.get(&self.path(name)).await?.bytes().await };
        match read.await {
            Ok(bytes) => Ok(Some(bytes)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(StoreError::new("reading", name, error)),
        }
    }

    async fn list(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        let listed: Result<Vec<_>, Error> =
            self.objects.list(Some(&self.path(prefix))).map_ok(|object| object.location).try_collect().await;
        let listed = listed.map_err(|error| StoreError::new("listing", prefix, error))?;
        let own = |path: &Path| path.as_ref().strip_prefix(&self.prefix).map(str::to_owned);
        Ok(listed.iter().filter_map(own).collect())
    }

    async fn delete(&self, name: &str) -> Result<(), StoreError> {
        match self.objects.delete(&self.path(name)).await {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(StoreError::new("deleting", name, error)),
        }
    }
}
