-- SPDX-License-Identifier: Apache-2.0
-- version 1
CREATE TABLE realms (
    id      TEXT PRIMARY KEY,
    version INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE subjects (
    kind  TEXT NOT NULL,
    id    TEXT NOT NULL,
    realm TEXT NOT NULL,
    body  BLOB NOT NULL,
    PRIMARY KEY (realm, kind, id)
) WITHOUT ROWID;
CREATE TABLE events (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    realm    TEXT NOT NULL,
    name     TEXT NOT NULL,
    body     BLOB NOT NULL
);
CREATE INDEX told ON events (realm, sequence) WHERE name <> '';
CREATE TABLE documents (
    realm   TEXT NOT NULL,
    subject TEXT NOT NULL,
    name    TEXT NOT NULL,
    body    BLOB NOT NULL,
    PRIMARY KEY (realm, subject, name)
);
