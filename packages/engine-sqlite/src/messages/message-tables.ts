import { numberColumn } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'

/*
 * The tables of messages, beside those of documents. The first command that a database gets makes them, so a database
 * without messages does not have them.
 *
 * broker            one row: counters of entities and messages, which never go back; how many transactions changed
 *                   something for listeners; the stored pair of clocks.
 * entity            what commands change often. key: the path without regard to case; null once the entity is dropped.
 *                   next: the number of its next message. forward, deadforward: keys of the paths that it forwards to.
 * entity_definition JSON, read again only when the entity's version has changed.
 * message           the state row. first: `firstNumber`. source: `deadLetterSource`.
 * message_body      written once.
 * session           until: `lockedUntilMs`. through: `expiredThrough`.
 * seen              ids of messages, for the detection of duplicates.
 *
 * Each request of a procedure reads one range of one partial index, whatever else the entity holds.
 */
const MESSAGE_TABLES = `
CREATE TABLE IF NOT EXISTS broker(
  one INTEGER PRIMARY KEY CHECK (one = 1), entity INT NOT NULL, message INT NOT NULL, news INT NOT NULL,
  store INT NOT NULL, lock INT NOT NULL);
INSERT OR IGNORE INTO broker VALUES (1, 1, 1, 0, 0, 0);
CREATE TABLE IF NOT EXISTS entity(
  number INTEGER PRIMARY KEY, key TEXT UNIQUE, path TEXT NOT NULL, kind TEXT NOT NULL, parent INT,
  forward TEXT, deadforward TEXT, version INT NOT NULL, created INT NOT NULL, updated INT NOT NULL,
  accessed INT NOT NULL, next INT NOT NULL, bytes INT NOT NULL);
CREATE INDEX IF NOT EXISTS entity_parent ON entity(parent) WHERE key IS NOT NULL AND parent IS NOT NULL;
CREATE INDEX IF NOT EXISTS entity_forward ON entity(forward) WHERE key IS NOT NULL AND forward IS NOT NULL;
CREATE INDEX IF NOT EXISTS entity_deadforward ON entity(deadforward)
  WHERE key IS NOT NULL AND deadforward IS NOT NULL;
CREATE INDEX IF NOT EXISTS entity_dropped ON entity(number) WHERE key IS NULL;
CREATE TABLE IF NOT EXISTS entity_definition(entity INTEGER PRIMARY KEY, definition TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS message(
  id INTEGER PRIMARY KEY, entity INT NOT NULL, number INT NOT NULL, state INT NOT NULL, session TEXT,
  enqueued INT NOT NULL, ttl REAL, expires REAL, due INT, lock TEXT, deliveries INT NOT NULL, first INT NOT NULL,
  hops INT NOT NULL, source TEXT, changes TEXT, bytes INT NOT NULL);
CREATE UNIQUE INDEX IF NOT EXISTS message_number ON message(entity, number);
CREATE INDEX IF NOT EXISTS message_session ON message(entity, session, number) WHERE session IS NOT NULL;
CREATE INDEX IF NOT EXISTS message_ready ON message(entity, number)
  WHERE state = 0 AND lock IS NULL AND session IS NULL;
CREATE INDEX IF NOT EXISTS message_ready_in_session ON message(entity, session, number)
  WHERE state = 0 AND lock IS NULL AND session IS NOT NULL;
CREATE INDEX IF NOT EXISTS message_expiry ON message(entity, expires, number)
  WHERE state = 0 AND lock IS NULL AND expires IS NOT NULL;
CREATE INDEX IF NOT EXISTS message_expiry_in_session ON message(entity, session, expires, number)
  WHERE state = 0 AND lock IS NULL AND session IS NOT NULL AND expires IS NOT NULL;
CREATE INDEX IF NOT EXISTS message_due ON message(entity, state, due, number) WHERE due IS NOT NULL;
CREATE INDEX IF NOT EXISTS message_locked_in_session ON message(entity, session, lock, number)
  WHERE session IS NOT NULL AND lock IS NOT NULL;
CREATE INDEX IF NOT EXISTS message_deferred ON message(entity, state) WHERE state = 1;
CREATE TABLE IF NOT EXISTS message_body(id INTEGER PRIMARY KEY, head TEXT NOT NULL, body BLOB);
CREATE TABLE IF NOT EXISTS session(
  id INTEGER PRIMARY KEY, entity INT NOT NULL, session TEXT NOT NULL, lock TEXT, until INT NOT NULL,
  through INT NOT NULL, updated INT NOT NULL, state BLOB);
CREATE UNIQUE INDEX IF NOT EXISTS session_name ON session(entity, session);
CREATE INDEX IF NOT EXISTS session_until ON session(entity, until, session) WHERE lock IS NOT NULL;
CREATE INDEX IF NOT EXISTS session_expiring ON session(entity, session) WHERE through > 0;
CREATE INDEX IF NOT EXISTS session_state ON session(entity, session) WHERE state IS NOT NULL;
CREATE TABLE IF NOT EXISTS seen(
  entity INT NOT NULL, id TEXT NOT NULL, until INT NOT NULL, PRIMARY KEY(entity, id)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS seen_until ON seen(entity, until);
`

export function hasMessageTables(connection: Connection): boolean {
  return connection.get(`SELECT 1 FROM sqlite_schema WHERE name = 'seen_until'`) !== undefined
}

/** Within a transaction. */
export function makeMessageTables(connection: Connection): void {
  if (!hasMessageTables(connection)) connection.exec(MESSAGE_TABLES)
}

/** The number of transactions so far that changed something for listeners of messages. */
export function readNews(connection: Connection): number {
  return numberColumn(connection.get('SELECT news FROM broker') ?? [], 0)
}
