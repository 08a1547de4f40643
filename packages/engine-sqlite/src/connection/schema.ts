/** Version of the tables below; a newer one is not opened. */
export const SCHEMA_VERSION = 1

/** Slots of a segment: `seq = segment * SEGMENT_SLOTS + slot`, which leaves 2,097,151 segments. */
export const SEGMENT_SLOTS: number = 2 ** 32

/*
 * One file a database. The feed is the table `doc` itself, in row order, only ever appended to at a
 * segment's end; everything else says which rows belong to whom. See decision 0003.
 */
export const DATABASE_SCHEMA: string = `
CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE collection(
  number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, rid TEXT NOT NULL, definition TEXT NOT NULL,
  etag TEXT NOT NULL, ts INT NOT NULL);
CREATE TABLE pkrange(
  coll INT NOT NULL, number INT NOT NULL, min TEXT NOT NULL, max TEXT NOT NULL, parents TEXT NOT NULL,
  segment INT NOT NULL, ts INT NOT NULL, PRIMARY KEY(coll, number)) WITHOUT ROWID;
CREATE TABLE segment(
  id INTEGER PRIMARY KEY, coll INT NOT NULL, base INT NOT NULL, lsn INT NOT NULL, epoch INT NOT NULL,
  clock INT NOT NULL, state TEXT NOT NULL, horizon INT NOT NULL);
CREATE TABLE pkrange_segment(
  coll INT NOT NULL, pkrange INT NOT NULL, position INT NOT NULL, segment INT NOT NULL,
  PRIMARY KEY(coll, pkrange, position)) WITHOUT ROWID;
CREATE TABLE fence(
  job TEXT NOT NULL, min TEXT NOT NULL, max TEXT NOT NULL, epoch INT NOT NULL,
  PRIMARY KEY(job, min, max)) WITHOUT ROWID;
CREATE TABLE doc(
  seq INTEGER PRIMARY KEY, lsn INT NOT NULL, coll INT NOT NULL, kind INT NOT NULL, epk TEXT NOT NULL,
  pk TEXT NOT NULL, id TEXT NOT NULL, ts INT NOT NULL, ttl INT NOT NULL, exp INT NOT NULL,
  body TEXT NOT NULL);
CREATE UNIQUE INDEX pri ON doc(coll, epk, pk, id) WHERE kind = 0;
INSERT INTO meta VALUES ('schema', ${SCHEMA_VERSION}), ('catalog', 1), ('nextCollection', 1),
  ('nextSegment', 1), ('dropped', 0);
`

/** The databases of a folder. `file` exists before its row does. */
export const CATALOG_SCHEMA: string = `
CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE database(
  number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, rid TEXT NOT NULL, etag TEXT NOT NULL,
  ts INT NOT NULL, file TEXT NOT NULL);
INSERT INTO meta VALUES ('schema', ${SCHEMA_VERSION}), ('nextDatabase', 1);
`
