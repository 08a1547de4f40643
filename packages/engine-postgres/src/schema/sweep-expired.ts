/**
 * One piece of the sweep, in one statement, so that a process that stalls or dies never holds the locks of open
 * segments. Turns at most `p_max` expired documents of a collection into pending deletes, the longest expired first.
 *
 * Order of locks: the database's row, the collection's, open segments by id. It looks for expired documents once to
 * find the segments, and again when they are locked.
 *
 * `other`, `until_ms`, `time_ms`: see `TAKE_MAINTENANCE`. `ranges`, `lsns`: how far pkranges have come.
 */
export const SWEEP_EXPIRED: string = `
CREATE FUNCTION :schema.sweep_expired(
  p_db integer, p_holder text, p_lease_ms bigint, p_now bigint, p_coll integer, p_max integer,
  OUT other text, OUT until_ms bigint, OUT time_ms bigint,
  OUT items integer, OUT more boolean, OUT ranges integer[], OUT lsns bigint[])
LANGUAGE plpgsql :planner AS $$
DECLARE
  v_segments integer[];
  v_mins text[];
  v_opens integer[];
  v_numbers integer[];
  v_locked integer[];
  v_segment integer[];
  v_lsn bigint[];
  v_ord integer[];
  v_open integer[];
  v_second bigint[];
BEGIN
  items := 0;
  more := false;
  SELECT t.other, t.until_ms, t.time_ms INTO other, until_ms, time_ms
    FROM :schema.take_maintenance(p_db, p_holder, p_lease_ms, p_now) t;
  IF other IS NOT NULL OR time_ms IS NULL THEN RETURN; END IF;
  -- Until the index is exact again it may name documents that have not expired.
  PERFORM 1 FROM :schema.collection c WHERE c.number = p_coll AND c.reindex IS NULL FOR NO KEY UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  SELECT array_agg(r.min ORDER BY r.min), array_agg(r.segment ORDER BY r.min),
    array_agg(r.number ORDER BY r.min) INTO v_mins, v_opens, v_numbers
    FROM :schema.pkrange r WHERE r.coll = p_coll;
  v_locked := ARRAY(
    SELECT DISTINCT v_opens[width_bucket(d.epk, v_mins)]
    FROM (SELECT d.epk FROM :schema.doc d
      WHERE d.coll = p_coll AND d.kind = 0 AND d.exp > 0 AND d.exp <= time_ms / 1000
      ORDER BY d.exp LIMIT p_max) d);
  IF cardinality(v_locked) = 0 THEN RETURN; END IF;
  time_ms := greatest(time_ms, :schema.lock_open_segments(v_locked));
  -- What was judged to have expired stays so everywhere.
  UPDATE :schema.database d SET clock = time_ms WHERE d.number = p_db AND d.clock < time_ms;
  SELECT array_agg(d.segment), array_agg(d.lsn), array_agg(d.ord), array_agg(d.open), array_agg(d.exp)
    INTO v_segment, v_lsn, v_ord, v_open, v_second
    FROM (SELECT d.segment, d.lsn, d.ord, v_opens[width_bucket(d.epk, v_mins)] AS open, d.exp
      FROM :schema.doc d
      WHERE d.coll = p_coll AND d.kind = 0 AND d.exp > 0 AND d.exp <= time_ms / 1000
        AND v_opens[width_bucket(d.epk, v_mins)] = ANY(v_locked)
      ORDER BY d.exp LIMIT p_max) d;
  IF v_lsn IS NULL THEN RETURN; END IF;
  items := cardinality(v_lsn);
  more := items >= p_max;
  SELECT e.segments, e.lsns INTO v_segments, lsns
    FROM :schema.expire_rows(p_coll, time_ms, v_segment, v_lsn, v_ord, v_open, v_second) e;
  ranges := ARRAY(SELECT v_numbers[array_position(v_opens, s.id)]
    FROM unnest(v_segments) WITH ORDINALITY AS s(id, n) ORDER BY s.n);
END
$$;
`
