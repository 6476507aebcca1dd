// SPDX-License-Identifier: Apache-2.0
//! Finds the value that nmstate refuses, where nmstate tells what is wrong but not where.
//!
//! It buffers each interface, then again its `ipv4` and `ipv6`, and it checks how things fit
//! together after it has forgotten where they stood. So we ask it again about parts: a part that
//! brings the same message when it stands alone is the culprit, and the search goes on inside it.
//! This needs no copy of nmstate's schema, and its answer is always a place in the document.
//!
//! It works for wrong values because serde refuses one before it misses an absent one. A message
//! that takes several parts to bring about ends the search at what those parts have in common,
//! which may be the root. When two parts bring the same message, the first is named.

use std::cell::Cell;

use nmstate::{Interface, NetworkState};
use serde_json::{Map, Value};

use crate::Step;

/// How much may be asked in all, so that a hostile document cannot keep us busy. When it is used
/// up, the path ends where the search stands: after some 15 thousand small parts.
const BUDGET_BYTES: usize = 8 * 1024 * 1024;
const TRIAL_BYTES: usize = 512;

/// Where in one interface the value stands that cannot be read, given nmstate's message.
pub(crate) fn find_in_interface(interface: &Value, message: &str) -> Vec<Step> {
    let stage = Stage::Reading(missing_field(message));
    find_culprit(interface, message, stage, &|part| {
        serde_json::from_value::<Interface>(part)
            .err()
            .map(|error| error.to_string())
    })
}

/// Where in a readable document the cause of nmstate's message stands.
pub(crate) fn find_in_state(document: &str, message: &str) -> Vec<Step> {
    let Ok(document) = serde_json::from_str(document) else {
        return Vec::new();
    };
    find_culprit(&document, message, Stage::Checking, &|part| {
        serde_json::from_value::<NetworkState>(part)
            .ok()?
            .gen_conf()
            .err()
            .map(|error| error.msg().to_owned())
    })
}

fn find_culprit(
    root: &Value,
    message: &str,
    stage: Stage<'_>,
    ask: &dyn Fn(Value) -> Option<String>,
) -> Vec<Step> {
    let search = Search {
        stage,
        budget: Cell::new(BUDGET_BYTES),
    };
    let mut path = Vec::new();
    let words = sorted_words(message);
    let is_guilty = |part: Value| {
        search.spend(part.to_string().len())
            && ask(part).is_some_and(|answer| sorted_words(&answer) == words)
    };
    search.descend(root, &is_guilty, &mut path);
    path
}

/// What nmstate was at when it refused; it decides which parts can be the cause.
enum Stage<'a> {
    /// With the name of the field that serde misses, if that is the message.
    Reading(Option<&'a str>),
    Checking,
}

impl Stage<'_> {
    /// Parts that stay beside all others of their object: without them nmstate complains of their
    /// absence (`name`; `interfaces` for routes and DNS), reads the rest by another schema
    /// (`type`), or does not look at it (`enabled`).
    fn frame_keys(&self) -> Vec<&str> {
        match self {
            // An object that has the missing field must not lack it when taken apart.
            Self::Reading(missing) => ["type", "name"].into_iter().chain(*missing).collect(),
            Self::Checking => vec!["type", "name", "enabled", "interfaces"],
        }
    }

    /// A scalar lacks no field. And a check that misses something would often miss it beside any
    /// one member, so that the first would take the blame.
    fn can_blame_member(&self, value: &Value) -> bool {
        is_container(value) || matches!(self, Self::Reading(None))
    }

    fn can_blame_element(&self, value: &Value) -> bool {
        is_container(value) || !matches!(self, Self::Reading(Some(_)))
    }
}

/// To compare by: nmstate lists names in the order of a hash table, which differs at each call.
fn sorted_words(message: &str) -> Vec<&str> {
    let mut words: Vec<_> = message
        .split_whitespace()
        .map(|word| word.trim_end_matches([',', '.']))
        .collect();
    words.sort_unstable();
    words
}

/// The name in serde's ``missing field `name` ``.
fn missing_field(message: &str) -> Option<&str> {
    message.strip_prefix("missing field `")?.strip_suffix('`')
}

/// Puts a part back where it stood and tells whether nmstate still says the same.
type Trial<'a> = dyn Fn(Value) -> bool + 'a;

struct Search<'a> {
    stage: Stage<'a>,
    budget: Cell<usize>,
}

impl Search<'_> {
    fn descend(&self, value: &Value, is_guilty: &Trial<'_>, path: &mut Vec<Step>) {
        match value {
            Value::Object(object) => self.descend_object(object, is_guilty, path),
            Value::Array(array) => self.descend_array(array, is_guilty, path),
            _ => {}
        }
    }

    fn descend_object(
        &self,
        object: &Map<String, Value>,
        is_guilty: &Trial<'_>,
        path: &mut Vec<Step>,
    ) {
        let mut frame = Map::new();
        for key in self.stage.frame_keys() {
            if let Some(value) = object.get(key) {
                if self.descend_member(&frame, key, value, is_guilty, path) {
                    return;
                }
                frame.insert(key.to_owned(), value.clone());
            }
        }
        if is_guilty(Value::Object(frame.clone())) {
            // The message needs none of the other parts: it is about the object itself.
            return;
        }
        for (key, value) in object {
            if !frame.contains_key(key) && self.descend_member(&frame, key, value, is_guilty, path)
            {
                return;
            }
        }
    }

    fn descend_member(
        &self,
        frame: &Map<String, Value>,
        key: &str,
        value: &Value,
        is_guilty: &Trial<'_>,
        path: &mut Vec<Step>,
    ) -> bool {
        let is_guilty_here = |part: Value| {
            let mut object = frame.clone();
            object.insert(key.to_owned(), part);
            is_guilty(Value::Object(object))
        };
        let found = self.stage.can_blame_member(value)
            && self.has_budget()
            && is_guilty_here(value.clone());
        if found {
            path.push(Step::Key(key.to_owned()));
            self.descend(value, &is_guilty_here, path);
        }
        found
    }

    fn descend_array(&self, array: &[Value], is_guilty: &Trial<'_>, path: &mut Vec<Step>) {
        if is_guilty(Value::Array(Vec::new())) {
            return;
        }
        let is_guilty_here = |part: Value| is_guilty(Value::Array(vec![part]));
        for (index, value) in array.iter().enumerate() {
            if self.stage.can_blame_element(value)
                && self.has_budget()
                && is_guilty_here(value.clone())
            {
                path.push(Step::Index(index));
                return self.descend(value, &is_guilty_here, path);
            }
        }
    }

    /// Putting parts together costs too, so that no more are made when none can be asked about.
    fn has_budget(&self) -> bool {
        self.budget.get() > 0
    }

    fn spend(&self, part_bytes: usize) -> bool {
        let rest = self.budget.get().checked_sub(part_bytes + TRIAL_BYTES);
        self.budget.set(rest.unwrap_or(0));
        rest.is_some()
    }
}

fn is_container(value: &Value) -> bool {
    value.is_object() || value.is_array()
}
