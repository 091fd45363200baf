//! Whether either region opens what the other has sealed.

use crate::stage::Stage;

#[tokio::test(flavor = "multi_thread")]
async fn regions_that_cannot_open_each_others_secrets_are_not_ready() {
    const CHECK: &str = "each region can open the secrets of the other";
    let stage = Stage::start().await;
    let (east, west) = stage.joined().await;
    let keys = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(east.note_keys(&keys(&["a"])).await.unwrap(), None, "nobody is there to be compared with");
    let failed = async || {
        let checks = west.check().await.unwrap().checks;
        checks.into_iter().find(|check| check.check == CHECK && !check.passed).map(|check| check.detail)
    };
    assert_eq!(failed().await.as_deref(), Some("west has not recorded its keys"));
    let told = west.note_keys(&keys(&["b"])).await.unwrap().unwrap();
    assert_eq!(told, "secrets that west seals under the key b cannot be opened in east");
    assert_eq!(failed().await, Some(told));
    assert_eq!(west.note_keys(&keys(&["a", "b"])).await.unwrap(), None);
    assert_eq!(failed().await, None);
}
