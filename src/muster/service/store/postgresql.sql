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
-- Writes a batch in one statement, all or nothing. A row or document without a body is removed. The lock makes
-- the order of the log that of the commits, and keeps two who write the same realms from waiting in a circle;
-- transactions that notify commit one after the other anyway.
CREATE FUNCTION write_batch(
    realm_ids TEXT[], versions_before BIGINT[], versions_after BIGINT[], ticket UUID, sender TEXT,
    event_realms TEXT[], event_versions BIGINT[], event_names TEXT[], event_bodies BYTEA[],
    row_realms TEXT[], row_kinds TEXT[], row_ids TEXT[], row_bodies BYTEA[],
    file_realms TEXT[], file_subjects TEXT[], file_names TEXT[], file_bodies BYTEA[]
) RETURNS VOID LANGUAGE plpgsql AS $$
DECLARE
    late TEXT;
BEGIN
    PERFORM pg_advisory_xact_lock(x'6d7573746572'::bigint);
    WITH wanted AS (
        SELECT * FROM unnest(realm_ids, versions_before, versions_after) AS w (realm, before, after)
    ), made AS (
        INSERT INTO realms (id, version, written) SELECT realm, after, ticket FROM wanted WHERE before = 0
        ON CONFLICT DO NOTHING RETURNING id
    ), changed AS (
        UPDATE realms SET version = after, written = ticket FROM wanted
        WHERE id = realm AND version = before AND before > 0 RETURNING id
    )
    SELECT realm INTO late FROM wanted
    WHERE realm NOT IN (SELECT id FROM made UNION ALL SELECT id FROM changed) LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'MU001', MESSAGE = late;
    END IF;
    INSERT INTO events (realm, version, name, body)
        SELECT * FROM unnest(event_realms, event_versions, event_names, event_bodies);
    IF row_realms IS NOT NULL THEN
        DELETE FROM subjects s USING unnest(row_realms, row_kinds, row_ids, row_bodies) AS r (realm, kind, id, body)
            WHERE s.realm = r.realm AND s.kind = r.kind AND s.id = r.id AND r.body IS NULL;
        INSERT INTO subjects (realm, kind, id, body)
            SELECT * FROM unnest(row_realms, row_kinds, row_ids, row_bodies) AS r (realm, kind, id, body)
            WHERE r.body IS NOT NULL
            ON CONFLICT (realm, kind, id) DO UPDATE SET body = excluded.body;
    END IF;
    IF file_realms IS NOT NULL THEN
        DELETE FROM documents d
            USING unnest(file_realms, file_subjects, file_names, file_bodies) AS f (realm, subject, name, body)
            WHERE d.realm = f.realm AND d.subject = f.subject AND d.name = f.name AND f.body IS NULL;
        INSERT INTO documents (realm, subject, name, body)
            SELECT * FROM unnest(file_realms, file_subjects, file_names, file_bodies) AS f (realm, subject, name, body)
            WHERE f.body IS NOT NULL
            ON CONFLICT (realm, subject, name) DO UPDATE SET body = excluded.body;
    END IF;
    PERFORM pg_notify('muster', format('%s %s %s', sender, w.realm, w.after))
        FROM unnest(realm_ids, versions_after) AS w (realm, after);
END $$;
-- version 2
-- What a service notes about itself and its database. From this version on, files with secrets are sealed: an
-- older Muster would hand them out unopened, so it has to refuse such a database.
CREATE TABLE notes (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
