/**
 * Entries of unique keys, as commits judge and store them. The segments of their keys are locked, so no other
 * transaction changes an entry meanwhile, and the unique index never refuses one.
 *
 * `p_unique`: `claims` are the entries that commits assign (r: request, n: its number there, at: step; coll, epk,
 * pk, k: unique key, e: text). `steps` says from which step on the stored entries of a document do not count, by
 * `r/coll/id/pk`. `docs` are the documents that are written or deleted, `kept` their entries in the end. `own`: a
 * commit that breaks a key by itself, with the number of that breach.
 *
 * `judge_entries` returns, for each request, the number of its first claim that another live document has, or null.
 * An expired document has no entries: they are taken over. `keep_entries` stores the entries of the requests that are
 * carried out.
 */
export const ENTRY_FUNCTIONS: string = `
CREATE FUNCTION :schema.judge_entries(p_unique jsonb, p_requests integer, p_time_ms bigint) RETURNS integer[]
LANGUAGE plpgsql :planner AS $$
DECLARE
  v_broken integer[] := array_fill(NULL::integer, ARRAY[p_requests]);
  v_steps jsonb := p_unique -> 'steps';
  v_found record;
BEGIN
  FOR v_found IN
    SELECT f.r, min(f.n) AS n FROM (
      SELECT c.r, c.n
      FROM jsonb_to_recordset(p_unique -> 'claims')
        AS c(r integer, n integer, at integer, coll integer, epk text, pk text, k smallint, e text)
      -- OFFSET 0: in this order, whatever a plan expects of tables that were empty when it was made.
      CROSS JOIN LATERAL (SELECT u.id FROM :schema.unique_entry u
        WHERE u.coll = c.coll AND u.epk = c.epk AND u.pk = c.pk AND u.ukey = c.k AND u.value = c.e OFFSET 0) u
      CROSS JOIN LATERAL (SELECT d.ts, d.ttl FROM :schema.doc d
        WHERE d.coll = c.coll AND d.epk = c.epk AND d.pk = c.pk AND d.id = u.id AND d.kind = 0 OFFSET 0) d
      JOIN :schema.collection l ON l.number = c.coll
      WHERE (v_steps ->> (c.r || '/' || c.coll || '/' || u.id || '/' || c.pk))::integer <= c.at IS NOT TRUE
        AND CASE WHEN l.default_ttl IS NULL AND l.eras = '[]' THEN true
          ELSE :schema.expired_second(d.ts, d.ttl, l.default_ttl, l.eras, p_time_ms) = 0 END
      UNION ALL SELECT o.r, o.n FROM jsonb_to_recordset(p_unique -> 'own') AS o(r integer, n integer)) f
    GROUP BY f.r
  LOOP
    v_broken[v_found.r] := v_found.n;
  END LOOP;
  RETURN v_broken;
END
$$;
CREATE FUNCTION :schema.keep_entries(p_unique jsonb, p_requests integer[]) RETURNS void
LANGUAGE plpgsql :planner AS $$
BEGIN
  DELETE FROM :schema.unique_entry u
    USING jsonb_to_recordset(p_unique -> 'docs') AS o(r integer, coll integer, epk text, pk text, id text)
    WHERE o.r = ANY(p_requests) AND u.coll = o.coll AND u.epk = o.epk AND u.pk = o.pk AND u.id = o.id;
  -- Whoever has one of these still has expired.
  DELETE FROM :schema.unique_entry u
    USING jsonb_to_recordset(p_unique -> 'claims')
      AS o(r integer, coll integer, epk text, pk text, k smallint, e text)
    WHERE o.r = ANY(p_requests)
      AND u.coll = o.coll AND u.epk = o.epk AND u.pk = o.pk AND u.ukey = o.k AND u.value = o.e;
  INSERT INTO :schema.unique_entry(coll, ukey, epk, pk, id, value)
    SELECT o.coll, o.k, o.epk, o.pk, o.id, o.e
    FROM jsonb_to_recordset(p_unique -> 'kept')
      AS o(r integer, coll integer, epk text, pk text, id text, k smallint, e text)
    WHERE o.r = ANY(p_requests);
END
$$;
`
