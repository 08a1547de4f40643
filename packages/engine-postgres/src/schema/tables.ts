/*
 * The tables of one store, in a schema of their own. The feed is the table `doc` itself, read in the order
 * of its primary key; everything else says which rows belong to whom. See decision 0008.
 *
 * store        one row: `tables`, the version of these tables, identity of the store, mark of the functions.
 * database     clock: highest store time that was assigned, epoch ms, accurate to a second. holder, until:
 *              who maintains it, and until when at least. purge: stamp of the newest purge.
 * collection   definition, eras, reindex: JSON. version rises with each change of the row, of its ranges or
 *              of their segments. default_ttl, log (0 none, 1 kept, 2 with previous images) repeat the
 *              definition for SQL. logged: there may be entries in `log`.
 * segment      a run of rows with keys in [min, max), LSNs in (base, lsn]. state: open, sealed, folding,
 *              dropped. folded: filled by moving rows of others, which after a merge may be out of time
 *              order. clock: time of its newest commit, epoch ms. timeline: see `TIMELINE_TABLE`. horizon, log_horizon: JSON, of the pkrange whose open segment it is.
 *              Every commit locks its open segments first, in the order of their ids, and advances their lsn.
 * fence_job    one row for each job: locked by every fenced commit, exclusively by one that raises an epoch.
 * doc          kind 0: live, exp = second of expiry or 0. kind 1: pending delete, exp = second at which it
 *              expired, ts = second of the pending delete; vlsn, vts: LSN and ts of its last version, which is
 *              the body. body: the user's text. made: a ttl that the commit computed, which the text does not
 *              have; ttl then has it too. rid: the document's own part of its _rid. ord: place of the row within
 *              its LSN.
 * log          all versions, for collections that keep them. op: 0 create, 1 replace, 2 delete, 3 expire;
 *              at = commit time, epoch ms. previous, plsn, pts, pmade: the version before, as in doc.
 * unique_entry unique key entries: one row for each document and key (ukey counts from 0). `has_unique` repeats the
 *              definition for SQL. The index by value begins with it, so that no plan from when the table was empty
 *              uses it to look up documents. See decision 0010.
 */
export const TABLES: string = `
CREATE TABLE :schema.store(
  one boolean PRIMARY KEY CHECK (one), tables integer NOT NULL, store_id text NOT NULL,
  functions text NOT NULL, created bigint NOT NULL);
CREATE SEQUENCE :schema.database_number AS integer;
CREATE SEQUENCE :schema.collection_number AS integer;
CREATE SEQUENCE :schema.segment_number AS integer;
CREATE TABLE :schema.database(
  number integer PRIMARY KEY, id text COLLATE "C" NOT NULL UNIQUE, rid text NOT NULL, etag text NOT NULL,
  ts bigint NOT NULL, clock bigint NOT NULL, holder text NOT NULL, until bigint NOT NULL,
  purge bigint NOT NULL, annotation text) WITH (fillfactor = 50);
CREATE TABLE :schema.collection(
  number integer PRIMARY KEY, db integer NOT NULL, id text COLLATE "C" NOT NULL, rid text NOT NULL,
  definition text NOT NULL, default_ttl integer, log smallint NOT NULL, eras text NOT NULL, reindex text,
  logged boolean NOT NULL, etag text NOT NULL, ts bigint NOT NULL, version bigint NOT NULL,
  has_unique boolean NOT NULL, UNIQUE(db, id)) WITH (fillfactor = 50);
CREATE TABLE :schema.pkrange(
  coll integer NOT NULL, number integer NOT NULL, min text COLLATE "C" NOT NULL,
  max text COLLATE "C" NOT NULL, parents text NOT NULL, segment integer NOT NULL, ts bigint NOT NULL,
  PRIMARY KEY(coll, number));
CREATE TABLE :schema.segment(
  lsn bigint NOT NULL, clock bigint NOT NULL, base bigint NOT NULL, id integer PRIMARY KEY,
  coll integer NOT NULL, epoch integer NOT NULL, timeline integer NOT NULL, state text NOT NULL,
  folded boolean NOT NULL, min text COLLATE "C" NOT NULL, max text COLLATE "C" NOT NULL, horizon text NOT NULL,
  log_horizon text NOT NULL) WITH (fillfactor = 20);
CREATE INDEX segment_of_collection ON :schema.segment(coll);
CREATE TABLE :schema.pkrange_segment(
  coll integer NOT NULL, pkrange integer NOT NULL, segment integer NOT NULL,
  PRIMARY KEY(coll, pkrange, segment));
CREATE INDEX ranges_of_segment ON :schema.pkrange_segment(segment);
CREATE TABLE :schema.fence_job(
  db integer NOT NULL, job text COLLATE "C" NOT NULL, PRIMARY KEY(db, job));
CREATE TABLE :schema.fence(
  db integer NOT NULL, job text COLLATE "C" NOT NULL, min text COLLATE "C" NOT NULL,
  max text COLLATE "C" NOT NULL, epoch bigint NOT NULL, PRIMARY KEY(db, job, min, max));
CREATE TABLE :schema.position(
  coll integer NOT NULL, grp text COLLATE "C" NOT NULL, list text NOT NULL, PRIMARY KEY(coll, grp));
CREATE TABLE :schema.doc(
  lsn bigint NOT NULL, exp bigint NOT NULL, ts bigint NOT NULL, segment integer NOT NULL,
  ord integer NOT NULL, coll integer NOT NULL, ttl integer NOT NULL, kind smallint NOT NULL,
  epk text COLLATE "C" NOT NULL, pk text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL,
  vlsn bigint, vts bigint, made integer, rid text NOT NULL, body text NOT NULL,
  PRIMARY KEY(segment, lsn, ord));
CREATE UNIQUE INDEX doc_key ON :schema.doc(coll, epk, pk, id) WHERE kind = 0;
CREATE INDEX doc_expiry ON :schema.doc(coll, exp) WHERE kind = 0 AND exp > 0;
CREATE INDEX doc_pending ON :schema.doc(coll, segment, lsn, ord) WHERE kind = 1;
CREATE TABLE :schema.log(
  lsn bigint NOT NULL, at bigint NOT NULL, segment integer NOT NULL, ord integer NOT NULL,
  coll integer NOT NULL, op smallint NOT NULL, epk text COLLATE "C" NOT NULL,
  pk text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, rid text, made integer, current text,
  plsn bigint, pts bigint, pmade integer, previous text,
  PRIMARY KEY(segment, lsn, ord));
CREATE TABLE :schema.unique_entry(
  coll integer NOT NULL, ukey smallint NOT NULL, epk text COLLATE "C" NOT NULL, pk text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL, value text COLLATE "C" NOT NULL, PRIMARY KEY(coll, epk, pk, id, ukey));
CREATE UNIQUE INDEX unique_entry_value ON :schema.unique_entry(value, ukey, coll, epk, pk);
`
