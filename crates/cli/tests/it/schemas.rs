//! Schemas for the parts of SARIF and ITF that Mazurka writes, and a validator for them.
//!
//! A schema is a JSON value with the few keywords that are needed here: `type`, `required`,
//! `properties`, `items`, `values` (of all other properties), `enum`, `minimum`, `least` (items).
//! An object without `values` has only the listed properties.

use serde_json::{Value, json};

/// Panics if a value does not fit the schema.
#[track_caller]
pub fn fits(schema: &Value, value: &Value) {
    if let Err(why) = check(schema, value, "$") {
        panic!("{why}\n{value:#}");
    }
}

fn check(schema: &Value, value: &Value, path: &str) -> Result<(), String> {
    if let Some(kinds) = schema["any"].as_array() {
        let mut kinds = kinds.iter();
        return if kinds.any(|kind| check(kind, value, path).is_ok()) {
            Ok(())
        } else {
            Err(format!("{path} is of no kind that it may be"))
        };
    }
    let is = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    if schema["type"] != is {
        return Err(format!("{path} is {is}, not {}", schema["type"]));
    }
    let allowed = schema["enum"].as_array();
    if allowed.is_some_and(|allowed| !allowed.contains(value)) {
        return Err(format!("{path} is {value}"));
    }
    if let (Some(least), Some(number)) = (schema["minimum"].as_i64(), value.as_i64())
        && number < least
    {
        return Err(format!("{path} is {number}, below {least}"));
    }
    for (at, item) in value.as_array().into_iter().flatten().enumerate() {
        check(&schema["items"], item, &format!("{path}[{at}]"))?;
    }
    if let (Some(least), Some(items)) = (schema["least"].as_u64(), value.as_array())
        && (items.len() as u64) < least
    {
        return Err(format!("{path} has {} items", items.len()));
    }
    let required = schema["required"].as_array().into_iter().flatten();
    for name in required.filter_map(Value::as_str) {
        if value.get(name).is_none() {
            return Err(format!("{path} has no `{name}`"));
        }
    }
    for (name, inner) in value.as_object().into_iter().flatten() {
        let known = schema["properties"].get(name).or(schema.get("values"));
        let known = known.ok_or_else(|| format!("{path} has an unknown `{name}`"))?;
        check(known, inner, &format!("{path}.{name}"))?;
    }
    Ok(())
}

fn list(items: &Value, least: u64) -> Value {
    json!({ "type": "array", "items": items, "least": least })
}

fn object(required: &[&str], properties: Value) -> Value {
    json!({ "type": "object", "required": required, "properties": properties })
}

/// Returns the part of SARIF 2.1.0 that we write: the required properties, the types and the
/// enumerations. Objects have no other properties.
pub fn sarif() -> Value {
    let text = json!({ "type": "string" });
    let count = |least: i64| json!({ "type": "integer", "minimum": least });
    let message = object(&["text"], json!({ "text": text }));
    let level = json!({ "type": "string", "enum": ["none", "note", "warning", "error"] });
    let region = object(
        &["startLine"],
        json!({
            "startLine": count(1), "startColumn": count(1), "endColumn": count(1),
            "snippet": message,
        }),
    );
    let artifact = object(&["uri"], json!({ "uri": text }));
    let physical = json!({ "artifactLocation": artifact, "region": region });
    let location = json!({
        "physicalLocation": object(&["artifactLocation"], physical), "message": message,
    });
    let location = object(&["physicalLocation"], location);
    let importance = json!({
        "type": "string", "enum": ["important", "essential", "unimportant"],
    });
    let visited = json!({
        "location": location, "executionOrder": count(-1), "importance": importance,
    });
    let thread = json!({ "id": text, "locations": list(&object(&["location"], visited), 1) });
    let flow = json!({
        "message": message, "threadFlows": list(&object(&["locations"], thread), 1),
    });
    let result = json!({
        "ruleId": text, "ruleIndex": count(0), "level": level, "message": message,
        "locations": list(&location, 0), "relatedLocations": list(&location, 0),
        "codeFlows": list(&object(&["threadFlows"], flow), 0),
        "partialFingerprints": { "type": "object", "values": text },
    });
    let configuration = object(&[], json!({ "level": level }));
    let rule = json!({
        "id": text, "name": text, "shortDescription": message,
        "defaultConfiguration": configuration,
    });
    let driver = json!({ "name": text, "version": text, "rules": list(&object(&["id"], rule), 0) });
    let tool = object(&["driver"], json!({ "driver": object(&["name"], driver) }));
    let descriptor = object(&[], json!({ "id": text }));
    let notification = json!({ "level": level, "message": message, "descriptor": descriptor });
    let invocation = json!({
        "executionSuccessful": { "type": "boolean" },
        "toolExecutionNotifications": list(&object(&["message"], notification), 0),
    });
    let columns = json!({ "type": "string", "enum": ["utf16CodeUnits", "unicodeCodePoints"] });
    let run = json!({
        "tool": tool, "columnKind": columns, "results": list(&object(&["message"], result), 0),
        "invocations": list(&object(&["executionSuccessful"], invocation), 0),
    });
    let version = json!({ "type": "string", "enum": ["2.1.0"] });
    object(
        &["version", "runs"],
        json!({ "$schema": text, "version": version, "runs": list(&object(&["tool"], run), 0) }),
    )
}

/// Apalache's traces: integers are `#bigint`s, which every reader accepts.
pub fn itf(vars: &[&str]) -> Value {
    let text = json!({ "type": "string" });
    let index = json!({ "type": "integer", "minimum": 0 });
    let number = object(&["#bigint"], json!({ "#bigint": text }));
    let plain = json!({ "any": [number, { "type": "boolean" }, text] });
    let row = list(&plain, 0);
    let value = json!({ "any": [plain, row, list(&row, 0)] });
    let meta = json!({ "type": "object", "values": { "any": [text, index] } });
    let mut state = json!({ "#meta": meta });
    for var in vars {
        state[*var] = value.clone();
    }
    let state = object(vars, state);
    object(
        &["vars", "states"],
        json!({
            "#meta": meta, "vars": list(&text, 0), "states": list(&state, 1), "loop": index,
        }),
    )
}

#[test]
fn values_that_do_not_fit_are_found() {
    let good = json!({ "version": "2.1.0", "runs": [{ "tool": { "driver": { "name": "m" } } }] });
    fits(&sarif(), &good);
    let wrong = |change: fn(&mut Value)| {
        let mut value = good.clone();
        change(&mut value);
        check(&sarif(), &value, "$").expect_err("it does not fit")
    };
    let problem = wrong(|log| log["runs"][0]["tool"]["driver"] = json!({}));
    assert_eq!(problem, "$.runs[0].tool.driver has no `name`");
    assert!(wrong(|log| log["version"] = json!("2.0.0")).contains("$.version"));
    assert!(wrong(|log| log["runs"][0]["extra"] = json!(1)).contains("unknown `extra`"));
    assert!(wrong(|log| log["runs"] = json!({})).contains("object, not"));
    let problem = wrong(|log| {
        let flow = json!([{ "threadFlows": [] }]);
        log["runs"][0]["results"] = json!([{ "message": { "text": "" }, "codeFlows": flow }]);
    });
    assert!(problem.ends_with("has 0 items"), "{problem}");
}
