/*
 * Messages: tables of their own beside the documents.
 *
 * entity          a queue, topic, subscription or dead-letter queue. path_key: the path without case. definition: JSON.
 *                 forwards: keys of paths where it forwards to. dropped: out of the catalog, its rows wait to be removed.
 * entity_counter  next: the number that the next message gets. timeline: of the server, when it was last advanced. Who
 *                 gives numbers, or changes the entity, locks this row first. It goes with the drop.
 * entity_access   accessed: the last activity. Its own row, so that who stamps it does not wait for who gives numbers.
 * entity_size     what an entity holds: the sum of its slots. Commits that run at once use different slots, so that they
 *                 do not wait for each other.
 * message         the small row, which changes. state: 0 active, 1 deferred, 2 scheduled. due: end of the lock, or the
 *                 scheduled instant. first: the number where it was first enqueued. source: where it died.
 *                 The generated columns hold the entity while a row is in a list, and each list is one index: so no plan
 *                 from when the table was empty takes another one, which would read through locked messages.
 * message_body    what is written once.
 * message_session a session's lock, state, and the number through which it expired.
 * seen_message    ids for the detection of duplicates.
 * message_clock   the two clocks of a database's messages.
 */
export const MESSAGE_TABLES: string = `
CREATE SEQUENCE :schema.entity_number AS integer;
CREATE SEQUENCE :schema.message_number AS bigint;
CREATE TABLE :schema.entity(
  number integer PRIMARY KEY, db integer NOT NULL, kind text NOT NULL, path text NOT NULL,
  path_key text COLLATE "C" NOT NULL, parent integer, version bigint NOT NULL, definition text NOT NULL,
  forwards text[] NOT NULL, created bigint NOT NULL, updated bigint NOT NULL, dropped boolean NOT NULL DEFAULT false);
CREATE UNIQUE INDEX entity_path ON :schema.entity(db, path_key) WHERE NOT dropped;
CREATE INDEX entity_parent ON :schema.entity(parent) WHERE NOT dropped;
CREATE INDEX entity_dropped ON :schema.entity(number) WHERE dropped;
CREATE TABLE :schema.entity_counter(
  number integer PRIMARY KEY, next bigint NOT NULL, timeline integer NOT NULL) WITH (fillfactor = 20);
CREATE TABLE :schema.entity_access(number integer PRIMARY KEY, accessed bigint NOT NULL) WITH (fillfactor = 50);
CREATE TABLE :schema.entity_size(
  entity integer NOT NULL, slot smallint NOT NULL, bytes bigint NOT NULL, PRIMARY KEY(entity, slot))
  WITH (fillfactor = 20);
CREATE TABLE :schema.message(
  id bigint PRIMARY KEY, number bigint NOT NULL, enqueued bigint NOT NULL, ttl bigint, expires bigint, due bigint,
  first bigint NOT NULL, entity integer NOT NULL, deliveries integer NOT NULL, bytes integer NOT NULL,
  state smallint NOT NULL, hops smallint NOT NULL,
  ready integer GENERATED ALWAYS AS (CASE WHEN state = 0 AND lock IS NULL AND session IS NULL THEN entity END) STORED,
  waiting integer GENERATED ALWAYS AS (CASE WHEN state = 0 AND lock IS NULL AND session IS NOT NULL THEN entity END) STORED,
  expiring integer GENERATED ALWAYS AS (CASE WHEN state = 0 AND lock IS NULL AND expires IS NOT NULL THEN entity END) STORED,
  expiring_session integer GENERATED ALWAYS AS (CASE WHEN state = 0 AND lock IS NULL AND expires IS NOT NULL
    AND session IS NOT NULL THEN entity END) STORED,
  locked integer GENERATED ALWAYS AS (CASE WHEN state <> 2 AND due IS NOT NULL THEN entity END) STORED,
  scheduled integer GENERATED ALWAYS AS (CASE WHEN state = 2 THEN entity END) STORED,
  session text COLLATE "C", lock text COLLATE "C", source text, changes text) WITH (fillfactor = 70);
CREATE UNIQUE INDEX message_place ON :schema.message(entity, number);
CREATE INDEX message_ready ON :schema.message(ready, number) WHERE ready IS NOT NULL;
CREATE INDEX message_waiting ON :schema.message(waiting, session, number) WHERE waiting IS NOT NULL;
CREATE INDEX message_in_session ON :schema.message(entity, session, number) WHERE session IS NOT NULL;
CREATE INDEX message_expiring ON :schema.message(expiring, expires, number) WHERE expiring IS NOT NULL;
CREATE INDEX message_expiring_session ON :schema.message(expiring_session, session, expires, number)
  WHERE expiring_session IS NOT NULL;
CREATE INDEX message_locked ON :schema.message(locked, due, number) WHERE locked IS NOT NULL;
CREATE INDEX message_scheduled ON :schema.message(scheduled, due, number) WHERE scheduled IS NOT NULL;
CREATE TABLE :schema.message_body(id bigint PRIMARY KEY, head text NOT NULL, body bytea NOT NULL);
ALTER TABLE :schema.message_body ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE TABLE :schema.message_session(
  entity integer NOT NULL, session text COLLATE "C" NOT NULL, lock text COLLATE "C", until bigint NOT NULL,
  expired_through bigint NOT NULL, updated bigint NOT NULL, state bytea, PRIMARY KEY(entity, session))
  WITH (fillfactor = 50);
CREATE INDEX message_session_end ON :schema.message_session(entity, until, session) WHERE lock IS NOT NULL;
CREATE INDEX message_session_expired ON :schema.message_session(entity, session) WHERE expired_through > 0;
CREATE INDEX message_session_state ON :schema.message_session(entity, session) WHERE state IS NOT NULL;
CREATE TABLE :schema.seen_message(
  entity integer NOT NULL, id text COLLATE "C" NOT NULL, until bigint NOT NULL, PRIMARY KEY(entity, id));
CREATE INDEX seen_message_end ON :schema.seen_message(entity, until);
CREATE TABLE :schema.message_clock(
  db integer PRIMARY KEY, store_ms bigint NOT NULL, lock_ms bigint NOT NULL) WITH (fillfactor = 20);
`
