import { nextNumber } from './next-number.ts'
import { NEXT_VERSION } from './next-version.ts'

/**
 * One piece of folding, in one statement: no commit waits for a row that a stalled process has begun to move.
 * Moves the next rows of a range, in LSN order and whole LSNs, at most about `p_max`, from the segments that it
 * inherited into one of its own; `p_target` null = a new one. After the last piece, the range drops the inherited
 * segments, and those that no range has any more are removed.
 *
 * `p_sources` are in the order in which the range has them.
 *
 * Commits continue meanwhile and may remove rows here. The piece never waits for a row that a commit has locked,
 * because the commit could wait for another row that was just moved: the piece ends below such rows.
 *
 * `changed`: the collection is not of version `p_version`, for which this was planned, and nothing was done.
 */
export const FOLD_SEGMENTS: string = `
CREATE FUNCTION :schema.fold_segments(
  p_db integer, p_holder text, p_lease_ms bigint, p_now bigint, p_coll integer, p_max integer,
  p_version bigint, p_range integer, p_target integer, p_sources integer[],
  OUT other text, OUT until_ms bigint, OUT time_ms bigint,
  OUT changed boolean, OUT items integer, OUT more boolean)
LANGUAGE plpgsql :planner AS $$
DECLARE
  v_min text;
  v_max text;
  v_target integer := p_target;
  v_after bigint;
  v_end bigint;
  v_through bigint;
  -- Rows of a source that are looked at: most of them may be another range's.
  v_window integer := greatest(1000, 4 * p_max);
BEGIN
  changed := false;
  items := 0;
  more := false;
  SELECT t.other, t.until_ms, t.time_ms INTO other, until_ms, time_ms
    FROM :schema.take_maintenance(p_db, p_holder, p_lease_ms, p_now) t;
  IF other IS NOT NULL OR time_ms IS NULL THEN RETURN; END IF;
  PERFORM 1 FROM :schema.collection c WHERE c.number = p_coll AND c.version = p_version FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    changed := true;
    RETURN;
  END IF;
  SELECT r.min, r.max INTO v_min, v_max FROM :schema.pkrange r WHERE r.coll = p_coll AND r.number = p_range;
  SELECT max(s.lsn), min(s.base) INTO v_end, v_after FROM :schema.segment s WHERE s.id = ANY(p_sources);
  IF v_target IS NULL THEN
    INSERT INTO :schema.segment(
        id, coll, min, max, base, lsn, epoch, timeline, clock, state, folded, horizon, log_horizon)
      VALUES (${nextNumber('segment_number')}, p_coll, v_min, v_max, v_after, v_after, 0, 0, 0, 'folding',
        true, '[]', '[]')
      RETURNING id INTO v_target;
    INSERT INTO :schema.pkrange_segment(coll, pkrange, segment) VALUES (p_coll, p_range, v_target);
  ELSE
    -- It may be from before a merge, and then the range has more keys than it was made for.
    UPDATE :schema.segment s SET state = 'folding', min = least(s.min, v_min COLLATE "C"),
      max = greatest(s.max, v_max COLLATE "C")
      WHERE s.id = v_target RETURNING s.lsn INTO v_after;
  END IF;
  v_through := v_end;
${pieceEnd('doc')}
${pieceEnd('log')}
  WITH wanted AS MATERIALIZED (${rowsToMove('doc')}),
  locked AS MATERIALIZED (${rowsToMove('doc')} FOR UPDATE SKIP LOCKED),
  reached AS MATERIALIZED (
    SELECT least(v_through, min(b.lsn) - 1) AS lsn
    FROM (SELECT segment, lsn, ord FROM wanted EXCEPT SELECT segment, lsn, ord FROM locked) b
  ), moved AS (${move('doc', '(SELECT l.* FROM locked l, reached r WHERE l.lsn <= r.lsn)')} RETURNING 1)
  SELECT r.lsn, (SELECT count(*) FROM moved) INTO v_through, items FROM reached r;
  ${move('log', `(${rowsToMove('log')})`)};
  more := v_through < v_end;
  UPDATE :schema.segment s SET lsn = greatest(s.lsn, v_through), state = CASE WHEN more THEN 'folding' ELSE 'sealed' END
    WHERE s.id = v_target;
  IF NOT more THEN
    DELETE FROM :schema.pkrange_segment m
      WHERE m.coll = p_coll AND m.pkrange = p_range AND m.segment = ANY(p_sources);
    UPDATE :schema.segment s SET state = 'dropped' WHERE s.id = ANY(p_sources)
      AND NOT EXISTS (SELECT 1 FROM :schema.pkrange_segment m WHERE m.segment = s.id);
  END IF;
  UPDATE :schema.collection c SET version = ${NEXT_VERSION} WHERE c.number = p_coll;
END
$$;
`

type Table = 'doc' | 'log'

/** Lowers `v_through` to the LSN that limits the rows to the number that a piece moves or reads. */
function pieceEnd(table: Table): string {
  return `  WITH seen AS MATERIALIZED (
    SELECT s.id, r.lsn, r.is_own FROM unnest(p_sources) AS s(id) CROSS JOIN LATERAL (
      SELECT d.lsn, d.epk >= v_min AND d.epk < v_max AS is_own FROM :schema.${table} d
      WHERE d.segment = s.id AND d.lsn > v_after ORDER BY d.lsn LIMIT v_window) r
  )
  SELECT least(v_through,
      (SELECT lsn FROM seen WHERE is_own ORDER BY lsn OFFSET p_max - 1 LIMIT 1),
      (SELECT min(f.lsn) FROM (SELECT max(lsn) AS lsn FROM seen GROUP BY id HAVING count(*) >= v_window) f))
    INTO v_through;`
}

function rowsToMove(table: Table): string {
  return `SELECT d.segment, d.lsn, d.ord FROM :schema.${table} d
    WHERE d.segment = ANY(p_sources) AND d.lsn > v_after AND d.lsn <= v_through
      AND d.epk >= v_min AND d.epk < v_max`
}

/**
 * After a merge, rows of two segments may have the same LSN. Each has a place of its own within it, in the order of
 * pages, which is that of the sources.
 */
function move(table: Table, rows: string): string {
  return `UPDATE :schema.${table} d SET segment = v_target, ord = m.ord
    FROM (SELECT w.segment, w.lsn, w.ord AS from_ord,
        row_number() OVER (PARTITION BY w.lsn ORDER BY array_position(p_sources, w.segment), w.ord) AS ord FROM ${rows} w) m
    WHERE d.segment = m.segment AND d.lsn = m.lsn AND d.ord = m.from_ord`
}
