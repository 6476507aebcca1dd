// SPDX-License-Identifier: Apache-2.0
//! nmstate's offline generation of NetworkManager keyfiles, as one Python function.
//!
//! The document comes as JSON and not as YAML, so that Muster alone decides how a YAML scalar is
//! read.
//!
//! What goes wrong is told as `NmstateError` with a kind, a message and a path:
//!
//! | stage                                   | kind                 | path              |
//! |-----------------------------------------|----------------------|-------------------|
//! | size, JSON syntax, a value out of place | `Parse`              | to the value      |
//! | nmstate's checks of the readable whole  | nmstate's error kind | as [`locate`] can |
//! | a panic in nmstate                      | `Panic`              | empty             |
//!
//! Limits, all of them due to how nmstate reports. It stops at the first error; which one that is
//! may differ from call to call when several checks would fail, and so may the order of names in a
//! message. The path ends at the object for what the object lacks, and at whatever holds the parts
//! for what takes several parts to go wrong (two bonds that claim one port give `interfaces`). It
//! is empty when those have only the root in common, and may be when a second error interferes.
//! An interface whose type is absent or unknown is read as Ethernet in the second stage, so that
//! even a mistyped key in it is of nmstate's kind and not `Parse`.

#![forbid(unsafe_code)]

mod locate;
mod parse;
mod rules;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

pyo3::create_exception!(
    muster_native,
    NmstateError,
    PyValueError,
    "nmstate refused the document: see kind, message and path."
);

/// One step of a path: a key of an object or an index of an array.
#[derive(Clone, Debug, PartialEq, IntoPyObject)]
enum Step {
    Key(String),
    Index(usize),
}

/// What becomes a Python `NmstateError`, while no Python is at hand to make one.
struct Failure {
    kind: String,
    message: String,
    path: Vec<Step>,
}

impl Failure {
    fn new(kind: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            kind: kind.into(),
            message: message.into(),
            path: Vec::new(),
        }
    }

    fn raise(self, py: Python<'_>) -> PyErr {
        let error = NmstateError::new_err(self.message.clone());
        let value = error.value(py);
        let filled = PyTuple::new(py, self.path)
            .and_then(|path| value.setattr("path", path))
            .and_then(|()| value.setattr("kind", self.kind))
            .and_then(|()| value.setattr("message", self.message));
        match filled {
            Ok(()) => error,
            Err(unexpected) => unexpected,
        }
    }
}

type Keyfiles = Vec<(String, String)>;

fn build_keyfiles(document: &str) -> Result<Keyfiles, Failure> {
    let mut backends = parse::parse_state(document)?
        .gen_conf()
        .map_err(|error| Failure {
            kind: error.kind().to_string(),
            message: error.msg().to_owned(),
            path: locate::find_in_state(document, error.msg()),
        })?;
    let mut keyfiles = backends.remove("NetworkManager").unwrap_or_default();
    rules::settle(&mut keyfiles);
    Ok(keyfiles)
}

fn describe_panic(payload: &(dyn Any + Send)) -> Failure {
    let reason = payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("no reason given");
    Failure::new("Panic", format!("nmstate panicked: {reason}"))
}

/// Turn one NMState desired state, as JSON text, into NetworkManager keyfiles (name, text).
#[pyfunction]
#[pyo3(signature = (document, /))]
fn gen_conf<'py>(
    py: Python<'py>,
    document: &Bound<'py, PyString>,
) -> PyResult<Bound<'py, PyTuple>> {
    let text = document.to_str().map_err(|_| {
        // A lone surrogate; callers shall have one class to catch.
        Failure::new("Parse", "document is not valid Unicode text").raise(py)
    })?;
    let outcome = py.detach(|| {
        // Sound to assert: what the closure touches is made in it or only read.
        catch_unwind(AssertUnwindSafe(|| build_keyfiles(text)))
            .unwrap_or_else(|payload| Err(describe_panic(payload.as_ref())))
    });
    match outcome {
        Ok(keyfiles) => PyTuple::new(py, keyfiles),
        Err(failure) => Err(failure.raise(py)),
    }
}

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::{NmstateError, gen_conf};
}
