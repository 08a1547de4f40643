import { SYNCED } from './write-guards.ts'

/** How far LSNs jump after a loss: beyond everything that can have been used in the lost moment. */
export const EPOCH_JUMP: number = 2 ** 20

/**
 * Begins a new epoch in segments whose last write was under another timeline (`TIMELINE_TABLE`). A fail-over or a crash
 * may have undone commits that readers saw, and no LSN must be used twice. So the epoch itself is durable before anybody
 * sees it. The segments are locked already, or are locked here in the order of their ids. Returns their number.
 */
export const BEGIN_EPOCH: string = `
CREATE FUNCTION :schema.begin_epoch(p_segments integer[]) RETURNS bigint
LANGUAGE plpgsql :planner AS $$
DECLARE
  v_timeline integer;
  v_count bigint;
BEGIN
  PERFORM 1 FROM :schema.segment WHERE id = ANY(p_segments) ORDER BY id FOR NO KEY UPDATE;
  v_timeline := :schema.present_timeline();
  ${SYNCED}
  UPDATE :schema.segment SET lsn = lsn + ${EPOCH_JUMP}, epoch = epoch + 1, timeline = v_timeline
    WHERE id = ANY(p_segments) AND state = 'open' AND timeline <> v_timeline;
  GET DIAGNOSTICS v_count = ROW_COUNT;
  RETURN v_count;
END
$$;
`
