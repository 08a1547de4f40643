import { WRITE_GUARDS } from './write-guards.ts'

/**
 * Takes or renews the maintenance lease of a database, and advances its clock. `p_now`: the caller's value of the store
 * time, epoch ms. First locks the database's row until the transaction ends, so that pieces of background work of one
 * database never overlap.
 *
 * `other`: the present holder, until `until_ms`; then nothing was done. `time_ms` is null when there is no such
 * database.
 */
export const TAKE_MAINTENANCE: string = `
CREATE FUNCTION :schema.take_maintenance(
  p_db integer, p_holder text, p_lease_ms bigint, p_now bigint,
  OUT other text, OUT until_ms bigint, OUT time_ms bigint)
LANGUAGE plpgsql AS $$
DECLARE
  v_holder text;
BEGIN
  ${WRITE_GUARDS}
  SELECT d.holder, d.until, greatest(d.clock, p_now) INTO v_holder, until_ms, time_ms
    FROM :schema.database d WHERE d.number = p_db FOR NO KEY UPDATE;
  IF v_holder <> '' AND v_holder <> p_holder AND until_ms > time_ms THEN
    other := v_holder;
    RETURN;
  END IF;
  -- It rises with each renewal, so that others see it renewed also while the store's clock stands still.
  UPDATE :schema.database d SET holder = p_holder, clock = time_ms,
    until = greatest(time_ms + p_lease_ms, CASE d.holder WHEN p_holder THEN d.until + 1 ELSE 0 END)
    WHERE d.number = p_db;
END
$$;
`
