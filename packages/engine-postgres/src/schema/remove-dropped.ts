/**
 * Deletes at most about `p_max` rows of one segment that no range has any more, then the segment. Any number of
 * processes may do so at once. Answers false when there was nothing left that nobody else is busy with.
 */
export const REMOVE_DROPPED: string = `
CREATE FUNCTION :schema.remove_dropped(p_max integer) RETURNS boolean
LANGUAGE plpgsql :planner AS $$
DECLARE
  v_segment integer;
  v_left boolean;
BEGIN
  SELECT s.id INTO v_segment FROM :schema.segment s WHERE s.state = 'dropped'
    ORDER BY s.id LIMIT 1 FOR UPDATE SKIP LOCKED;
  IF v_segment IS NULL THEN RETURN false; END IF;
  ${deleteSome('doc')}
  ${deleteSome('log')}
  SELECT EXISTS (SELECT 1 FROM :schema.doc WHERE segment = v_segment)
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
