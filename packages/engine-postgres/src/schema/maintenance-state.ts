/** Rows of a segment to search for the first of a range's own: other ranges share the segment. */
const LOOKED_AT = 100

/**
 * The data that show whether there is background work. Read every second, and by every piece that removes rows. They
 * are functions because of their settings: without them, such a statement sorts whole segments, or is compiled for
 * 100 ms.
 *
 * `oldest_pending`, `oldest_versions`: the oldest pending delete, or entry of the log, of each range that has
 * any; `at`: when it was written.
 *
 * `maintenance_state`: one row for the database (kind 0: store time, end of the lease, its holder, whether there are
 * rows that no range has any more); one for each collection (1: number, version, first second of expiry, id, whether
 * documents are refiled); one for each range with pending deletes (2: collection, LSN, at, EPK) or with a log that is
 * kept (3).
 */
export const MAINTENANCE_STATE: string = `
CREATE FUNCTION :schema.oldest_pending(p_coll integer)
RETURNS TABLE(pkrange integer, lsn bigint, at bigint, epk text)
LANGUAGE plpgsql STABLE :planner AS $$
BEGIN
  RETURN QUERY ${oldestRows(`SELECT d.lsn, d.ts AS at, d.epk FROM :schema.doc d
    WHERE d.kind = 1 AND d.coll = p_coll AND d.segment = m.segment ORDER BY d.lsn, d.ord`)};
END
$$;
CREATE FUNCTION :schema.oldest_versions(p_coll integer)
RETURNS TABLE(pkrange integer, lsn bigint, at bigint, epk text)
LANGUAGE plpgsql STABLE :planner AS $$
BEGIN
  RETURN QUERY ${oldestRows(`SELECT d.lsn, d.at, d.epk FROM :schema.log d
    WHERE d.segment = m.segment ORDER BY d.lsn, d.ord`)};
END
$$;
CREATE FUNCTION :schema.maintenance_state(p_db integer, p_now bigint)
RETURNS TABLE(kind integer, a bigint, b bigint, c bigint, name text, flag boolean)
LANGUAGE plpgsql STABLE :planner AS $$
DECLARE
  v_coll record;
BEGIN
  RETURN QUERY SELECT 0, greatest(d.clock, p_now), d.until, NULL::bigint, d.holder,
    EXISTS (SELECT 1 FROM :schema.segment s WHERE s.state = 'dropped')
      OR EXISTS (SELECT 1 FROM :schema.entity e WHERE e.dropped)
    FROM :schema.database d WHERE d.number = p_db;
  FOR v_coll IN SELECT l.number, l.version, l.id, l.reindex IS NOT NULL AS is_reindexing, l.log
    FROM :schema.collection l WHERE l.db = p_db
  LOOP
    RETURN QUERY SELECT 1, v_coll.number::bigint, v_coll.version, (SELECT d.exp FROM :schema.doc d
        WHERE d.coll = v_coll.number AND d.kind = 0 AND d.exp > 0 ORDER BY d.exp LIMIT 1),
      v_coll.id, v_coll.is_reindexing;
    -- Collections without pending deletes, as most are, cost one look into an index.
    IF EXISTS (SELECT 1 FROM :schema.doc d WHERE d.coll = v_coll.number AND d.kind = 1) THEN
      RETURN QUERY SELECT 2, v_coll.number::bigint, o.lsn, o.at, o.epk, NULL::boolean
        FROM :schema.oldest_pending(v_coll.number) o;
    END IF;
    IF v_coll.log > 0 THEN
      RETURN QUERY SELECT 3, v_coll.number::bigint, o.lsn, o.at, o.epk, NULL::boolean
        FROM :schema.oldest_versions(v_coll.number) o;
    END IF;
  END LOOP;
END
$$;
`

/** One row for each range, from rows of a segment `m` that come oldest first. */
function oldestRows(rows: string): string {
  return `SELECT DISTINCT ON (m.pkrange) m.pkrange, f.lsn, f.at, f.epk
  FROM :schema.pkrange_segment m JOIN :schema.pkrange r ON r.coll = m.coll AND r.number = m.pkrange
  CROSS JOIN LATERAL (
    SELECT d.lsn, d.at, d.epk FROM (${rows} LIMIT ${LOOKED_AT}) d
    WHERE d.epk >= r.min AND d.epk < r.max LIMIT 1) f
  WHERE m.coll = p_coll ORDER BY m.pkrange, f.lsn`
}
