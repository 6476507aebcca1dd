-- SPDX-License-Identifier: Apache-2.0
-- Every part below leads from one version to the next. What was released is never changed: add a part.
-- version 1
CREATE TABLE realms (
    id      TEXT PRIMARY KEY,
    version INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE subjects (
    realm TEXT NOT NULL,
    kind  TEXT NOT NULL,
    id    TEXT NOT NULL,
    body  BLOB NOT NULL,
    PRIMARY KEY (realm, kind, id)
);
-- The log: nothing in it is ever changed or removed, so sequences only grow.
CREATE TABLE events (
    sequence INTEGER PRIMARY KEY,
    realm    TEXT NOT NULL,
    version  INTEGER NOT NULL,
    name     TEXT NOT NULL,
    body     BLOB NOT NULL
);
CREATE INDEX events_of_realm ON events (realm, version, sequence);
CREATE INDEX events_told ON events (realm, sequence) WHERE name <> '';
CREATE TABLE documents (
    realm   TEXT NOT NULL,
    subject TEXT NOT NULL,
    name    TEXT NOT NULL,
    body    BLOB NOT NULL,
    PRIMARY KEY (realm, subject, name)
);
-- version 2
-- What a service notes about itself and its database. From this version on, files with secrets are sealed: an
-- older Muster would hand them out unopened, so it has to refuse such a database.
CREATE TABLE notes (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
