//! The store that is configured: an address, or NATS.

use std::path::PathBuf;

use bytes::Bytes;

use crate::bucket::Bucket;
#[cfg(feature = "cloud")]
use crate::cloud::Cloud;
use crate::directory::Directory;
use crate::store::{Store, StoreError};

/// One of the stores.
#[derive(Clone)]
pub enum AnyStore {
    Directory(Directory),
    Bucket(Box<Bucket>),
    #[cfg(feature = "cloud")]
    Cloud(Cloud),
}

/// Why an address is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error("file:// needs a path that begins with /, as in file:///mnt/snapshots")]
    Relative,
    #[error(
        "the place of the snapshots begins with none of s3://, az://, gs:// and file://; \
         say nats to keep them in NATS"
    )]
    Scheme,
    #[error("this program was built without the feature `cloud`: use file:// or keep snapshots in NATS")]
    NoCloud,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// An address as it may be shown and compared: without credentials.
pub fn without_secrets(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (authority, path) = rest.split_once('/').map_or((rest, ""), |(authority, path)| (authority, path));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}/{path}").trim_end_matches('/').to_owned()
}

impl AnyStore {
    /// `s3://bucket/prefix`, `az://container/prefix`, `gs://bucket/prefix` or `file:///directory`.
    pub fn at(address: &str) -> Result<AnyStore, AddressError> {
        match address.split_once("://") {
            Some(("file", path)) if path.starts_with('/') => {
                Ok(AnyStore::Directory(Directory::new(PathBuf::from(path))))
            }
            Some(("file", _)) => Err(AddressError::Relative),
            Some(("s3" | "az" | "gs", _)) => in_cloud(address),
            _ => Err(AddressError::Scheme),
        }
    }
}

#[cfg(feature = "cloud")]
fn in_cloud(address: &str) -> Result<AnyStore, AddressError> {
    Ok(AnyStore::Cloud(Cloud::open(address)?))
}

#[cfg(not(feature = "cloud"))]
fn in_cloud(_: &str) -> Result<AnyStore, AddressError> {
    Err(AddressError::NoCloud)
}

impl Store for AnyStore {
    async fn put(&self, name: &str, bytes: Bytes) -> Result<(), StoreError> {
        match self {
            AnyStore::Directory(store) => store.put(name, bytes).await,
            AnyStore::Bucket(store) => store.put(name, bytes).await,
            #[cfg(feature = "cloud")]
            AnyStore::Cloud(store) => store.put(name, bytes).await,
        }
    }

    async fn get(&self, name: &str) -> Result<Option<Bytes>, StoreError> {
        match self {
            AnyStore::Directory(store) => store.get(name).await,
            AnyStore::Bucket(store) => store.get(name).await,
            #[cfg(feature = "cloud")]
            AnyStore::Cloud(store) => store.get(name).await,
        }
    }

    async fn list(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        match self {
            AnyStore::Directory(store) => store.list(prefix).await,
            AnyStore::Bucket(store) => store.list(prefix).await,
            #[cfg(feature = "cloud")]
            AnyStore::Cloud(store) => store.list(prefix).await,
        }
    }

    async fn delete(&self, name: &str) -> Result<(), StoreError> {
        match self {
            AnyStore::Directory(store) => store.delete(name).await,
            AnyStore::Bucket(store) => store.delete(name).await,
            #[cfg(feature = "cloud")]
            AnyStore::Cloud(store) => store.delete(name).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_compared_without_its_secrets() {
        for (address, shown) in [
            ("nats", "nats"),
            ("file:///mnt/shared/", "file:///mnt/shared"),
            ("s3://bucket", "s3://bucket"),
            ("s3://key:secret@bucket/prefix/?token=x", "s3://bucket/prefix"),
        ] {
            assert_eq!(without_secrets(address), shown);
        }
    }

    #[test]
    fn addresses_name_a_store_or_say_what_to_write() {
        assert!(matches!(AnyStore::at("file:///mnt/snapshots"), Ok(AnyStore::Directory(_))));
        assert_eq!(AnyStore::at("file://mnt").err(), Some(AddressError::Relative));
        for address in ["", "/mnt", "ftp://x", "S3//x"] {
            assert_eq!(AnyStore::at(address).err(), Some(AddressError::Scheme), "{address}");
        }
        #[cfg(not(feature = "cloud"))]
        assert_eq!(AnyStore::at("s3://bucket").err(), Some(AddressError::NoCloud));
        #[cfg(feature = "cloud")]
        assert!(AnyStore::at("s3://bucket/prefix").is_ok());
    }
}
