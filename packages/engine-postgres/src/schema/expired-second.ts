/**
 * `expiredSecond` of the store's engine contract in SQL: the second at which a document expired by `now_ms`, also under
 * a past value of `defaultTtl`; 0 while it lives (TTL-4, TTL-18).
 */
export const EXPIRED_SECOND: string = `
CREATE FUNCTION :schema.expiry_second(ts bigint, ttl integer, default_ttl integer) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE
    WHEN default_ttl IS NULL THEN 0
    WHEN ttl = 0 AND default_ttl = -1 THEN 0
    WHEN ttl = 0 THEN ts + default_ttl
    WHEN ttl = -1 THEN 0
    ELSE ts + ttl END
$$;
CREATE FUNCTION :schema.expired_second(
  ts bigint, ttl integer, default_ttl integer, eras text, now_ms bigint) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  earliest bigint := 0;
  second bigint;
  era jsonb;
BEGIN
  second := :schema.expiry_second(ts, ttl, default_ttl);
  IF second <> 0 AND second * 1000 <= now_ms THEN earliest := second; END IF;
  IF eras = '[]' THEN RETURN earliest; END IF;
  FOR era IN SELECT jsonb_array_elements(eras::jsonb) LOOP
    second := :schema.expiry_second(ts, ttl, (era ->> 'defaultTtl')::integer);
    IF second <> 0 AND second * 1000 <= (era ->> 'untilMs')::bigint
      AND (earliest = 0 OR second < earliest) THEN
      earliest := second;
    END IF;
  END LOOP;
  RETURN earliest;
END
$$;
`
