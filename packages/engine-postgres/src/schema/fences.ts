/**
 * Fences of commits (decision 0022): a write of a job is refused while an overlapping range of the job holds a higher
 * epoch.
 *
 * `lock_fences` locks the jobs in the order of their names. The lock is exclusive where an epoch is new, otherwise
 * shared, so that no write of an older epoch can become visible after the first write of a newer one was acknowledged.
 * Returns, for each request, the epoch that refuses it, or null.
 */
export const FENCES: string = `
CREATE FUNCTION :schema.lock_fences(
  p_db integer, p_job text[], p_min text[], p_max text[], p_epoch bigint[]) RETURNS bigint[]
LANGUAGE plpgsql :planner AS $$
DECLARE
  v_job text;
BEGIN
  FOR v_job IN SELECT DISTINCT j COLLATE "C" FROM unnest(p_job) j WHERE j IS NOT NULL ORDER BY 1 LOOP
    IF EXISTS (
      SELECT 1 FROM unnest(p_job, p_min, p_max, p_epoch) AS r(job, min, max, epoch)
      WHERE r.job = v_job AND NOT EXISTS (
        SELECT 1 FROM :schema.fence f
        WHERE f.db = p_db AND f.job = r.job AND f.min = r.min AND f.max = r.max AND f.epoch = r.epoch))
    THEN
      INSERT INTO :schema.fence_job VALUES (p_db, v_job) ON CONFLICT DO NOTHING;
      PERFORM 1 FROM :schema.fence_job WHERE db = p_db AND job = v_job FOR UPDATE;
    ELSE
      PERFORM 1 FROM :schema.fence_job WHERE db = p_db AND job = v_job FOR SHARE;
    END IF;
  END LOOP;
  RETURN ARRAY(
    SELECT (SELECT max(f.epoch) FROM :schema.fence f
      WHERE f.db = p_db AND f.job = r.job AND f.epoch > r.epoch AND f.min < r.max AND f.max > r.min)
    FROM unnest(p_job, p_min, p_max, p_epoch) WITH ORDINALITY AS r(job, min, max, epoch, n)
    ORDER BY r.n);
END
$$;
CREATE FUNCTION :schema.remember_fences(
  p_db integer, p_job text[], p_min text[], p_max text[], p_epoch bigint[], p_requests integer[])
RETURNS void LANGUAGE plpgsql :planner AS $$
DECLARE
  r record;
BEGIN
  FOR r IN
    SELECT DISTINCT q.job, q.min, q.max, q.epoch
    FROM unnest(p_job, p_min, p_max, p_epoch) WITH ORDINALITY AS q(job, min, max, epoch, n)
    WHERE q.job IS NOT NULL AND q.n = ANY(p_requests) AND NOT EXISTS (
      SELECT 1 FROM :schema.fence f
      WHERE f.db = p_db AND f.job = q.job AND f.min = q.min AND f.max = q.max AND f.epoch = q.epoch)
  LOOP
    -- Those inside the new one cannot be above it, and it refuses whatever they would.
    DELETE FROM :schema.fence f
      WHERE f.db = p_db AND f.job = r.job AND f.min >= r.min AND f.max <= r.max AND f.epoch <= r.epoch;
    INSERT INTO :schema.fence(db, job, min, max, epoch) VALUES (p_db, r.job, r.min, r.max, r.epoch)
      ON CONFLICT (db, job, min, max) DO NOTHING;
  END LOOP;
END
$$;
`
