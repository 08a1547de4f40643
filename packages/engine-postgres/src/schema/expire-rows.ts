/**
 * The changes of live rows by background work, which must not run at the same time as commits.
 *
 * `lock_open_segments` locks segments as a commit does. The caller holds the collection's row, so they stay open.
 * Returns the store time of their newest commit.
 *
 * `expire_rows` turns rows into pending deletes, each at the next LSN of its open segment, in the given order
 * (TTL-13): the row moves unchanged. `p_second`: when each expired. The open segments are locked. Returns how far
 * each of them has come.
 */
export const EXPIRE_ROWS: string = `
CREATE FUNCTION :schema.lock_open_segments(p_segments integer[]) RETURNS bigint
LANGUAGE plpgsql :planner AS $$
DECLARE
  v_clock bigint;
BEGIN
  SELECT coalesce(max(s.clock), 0) INTO v_clock
    FROM (SELECT clock FROM :schema.segment WHERE id = ANY(p_segments) ORDER BY id FOR NO KEY UPDATE) s;
  PERFORM :schema.begin_epoch(p_segments);
  RETURN v_clock;
END
$$;
CREATE FUNCTION :schema.expire_rows(
  p_coll integer, p_time_ms bigint, p_segment integer[], p_lsn bigint[], p_ord integer[], p_open integer[],
  p_second bigint[], OUT segments integer[], OUT lsns bigint[])
LANGUAGE plpgsql :planner AS $$
DECLARE
  v_lsns bigint[];
  v_log smallint;
  v_has_unique boolean;
BEGIN
  v_lsns := ARRAY(
    SELECT s.lsn + row_number() OVER (PARTITION BY o.open ORDER BY o.n)
    FROM unnest(p_open) WITH ORDINALITY AS o(open, n) JOIN :schema.segment s ON s.id = o.open ORDER BY o.n);
  SELECT c.log, c.has_unique INTO v_log, v_has_unique FROM :schema.collection c WHERE c.number = p_coll;
  IF v_log > 0 THEN
    INSERT INTO :schema.log(
        lsn, at, segment, ord, coll, op, epk, pk, id, rid, plsn, pts, pmade, previous)
      SELECT o.to_lsn, p_time_ms, o.open, 1, d.coll, 3, d.epk, d.pk, d.id, d.rid, d.lsn, d.ts, d.made,
        CASE v_log WHEN 2 THEN d.body END
      FROM unnest(v_lsns, p_open, p_segment, p_lsn, p_ord) AS o(to_lsn, open, segment, lsn, ord)
      JOIN :schema.doc d ON d.segment = o.segment AND d.lsn = o.lsn AND d.ord = o.ord;
  END IF;
  IF v_has_unique THEN
    DELETE FROM :schema.unique_entry u
      USING unnest(p_segment, p_lsn, p_ord) AS o(segment, lsn, ord)
      JOIN :schema.doc d ON d.segment = o.segment AND d.lsn = o.lsn AND d.ord = o.ord
      WHERE u.coll = d.coll AND u.epk = d.epk AND u.pk = d.pk AND u.id = d.id;
  END IF;
  UPDATE :schema.doc d
    SET lsn = o.to_lsn, segment = o.open, ord = 1, kind = 1, ts = p_time_ms / 1000, exp = o.second,
      vlsn = d.lsn, vts = d.ts
    FROM unnest(v_lsns, p_open, p_segment, p_lsn, p_ord, p_second)
      AS o(to_lsn, open, segment, lsn, ord, second)
    WHERE d.segment = o.segment AND d.lsn = o.lsn AND d.ord = o.ord;
  WITH moved AS (
    UPDATE :schema.segment s SET lsn = m.lsn, clock = p_time_ms
    FROM (SELECT o.open, max(o.to_lsn) AS lsn FROM unnest(p_open, v_lsns) AS o(open, to_lsn)
      GROUP BY o.open) m
    WHERE s.id = m.open RETURNING s.id, s.lsn
  )
  SELECT array_agg(m.id), array_agg(m.lsn) INTO segments, lsns FROM moved m;
END
$$;
`
