/**
 * Deletes at most about `p_max` rows of one segment that no range has any more, then the segment. For a deleted
 * collection, also its entries of unique keys. Any number of processes can do so at the same time. Returns false when
 * nothing was left, apart from what other processes are doing.
 */
export const REMOVE_DROPPED: string = `
CREATE FUNCTION :schema.remove_dropped(p_max integer) RETURNS boolean
LANGUAGE plpgsql :planner AS $$
DECLARE
  v_segment integer;
  v_coll integer;
  v_until text[];
  v_left boolean := false;
BEGIN
  SELECT s.id, s.coll INTO v_segment, v_coll FROM :schema.segment s WHERE s.state = 'dropped'
    ORDER BY s.id LIMIT 1 FOR UPDATE SKIP LOCKED;
  IF v_segment IS NULL THEN RETURN false; END IF;
  ${deleteSome('doc')}
  ${deleteSome('log')}
  IF NOT EXISTS (SELECT 1 FROM :schema.collection c WHERE c.number = v_coll) THEN
    -- Entries of unique keys are in no segment: they go with whichever comes first.
    SELECT ARRAY[e.epk, e.pk, e.id] INTO v_until FROM :schema.unique_entry e WHERE e.coll = v_coll
      ORDER BY e.epk, e.pk, e.id OFFSET p_max LIMIT 1;
    -- Above all keys.
    v_until := coalesce(v_until, ARRAY['FF', '', '']);
    DELETE FROM :schema.unique_entry e
      WHERE e.coll = v_coll AND (e.epk, e.pk, e.id) <= (v_until[1], v_until[2], v_until[3]);
    v_left := EXISTS (SELECT 1 FROM :schema.unique_entry e WHERE e.coll = v_coll);
  END IF;
  SELECT v_left OR EXISTS (SELECT 1 FROM :schema.doc WHERE segment = v_segment)
    OR EXISTS (SELECT 1 FROM :schema.log WHERE segment = v_segment) INTO v_left;
  IF NOT v_left THEN DELETE FROM :schema.segment s WHERE s.id = v_segment; END IF;
  RETURN true;
END
$$;
`

function deleteSome(table: 'doc' | 'log'): string {
  return `DELETE FROM :schema.${table} WHERE segment = v_segment AND lsn <= coalesce(
    (SELECT lsn FROM :schema.${table} WHERE segment = v_segment ORDER BY lsn OFFSET p_max LIMIT 1),
    ${Number.MAX_SAFE_INTEGER});`
}
