//! Batches whose lines belong to several instances.

use serde_json::Value;

use crate::world::{World, an_id_of_each};

#[tokio::test(flavor = "multi_thread")]
async fn the_lines_of_a_batch_are_taken_where_they_belong_and_answered_in_their_order() {
    let world = World::start().await;
    let ids: Vec<String> = an_id_of_each("line").into_values().collect();
    let line = |id: &String, n: usize| format!(r#"{{"id":"{id}","customer":"{id}","n":{n}}}"#);
    let mut lines: Vec<String> = ids.iter().map(|id| line(id, 1)).collect();
    // An empty line keeps its number, one that is not JSON its refusal, one without an id gets one.
    lines.insert(2, String::new());
    lines.insert(4, "nonsense".to_owned());
    lines.push(r#"{"customer":"somebody"}"#.to_owned());
    let text = lines.join("\n");
    let send = |at: usize, text: String| {
        let mut request = crate::client::request(http::Method::POST, "/v1/workflows/orders/runs:batch", text);
        request.headers_mut().insert("content-type", "application/x-ndjson".parse().unwrap());
        crate::client::call(world.instances[at].address, request)
    };
    let answers =
        |text: &str| text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>();
    for at in 0..3 {
        let answer = send(at, text.clone()).await.expect(200);
        let answers = answers(&answer.text);
        let numbers: Vec<_> = answers.iter().map(|answer| answer["line"].as_u64().unwrap()).collect();
        assert_eq!(numbers, [1, 2, 4, 5, 6, 7, 8, 9, 10, 11]);
        for answer in &answers {
            let number = answer["line"].as_u64().unwrap() as usize;
            let expected = match number {
                5 => 400,
                11 => 202,
                _ if at == 0 => 202,
                _ => 200,
            };
            assert_eq!(answer["status"], expected, "{at}: {answer}");
            if ![5, 11].contains(&number) {
                assert!(lines[number - 1].contains(answer["id"].as_str().unwrap()), "{answer}");
            }
        }
    }
    // Another body under the same ids is a conflict, through whichever instance.
    let other = ids.iter().map(|id| line(id, 2)).collect::<Vec<_>>().join("\n");
    for at in 0..3 {
        let answer = send(at, other.clone()).await.expect(200);
        for answer in answers(&answer.text) {
            assert_eq!((&answer["status"], &answer["problem"]["code"]), (&409.into(), &"id_conflict".into()));
        }
    }
}
