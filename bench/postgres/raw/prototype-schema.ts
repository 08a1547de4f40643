import { Client } from 'pg'

/**
 * The engine's tables and the statements that it cannot do without, as one would write them by hand for the same
 * guarantees: a segment's row is locked first, so that LSNs become visible in their order. No conditions, fences,
 * expiry, log, or changes of ranges.
 */
const SCHEMA = `
CREATE TABLE segment(id integer PRIMARY KEY, lsn bigint NOT NULL) WITH (fillfactor = 20);
CREATE TABLE doc(
  lsn bigint NOT NULL, exp bigint NOT NULL, ts bigint NOT NULL, segment integer NOT NULL,
  ord integer NOT NULL, coll integer NOT NULL, ttl integer NOT NULL, kind smallint NOT NULL,
  epk text COLLATE "C" NOT NULL, pk text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL,
  body text NOT NULL, PRIMARY KEY(segment, lsn, ord));
CREATE UNIQUE INDEX doc_key ON doc(coll, epk, pk, id) WHERE kind = 0;
CREATE INDEX doc_expiry ON doc(coll, exp) WHERE kind = 0 AND exp > 0;
CREATE INDEX doc_pending ON doc(coll, segment, lsn, ord) WHERE kind = 1;
CREATE FUNCTION write_group(
  p_segment integer, p_epk text[], p_pk text[], p_id text[], p_body text[], p_notifies boolean) RETURNS bigint
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_base bigint;
BEGIN
  UPDATE segment SET lsn = lsn + array_length(p_id, 1) WHERE id = p_segment
    RETURNING lsn - array_length(p_id, 1) INTO v_base;
  INSERT INTO doc(lsn, exp, ts, segment, ord, coll, ttl, kind, epk, pk, id, body)
    SELECT v_base + n, 0, extract(epoch from now())::bigint, p_segment, 1, 1, 0, 0, o.epk, o.pk, o.id, o.body
    FROM unnest(p_epk, p_pk, p_id, p_body) WITH ORDINALITY AS o(epk, pk, id, body, n)
    ON CONFLICT (coll, epk, pk, id) WHERE kind = 0
      DO UPDATE SET lsn = excluded.lsn, ts = excluded.ts, body = excluded.body;
  IF p_notifies THEN PERFORM pg_notify('doc', p_segment::text); END IF;
  RETURN v_base;
END
$$;
`

export const WRITE_GROUP = {
  name: 'write_group',
  text: 'SELECT write_group($1, $2, $3, $4, $5, $6)',
}

export async function createPrototype(url: string, segments: number): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(SCHEMA)
    await client.query('INSERT INTO segment SELECT s, 0 FROM generate_series(0, $1::int - 1) s', [
      segments,
    ])
  } finally {
    await client.end()
  }
}
