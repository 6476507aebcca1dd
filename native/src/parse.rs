// SPDX-License-Identifier: Apache-2.0
//! JSON text to a `NetworkState`, or a failure with the place it happened at.
//!
//! `serde_path_to_error` gives exact paths for everything but interfaces: nmstate reads each of
//! them into a buffer first, which hides all below `interfaces[N]`. [`locate`] looks there.

use nmstate::NetworkState;
use serde_json::Value;
use serde_json::error::Category;
use serde_path_to_error::{Path, Segment};

use crate::{Failure, Step, locate};

/// Far above any real document, low enough to bound the work.
const MAX_DOCUMENT_BYTES: usize = 4 * 1024 * 1024;

pub(crate) fn parse_state(document: &str) -> Result<NetworkState, Failure> {
    if document.len() > MAX_DOCUMENT_BYTES {
        let message = format!(
            "document has {} bytes, more than the {MAX_DOCUMENT_BYTES} allowed",
            document.len()
        );
        return Err(Failure::new("Parse", message));
    }
    // serde's derived readers would take an array as the fields in order of declaration.
    if document.trim_ascii_start().starts_with('[') {
        return Err(Failure::new("Parse", "document is an array, not an object"));
    }
    let mut reader = serde_json::Deserializer::from_str(document);
    let state = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = convert_path(error.path());
        describe(document, error.inner(), path)
    })?;
    // Reading stops after the first value; without this, text behind it would go unnoticed.
    reader
        .end()
        .map_err(|error| describe(document, &error, Vec::new()))?;
    Ok(state)
}

fn describe(document: &str, error: &serde_json::Error, mut path: Vec<Step>) -> Failure {
    let mut message = error.to_string();
    if error.classify() == Category::Data {
        // A position in the JSON text means nothing to users, who wrote YAML; the path does.
        // For broken JSON the position stays, that is a bug of the caller.
        let position = format!(" at line {} column {}", error.line(), error.column());
        if let Some(bare) = message.strip_suffix(&position) {
            message.truncate(bare.len());
        }
        if let [Step::Key(section), Step::Index(index)] = path.as_slice()
            && section == "interfaces"
            && let Ok(Value::Object(state)) = serde_json::from_str(document)
            && let Some(interface) = state
                .get("interfaces")
                .and_then(|interfaces| interfaces.get(*index))
        {
            path.extend(locate::find_in_interface(interface, &message));
        }
    }
    Failure {
        kind: "Parse".into(),
        message,
        path,
    }
}

fn convert_path(path: &Path) -> Vec<Step> {
    path.iter()
        .map_while(|segment| match segment {
            Segment::Seq { index } => Some(Step::Index(*index)),
            Segment::Map { key } | Segment::Enum { variant: key } => Some(Step::Key(key.clone())),
            // Nothing behind it could be found from the root.
            Segment::Unknown => None,
        })
        .collect()
}
