import { NEXT_VERSION } from './next-version.ts'

/**
 * One piece of the work after a change of `defaultTtl`, in one statement as `SWEEP_EXPIRED`. It processes at most
 * `p_max` documents by key, turns those that have expired, also under past values, into pending deletes, and files the
 * others under their new second. After the last piece, the past values are forgotten (TTL-18).
 *
 * It locks the segments of all its keys before it reads: commits that still judged by the old value have ended by then,
 * and their documents are visible.
 */
export const FILE_EXPIRY: string = `
CREATE FUNCTION :schema.file_expiry(
  p_db integer, p_holder text, p_lease_ms bigint, p_now bigint, p_coll integer, p_max integer,
  OUT other text, OUT until_ms bigint, OUT time_ms bigint,
  OUT items integer, OUT more boolean, OUT ranges integer[], OUT lsns bigint[])
LANGUAGE plpgsql :planner AS $$
DECLARE
  v_segments integer[];
  v_reindex text;
  v_default_ttl integer;
  v_eras text;
  v_after text[];
  v_until text[];
  v_last text[];
  v_mins text[];
  v_opens integer[];
  v_numbers integer[];
  v_segment integer[];
  v_lsn bigint[];
  v_ord integer[];
  v_open integer[];
  v_expired bigint[];
  v_due bigint[];
BEGIN
  items := 0;
  more := false;
  SELECT t.other, t.until_ms, t.time_ms INTO other, until_ms, time_ms
    FROM :schema.take_maintenance(p_db, p_holder, p_lease_ms, p_now) t;
  IF other IS NOT NULL OR time_ms IS NULL THEN RETURN; END IF;
  SELECT c.reindex, c.default_ttl, c.eras INTO v_reindex, v_default_ttl, v_eras
    FROM :schema.collection c WHERE c.number = p_coll FOR NO KEY UPDATE;
  IF v_reindex IS NULL THEN RETURN; END IF;
  v_after := ARRAY(SELECT json_array_elements_text(v_reindex::json -> 'after'));
  IF cardinality(v_after) = 0 THEN v_after := ARRAY['', '', '']; END IF;
  SELECT ARRAY[d.epk, d.pk, d.id] INTO v_until FROM :schema.doc d
    WHERE d.coll = p_coll AND d.kind = 0 AND (d.epk, d.pk, d.id) > (v_after[1], v_after[2], v_after[3])
    ORDER BY d.epk, d.pk, d.id OFFSET p_max - 1 LIMIT 1;
  more := v_until IS NOT NULL;
  -- Above all keys.
  v_until := coalesce(v_until, ARRAY['FF', '', '']);
  SELECT array_agg(r.min ORDER BY r.min), array_agg(r.segment ORDER BY r.min),
    array_agg(r.number ORDER BY r.min) INTO v_mins, v_opens, v_numbers
    FROM :schema.pkrange r WHERE r.coll = p_coll;
  time_ms := greatest(time_ms, :schema.lock_open_segments(ARRAY(
    SELECT r.segment FROM :schema.pkrange r
    WHERE r.coll = p_coll AND r.max > v_after[1] AND r.min <= v_until[1])));
  UPDATE :schema.database d SET clock = time_ms WHERE d.number = p_db AND d.clock < time_ms;
  SELECT array_agg(d.segment), array_agg(d.lsn), array_agg(d.ord), array_agg(d.expired),
    array_agg(nullif(d.due, d.exp)), array_agg(v_opens[width_bucket(d.epk, v_mins)]),
    ARRAY[(array_agg(d.epk))[count(*)::integer], (array_agg(d.pk))[count(*)::integer],
      (array_agg(d.id))[count(*)::integer]]
    INTO v_segment, v_lsn, v_ord, v_expired, v_due, v_open, v_last
    FROM (SELECT d.segment, d.lsn, d.ord, d.epk, d.pk, d.id, d.exp,
        :schema.expired_second(d.ts, d.ttl, v_default_ttl, v_eras, time_ms) AS expired,
        :schema.expiry_second(d.ts, d.ttl, v_default_ttl) AS due
      FROM :schema.doc d
      WHERE d.coll = p_coll AND d.kind = 0 AND (d.epk, d.pk, d.id) > (v_after[1], v_after[2], v_after[3])
        AND (d.epk, d.pk, d.id) <= (v_until[1], v_until[2], v_until[3])
      ORDER BY d.epk, d.pk, d.id LIMIT p_max) d;
  items := coalesce(cardinality(v_lsn), 0);
  IF items >= p_max THEN
    -- Others came in between, and the rest is for the next piece.
    more := true;
    v_until := v_last;
  END IF;
  UPDATE :schema.doc d SET exp = o.due
    FROM unnest(v_segment, v_lsn, v_ord, v_expired, v_due) AS o(segment, lsn, ord, expired, due)
    WHERE o.expired = 0 AND o.due IS NOT NULL
      AND d.segment = o.segment AND d.lsn = o.lsn AND d.ord = o.ord;
  SELECT array_agg(o.segment), array_agg(o.lsn), array_agg(o.ord), array_agg(o.open), array_agg(o.expired)
    INTO v_segment, v_lsn, v_ord, v_open, v_expired
    FROM unnest(v_segment, v_lsn, v_ord, v_open, v_expired) AS o(segment, lsn, ord, open, expired)
    WHERE o.expired <> 0;
  IF v_lsn IS NOT NULL THEN
    SELECT e.segments, e.lsns INTO v_segments, lsns
      FROM :schema.expire_rows(p_coll, time_ms, v_segment, v_lsn, v_ord, v_open, v_expired) e;
    ranges := ARRAY(SELECT v_numbers[array_position(v_opens, s.id)]
      FROM unnest(v_segments) WITH ORDINALITY AS s(id, n) ORDER BY s.n);
  END IF;
  IF more THEN
    -- No new version: nobody but the next piece looks at how far this has come.
    UPDATE :schema.collection c SET reindex = json_build_object('after', v_until)::text
      WHERE c.number = p_coll;
  ELSE
    UPDATE :schema.collection c SET reindex = NULL, eras = '[]', version = ${NEXT_VERSION}
      WHERE c.number = p_coll;
  END IF;
END
$$;
`
