//! What the table declares, held against what requests lead to.

use engine::Catalog;
use workflow::Definition;

use super::*;
use crate::forward::scope::ResolvedScope;
use crate::openapi::operation::ParameterIn;
use crate::queues::new_queue_name;
use crate::router::Endpoint;

/// A path of the table with values for its parameters.
fn sample(path: &str) -> String {
    let value = |part: &str| match part {
        "{lock}" => "0192f0c1-2d3e-7a4b-8c5d-6e7f80910a1b".to_owned(),
        "{number}" => "7".to_owned(),
        part if part.starts_with('{') => "a".to_owned(),
        part => part.to_owned(),
    };
    path.split('/').map(value).collect::<Vec<_>>().join("/")
}

#[test]
fn every_route_is_found_at_its_path_with_its_scope_and_access() {
    for route in all() {
        let path = sample(route.path);
        let endpoint = Endpoint::find(&route.method, &path, &Catalog::default());
        let names = route.path.split('/').filter(|part| part.starts_with('{'));
        let params = PathParams::new(route.path, names.map(|_| "a"));
        let scope = route.scope.resolve(&params, 64);
        assert_eq!(endpoint.scope(&route.method, 64), scope, "{} {path}", route.method);
        assert_eq!(endpoint.access(&route.method), route.access, "{} {path}", route.method);
        match (endpoint, route.handler) {
            (Endpoint::Route { route: found, .. }, RouteHandler::Call(_)) => {
                assert_eq!(found.doc.id, route.doc.id, "{} {path}", route.method);
            }
            (Endpoint::Ingest(found), RouteHandler::Ingest) => {
                assert_eq!(found.route().doc.id, route.doc.id, "{} {path}", route.method);
            }
            (Endpoint::ServiceBus(Ok(_)), RouteHandler::ServiceBus) => {}
            _ => panic!("{} {path} leads elsewhere", route.method),
        }
    }
}

#[test]
fn only_probes_and_the_document_answer_everybody() {
    let open = all().filter(|route| route.access == RouteAccess::Open);
    let open: Vec<&str> = open.map(|route| route.path).collect();
    assert_eq!(open, ["/livez", "/readyz", "/openapi.json"]);
}

#[test]
fn a_scope_names_a_parameter_of_its_path() {
    for route in all() {
        let (RouteScope::Collection(name) | RouteScope::Queue(name) | RouteScope::Run(name)) = route.scope
        else {
            continue;
        };
        assert!(route.path.contains(&format!("{{{name}}}")), "{}: {name}", route.path);
        let documented = route.doc.parameters.iter().any(|parameter| parameter.name == name);
        assert!(documented, "{}: {name} is documented", route.path);
    }
}

#[test]
fn every_parameter_of_a_path_is_documented() {
    for route in all() {
        let mut declared: Vec<&str> =
            route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')).collect();
        let documented = route.doc.parameters.iter();
        let mut documented: Vec<&str> = documented
            .filter(|parameter| parameter.place == ParameterIn::Path)
            .map(|parameter| parameter.name)
            .collect();
        declared.sort_unstable();
        documented.sort_unstable();
        assert_eq!(documented, declared, "{}", route.path);
    }
}

#[test]
fn no_workflow_and_no_queue_can_take_a_path_of_the_table() {
    let own = all().filter(|route| !matches!(route.handler, RouteHandler::ServiceBus));
    for route in own {
        let first = route.path.split('/').nth(1).unwrap();
        let first = first.split(':').next().unwrap();
        let source = format!(
            "name: a\naccept: {{ route: /{first} }}\nservices: {{ s: {{ url: \"http://s\" }} }}\nsteps: {{ a: {{ call: {{ service: s, method: GET, path: / }} }} }}\n"
        );
        let problems = Definition::parse(&source).unwrap_err().to_string();
        assert!(problems.contains("is taken"), "{first}: {problems}");
        assert!(new_queue_name(first).is_err(), "{first} is a name for queues");
    }
}

#[test]
fn a_path_without_the_method_says_which_it_has() {
    let allow = |method: Method, path: &str| match RouteTable::get().find(&method, path) {
        FoundRoute::WrongMethod { allow } => allow,
        _ => panic!("{method} {path} is a route, or nothing"),
    };
    assert_eq!(allow(Method::DELETE, "/v1/runs"), "GET,HEAD");
    assert_eq!(allow(Method::PATCH, "/v1/queues/q"), "GET,HEAD,PUT,DELETE");
    assert_eq!(allow(Method::GET, "/v1/workflows/w/runs"), "POST");
    assert!(matches!(RouteTable::get().find(&Method::HEAD, "/v1/runs"), FoundRoute::Route { .. }));
}

#[test]
fn what_cannot_be_read_is_answered_where_it_arrives() {
    let scope = |path| Endpoint::find(&Method::GET, path, &Catalog::default()).scope(&Method::GET, 64);
    for path in ["/v1/runs/%ff", "/v1/queues/a%20b", "/v1/collections/a~b"] {
        assert_eq!(scope(path), ResolvedScope::Here, "{path}");
    }
}
