-- SPDX-License-Identifier: Apache-2.0
-- Every part below leads from one version to the next. What was released is never changed: add a part.
-- version 1
CREATE TABLE realms (
    id      TEXT PRIMARY KEY,
    version BIGINT NOT NULL,
    -- Which transaction wrote the version: who lost the connection while it committed finds out with this.
    written UUID NOT NULL
);
CREATE TABLE subjects (
    realm TEXT NOT NULL,
    kind  TEXT NOT NULL,
    id    TEXT NOT NULL,
    body  BYTEA NOT NULL,
    PRIMARY KEY (realm, kind, id)
);
-- The log: nothing in it is ever changed or removed.
CREATE TABLE events (
    sequence BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    realm    TEXT NOT NULL,
    version  BIGINT NOT NULL,
    name     TEXT NOT NULL,
    body     BYTEA NOT NULL
);
CREATE INDEX events_of_realm ON events (realm, version, sequence);
CREATE INDEX events_told ON events (realm, sequence) WHERE name <> '';
CREATE TABLE documents (
    realm   TEXT NOT NULL,
    subject TEXT NOT NULL,
    name    TEXT NOT NULL,
    body    BYTEA NOT NULL,
    PRIMARY KEY (realm, subject, name)
);
-- To compress all that hosts tell costs more than to write it.
ALTER TABLE subjects ALTER body SET STORAGE EXTERNAL;
ALTER TABLE events ALTER body SET STORAGE EXTERNAL;
ALTER TABLE documents ALTER body SET STORAGE EXTERNAL;
