/** The version of the tables, in both kinds of files. A program refuses every other one. */
export const TABLES_VERSION: number = 1

/** Slots of a segment: `seq = segment * SEGMENT_SLOTS + slot`, which leaves 2,097,151 segments. */
export const SEGMENT_SLOTS: number = 2 ** 32

/*
 * One file for each database. The feed is the table `doc` itself, in row order, only ever appended to at a
 * segment's end; everything else says which rows belong to whom. See decisions 0003 and 0006.
 *
 * head       what every transaction reads first: version of the catalog, the store's clock (epoch ms), who
 *            maintains the file and until when, stamp of the newest purge.
 * collection definition, eras: JSON. reindex: null, or how far documents were refiled: JSON. logged: 1
 *            while there may be entries in `log`.
 * segment    a run of rows with keys in [min, max), LSNs in (base, lsn]. Not dense: slot = lsn - base,
 *            and a transaction's rows end at the slot of its LSN. Dense (folded): rows in LSN order in
 *            slots of their own. state: open, sealed, folding, dropped. horizon, loghorizon: JSON, of the
 *            pkrange whose open segment it is.
 * doc        kind 0: live, exp = second of expiry or 0. kind 1: pending delete, exp = second at which it
 *            expired, ts = second of the pending delete; vlsn, vts: LSN and ts of its last version, which is
 *            the body. body: the user's text. made: a ttl that the commit computed, which the text does
 *            not have; ttl then has it too. rid: the document's own part of its _rid.
 * log        all versions, for collections that keep them. op: 0 create, 1 replace, 2 delete, 3 expire;
 *            at = commit time, epoch ms. previous, plsn, pts, pmade: the version before, as in doc.
 * entry      unique key entries: one row for each document and key (ukey counts from 0). An expired document may
 *            have lost some to others. See decision 0010.
 */

export const DATABASE_TABLES: string = `
CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE head(
  one INTEGER PRIMARY KEY CHECK (one = 1), catalog INT NOT NULL, clock INT NOT NULL,
  holder TEXT NOT NULL, until INT NOT NULL, purge INT NOT NULL);
CREATE TABLE collection(
  number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, rid TEXT NOT NULL, definition TEXT NOT NULL,
  eras TEXT NOT NULL, reindex TEXT, logged INT NOT NULL, etag TEXT NOT NULL, ts INT NOT NULL);
CREATE TABLE pkrange(
  coll INT NOT NULL, number INT NOT NULL, min TEXT NOT NULL, max TEXT NOT NULL, parents TEXT NOT NULL,
  segment INT NOT NULL, ts INT NOT NULL, PRIMARY KEY(coll, number)) WITHOUT ROWID;
CREATE TABLE segment(
  id INTEGER PRIMARY KEY, coll INT NOT NULL, min TEXT NOT NULL, max TEXT NOT NULL, base INT NOT NULL,
  lsn INT NOT NULL, epoch INT NOT NULL, dense INT NOT NULL, state TEXT NOT NULL, horizon TEXT NOT NULL,
  loghorizon TEXT NOT NULL);
CREATE TABLE pkrange_segment(
  coll INT NOT NULL, pkrange INT NOT NULL, segment INT NOT NULL,
  PRIMARY KEY(coll, pkrange, segment)) WITHOUT ROWID;
CREATE TABLE fence(
  job TEXT NOT NULL, min TEXT NOT NULL, max TEXT NOT NULL, epoch INT NOT NULL,
  PRIMARY KEY(job, min, max)) WITHOUT ROWID;
CREATE TABLE position(
  coll INT NOT NULL, grp TEXT NOT NULL, list TEXT NOT NULL, PRIMARY KEY(coll, grp)) WITHOUT ROWID;
CREATE TABLE doc(
  seq INTEGER PRIMARY KEY, lsn INT NOT NULL, coll INT NOT NULL, kind INT NOT NULL, epk TEXT NOT NULL,
  pk TEXT NOT NULL, id TEXT NOT NULL, ts INT NOT NULL, ttl INT NOT NULL, exp INT NOT NULL, rid TEXT NOT NULL,
  made INT, vlsn INT, vts INT, body TEXT NOT NULL);
CREATE UNIQUE INDEX pri ON doc(coll, epk, pk, id) WHERE kind = 0;
CREATE INDEX expiry ON doc(coll, exp) WHERE kind = 0 AND exp > 0;
CREATE INDEX pending ON doc(coll, seq) WHERE kind = 1;
CREATE TABLE log(
  seq INTEGER PRIMARY KEY, lsn INT NOT NULL, coll INT NOT NULL, epk TEXT NOT NULL, pk TEXT NOT NULL,
  id TEXT NOT NULL, op INT NOT NULL, at INT NOT NULL, rid TEXT, made INT, current TEXT,
  plsn INT, pts INT, pmade INT, previous TEXT);
CREATE TABLE entry(
  coll INT NOT NULL, epk TEXT NOT NULL, pk TEXT NOT NULL, id TEXT NOT NULL, ukey INT NOT NULL,
  value TEXT NOT NULL, PRIMARY KEY(coll, epk, pk, id, ukey)) WITHOUT ROWID;
CREATE UNIQUE INDEX entry_value ON entry(coll, epk, pk, ukey, value);
INSERT INTO meta VALUES ('tables', ${TABLES_VERSION}), ('nextCollection', 1), ('nextSegment', 1),
  ('dropped', 0);
INSERT INTO head VALUES (1, 1, 0, '', 0, 0);
`

/** The databases of a folder. `file` exists before its row does. meta also holds their annotations. */
export const CATALOG_TABLES: string = `
CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE database(
  number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, rid TEXT NOT NULL, etag TEXT NOT NULL,
  ts INT NOT NULL, file TEXT NOT NULL);
INSERT INTO meta VALUES ('tables', ${TABLES_VERSION}), ('nextDatabase', 1);
`
