import { KNOWN_TIMELINE } from './timeline.ts'
import { READS_COMMITTED, SYNCED } from './write-guards.ts'

/**
 * Applies a group of commits in one round trip: a process that stalls, or dies, never holds a segment's lock
 * beyond its own statement (decision 0008).
 *
 * The arrays have one entry for each operation, in the order of the group. `request` and `batch` count up from 1;
 * kind: 0 put, 1 delete, 2 check; cond: 0 none, 1 absent, 2 present, 3 lsn, 4 notLsn, with `cond_lsn`;
 * ttl: null = invalid; until: expiry second, replaces ttl. No key occurs twice. `fence_*` have one entry for each
 * request, null without a fence; all of one job have the same epoch. `unique`: null, or see `ENTRY_FUNCTIONS`; no two
 * requests assign the same entry.
 *
 * `p_sync` false: the commit does not wait for the disk. It does where it begins an epoch.
 *
 * Order of locks: the database's row (only where processes have clocks of their own), segments by id, jobs by
 * name. Every statement after the locks has its own snapshot (READ COMMITTED), which includes what the previous
 * holder has committed.
 *
 * Returns one row. `moved`: a segment is no longer open, or no longer that of the key, and nothing was done. Otherwise,
 * for each operation: its fault (0 none, 1 refused, 2 invalid ttl, 3 fenced, 4 of its request: not unique); the LSN of
 * the present document, the refusing epoch, or the number of the claim; the LSN of its batch; whether there was a live
 * document. A request with a fault was not carried out. `on_timeline`: see `TIMELINE_TABLE`.
 */
export const COMMIT_GROUP: string = `
CREATE FUNCTION :schema.commit_group(
  p_db integer, p_at_least bigint, p_own_clock boolean, p_sync boolean,
  p_fence_job text[], p_fence_min text[], p_fence_max text[], p_fence_epoch bigint[],
  p_request integer[], p_batch integer[], p_segment integer[], p_coll integer[],
  p_epk text[], p_pk text[], p_id text[], p_kind integer[], p_cond integer[], p_cond_lsn bigint[],
  p_ttl integer[], p_until bigint[], p_rid text[], p_body text[], p_unique jsonb,
  OUT moved boolean, OUT time_ms bigint, OUT faults integer[], OUT fault_lsns bigint[],
  OUT lsns bigint[], OUT existed boolean[], OUT on_timeline integer)
LANGUAGE plpgsql :planner AS $$
DECLARE
  v_open integer;
  v_clock bigint;
  v_second bigint;
  v_oldest integer;
  v_newest integer;
  v_fenced_by bigint[];
  v_broken integer[];
  v_ords integer[];
  v_expiry_lsns bigint[];
  v_expired bigint[];
  v_apply boolean[];
  v_logs boolean;
  v_expires boolean;
  v_removes boolean;
  v_astray boolean;
BEGIN
  moved := false;
  IF p_sync THEN${SYNCED}  ELSE
    PERFORM set_config('synchronous_commit', 'off', true);
  END IF;
  ${READS_COMMITTED}
  IF p_own_clock THEN
    UPDATE :schema.database SET clock = p_at_least WHERE number = p_db AND clock < p_at_least;
  END IF;
  SELECT count(*) FILTER (WHERE s.state = 'open'), max(s.clock), min(s.timeline), max(s.timeline),
      ${KNOWN_TIMELINE}
    INTO v_open, v_clock, v_oldest, v_newest, on_timeline
    FROM (SELECT state, clock, timeline FROM :schema.segment WHERE id = ANY(p_segment) ORDER BY id
      FOR NO KEY UPDATE) s;
  IF v_open < (SELECT count(DISTINCT s) FROM unnest(p_segment) s) THEN
    moved := true;
    RETURN;
  END IF;
  IF v_oldest IS DISTINCT FROM on_timeline OR v_newest IS DISTINCT FROM on_timeline THEN
    PERFORM :schema.begin_epoch(p_segment);
    on_timeline := :schema.present_timeline();
  END IF;
  SELECT greatest(d.clock, v_clock, p_at_least, CASE WHEN p_own_clock THEN 0 ELSE :server_now END) INTO time_ms
    FROM :schema.database d WHERE d.number = p_db;
  v_second := time_ms / 1000;
  IF array_length(array_remove(p_fence_job, NULL), 1) > 0 THEN
    v_fenced_by := :schema.lock_fences(p_db, p_fence_job, p_fence_min, p_fence_max, p_fence_epoch);
  END IF;
  IF p_unique IS NOT NULL THEN
    v_broken := :schema.judge_entries(p_unique, cardinality(p_fence_job), time_ms);
  END IF;

  -- Judged before the first row is touched: a refusal leaves nothing behind.
  WITH present AS (
    SELECT o.*, d.lsn AS present, c.log, c.default_ttl,
      CASE WHEN d.lsn IS NULL OR (c.default_ttl IS NULL AND c.eras = '[]') THEN 0
        ELSE :schema.expired_second(d.ts, d.ttl, c.default_ttl, c.eras, time_ms) END AS expired
    FROM unnest(p_request, p_batch, p_segment, p_coll, p_epk, p_pk, p_id, p_kind, p_cond, p_cond_lsn,
        p_ttl) WITH ORDINALITY
      AS o(request, batch, segment, coll, epk, pk, id, kind, cond, cond_lsn, ttl, n)
    JOIN :schema.collection c ON c.number = o.coll
    LEFT JOIN :schema.doc d
      ON d.coll = o.coll AND d.epk = o.epk AND d.pk = o.pk AND d.id = o.id AND d.kind = 0
  ), seen AS (
    SELECT p.*, CASE WHEN expired = 0 THEN present END AS live FROM present p
  ), judged AS (
    SELECT s.*, CASE
      WHEN v_fenced_by[request] IS NOT NULL THEN 3
      WHEN cond = 1 AND live IS NOT NULL OR cond = 2 AND live IS NULL
        OR cond = 3 AND live IS DISTINCT FROM cond_lsn OR cond = 4 AND live = cond_lsn THEN 1
      WHEN kind = 0 AND ttl IS NULL AND default_ttl IS NOT NULL THEN 2
      WHEN v_broken[request] IS NOT NULL THEN 4
      ELSE 0 END AS fault
    FROM seen s
  ), decided AS (
    SELECT j.*, bool_and(fault = 0) OVER (PARTITION BY request) AS applies,
      kind = 0 AND expired <> 0 AS expires, kind < 2 AS writes
    FROM judged j
  ), counted AS (
    SELECT d.*, sum(CASE WHEN applies THEN expires::integer + writes::integer ELSE 0 END)
        OVER (PARTITION BY segment ORDER BY batch) AS upto,
      sum(expires::integer + writes::integer) OVER (PARTITION BY batch) AS width,
      sum(expires::integer) OVER (PARTITION BY batch ORDER BY n) AS expiry_ord,
      sum(writes::integer) OVER (PARTITION BY batch ORDER BY n) AS write_ord
    FROM decided d
  )
  SELECT array_agg(base + upto), array_agg(write_ord),
    array_agg(CASE WHEN expires AND applies THEN base + upto - width + expiry_ord END),
    array_agg(expired), array_agg(applies), array_agg(live IS NOT NULL),
    array_agg(fault),
    array_agg(CASE fault WHEN 3 THEN v_fenced_by[request] WHEN 4 THEN v_broken[request] ELSE live END),
    coalesce(bool_or(log > 0 AND applies), false), coalesce(bool_or(expires AND applies), false),
    coalesce(bool_or(live IS NOT NULL AND writes AND applies), false), bool_or(is_astray)
    INTO lsns, v_ords, v_expiry_lsns, v_expired, v_apply, existed, faults, fault_lsns, v_logs, v_expires,
      v_removes, v_astray
    -- Sorted once for all lists: eight ORDER BY within them were eight sorts.
    FROM (SELECT c.*, s.lsn AS base, s.coll <> c.coll OR c.epk < s.min OR c.epk >= s.max AS is_astray
      FROM counted c JOIN :schema.segment s ON s.id = c.segment ORDER BY n) c;

  -- A fail-over that loses a split may give the number of its segment to another: nothing is written where no
  -- reader of its key looks.
  IF v_astray THEN
    moved := true;
    RETURN;
  END IF;
  IF v_fenced_by IS NOT NULL THEN
    PERFORM :schema.remember_fences(
      p_db, p_fence_job, p_fence_min, p_fence_max, p_fence_epoch,
      ARRAY(SELECT DISTINCT o.request FROM unnest(p_request, v_apply) AS o(request, apply) WHERE o.apply));
  END IF;
  IF v_expires THEN
    IF v_logs THEN
      INSERT INTO :schema.log(
          lsn, at, segment, ord, coll, op, epk, pk, id, rid, plsn, pts, pmade, previous)
        SELECT o.lsn, time_ms, o.segment, 1, o.coll, 3, o.epk, o.pk, o.id, d.rid, d.lsn, d.ts, d.made,
          CASE c.log WHEN 2 THEN d.body END
        FROM unnest(v_expiry_lsns, p_segment, p_coll, p_epk, p_pk, p_id) AS o(lsn, segment, coll, epk, pk, id)
        JOIN :schema.collection c ON c.number = o.coll AND c.log > 0
        JOIN :schema.doc d
          ON d.coll = o.coll AND d.epk = o.epk AND d.pk = o.pk AND d.id = o.id AND d.kind = 0
        WHERE o.lsn IS NOT NULL;
    END IF;
    -- A document that is written again after its time becomes a pending delete first (TTL-16).
    UPDATE :schema.doc d
      SET lsn = o.lsn, segment = o.segment, ord = 1, kind = 1, ts = v_second, exp = o.expired,
        vlsn = d.lsn, vts = d.ts
      FROM unnest(v_expiry_lsns, v_expired, p_segment, p_coll, p_epk, p_pk, p_id)
        AS o(lsn, expired, segment, coll, epk, pk, id)
      WHERE o.lsn IS NOT NULL
        AND d.coll = o.coll AND d.epk = o.epk AND d.pk = o.pk AND d.id = o.id AND d.kind = 0;
  END IF;
  IF v_logs THEN
    INSERT INTO :schema.log(
        lsn, at, segment, ord, coll, op, epk, pk, id, rid, made, current, plsn, pts, pmade, previous)
      SELECT o.lsn, time_ms, o.segment, o.ord, o.coll,
        CASE WHEN o.kind = 1 THEN 2 WHEN o.existed THEN 1 ELSE 0 END, o.epk, o.pk, o.id,
        coalesce(o.rid, d.rid),
        CASE WHEN o.until IS NOT NULL THEN least(2147483647, greatest(1, o.until - v_second))::integer END,
        o.body, d.lsn, d.ts, d.made, CASE c.log WHEN 2 THEN d.body END
      FROM unnest(lsns, v_ords, v_apply, existed, p_segment, p_coll, p_epk, p_pk, p_id, p_kind, p_until,
          p_rid, p_body)
        AS o(lsn, ord, apply, existed, segment, coll, epk, pk, id, kind, until, rid, body)
      JOIN :schema.collection c ON c.number = o.coll AND c.log > 0
      LEFT JOIN :schema.doc d
        ON d.coll = o.coll AND d.epk = o.epk AND d.pk = o.pk AND d.id = o.id AND d.kind = 0
      WHERE o.apply AND (o.kind = 0 OR o.kind = 1 AND o.existed);
  END IF;
  IF v_removes THEN
    -- By key: folding may just be moving the row.
    DELETE FROM :schema.doc d
      USING unnest(p_coll, p_epk, p_pk, p_id, p_kind, existed, v_apply)
        AS o(coll, epk, pk, id, kind, existed, apply)
      WHERE o.apply AND o.existed AND o.kind < 2
        AND d.coll = o.coll AND d.epk = o.epk AND d.pk = o.pk AND d.id = o.id AND d.kind = 0;
  END IF;
  INSERT INTO :schema.doc(lsn, exp, ts, segment, ord, coll, ttl, kind, epk, pk, id, made, rid, body)
    SELECT o.lsn, :schema.expiry_second(v_second, t.ttl, c.default_ttl), v_second, o.segment, o.ord,
      o.coll, t.ttl, 0, o.epk, o.pk, o.id, CASE WHEN o.until IS NOT NULL THEN t.ttl END, o.rid, o.body
    FROM unnest(lsns, v_ords, v_apply, p_segment, p_coll, p_epk, p_pk, p_id, p_kind, p_ttl, p_until,
        p_rid, p_body)
      AS o(lsn, ord, apply, segment, coll, epk, pk, id, kind, ttl, until, rid, body)
    CROSS JOIN LATERAL (SELECT CASE WHEN o.until IS NULL THEN coalesce(o.ttl, 0)
      ELSE least(2147483647, greatest(1, o.until - v_second))::integer END AS ttl) t
    JOIN :schema.collection c ON c.number = o.coll
    WHERE o.apply AND o.kind = 0;
  IF p_unique IS NOT NULL THEN
    PERFORM :schema.keep_entries(p_unique,
      ARRAY(SELECT DISTINCT o.request FROM unnest(p_request, v_apply) AS o(request, apply) WHERE o.apply));
  END IF;
  UPDATE :schema.segment s SET lsn = m.lsn, clock = time_ms
    FROM (SELECT o.segment, max(o.lsn) AS lsn
      FROM unnest(p_segment, lsns, v_apply) AS o(segment, lsn, apply)
      WHERE o.apply GROUP BY o.segment) m
    WHERE s.id = m.segment AND m.lsn > s.lsn;
END
$$;
`
