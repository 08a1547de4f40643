/**
 * What walks through names of sessions, or looks into several lists: one call each.
 *
 * `hold_session`: the session's row, locked, made if it is missing. `next_session`: the first after `p_after` that has
 * something to give and is free by `p_lock_ms`, locked; rows that another transaction has are skipped. `list_sessions`:
 * names with messages or a state. `look_entities`: see `EntityLook`, and `EntityHints` for where it begins; `look_sessions`:
 * see `SessionLook`.
 */
export const MESSAGE_FUNCTIONS: string = `
CREATE FUNCTION :schema.hold_session(p_entity integer, p_session text) RETURNS SETOF :schema.message_session
LANGUAGE plpgsql :planner AS $$
BEGIN
  LOOP
    RETURN QUERY SELECT s.* FROM :schema.message_session s
      WHERE s.entity = p_entity AND s.session = p_session FOR UPDATE;
    EXIT WHEN FOUND;
    INSERT INTO :schema.message_session(entity, session, until, expired_through, updated)
      VALUES (p_entity, p_session, 0, 0, 0) ON CONFLICT DO NOTHING;
  END LOOP;
END
$$;
CREATE FUNCTION :schema.next_session(p_entity integer, p_after text, p_lock_ms bigint)
RETURNS SETOF :schema.message_session
LANGUAGE plpgsql :planner AS $$
DECLARE
  v_name text COLLATE "C" := p_after;
  v_row :schema.message_session;
BEGIN
  LOOP
    SELECT m.session INTO v_name FROM :schema.message m
      WHERE m.waiting = p_entity AND m.session > v_name ORDER BY m.session LIMIT 1;
    EXIT WHEN NOT FOUND;
    SELECT s.* INTO v_row FROM :schema.message_session s
      WHERE s.entity = p_entity AND s.session = v_name AND (s.lock IS NULL OR s.until <= p_lock_ms)
      FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
      PERFORM 1 FROM :schema.message m
        WHERE m.waiting = p_entity AND m.session = v_name AND m.number > v_row.expired_through
        ORDER BY m.number LIMIT 1;
      CONTINUE WHEN NOT FOUND;
      RETURN NEXT v_row;
      EXIT;
    END IF;
    CONTINUE WHEN EXISTS (SELECT 1 FROM :schema.message_session s WHERE s.entity = p_entity AND s.session = v_name);
    -- Instead of the row that does not exist: who accepts the same session at the same time skips it.
    PERFORM 1 FROM :schema.message m WHERE m.waiting = p_entity AND m.session = v_name
      ORDER BY m.number LIMIT 1 FOR UPDATE SKIP LOCKED;
    CONTINUE WHEN NOT FOUND;
    INSERT INTO :schema.message_session AS s (entity, session, until, expired_through, updated)
      VALUES (p_entity, v_name, 0, 0, 0) ON CONFLICT DO NOTHING RETURNING s.* INTO v_row;
    CONTINUE WHEN NOT FOUND;
    RETURN NEXT v_row;
    EXIT;
  END LOOP;
END
$$;
CREATE FUNCTION :schema.list_sessions(p_entity integer, p_after text, p_max integer) RETURNS SETOF text
LANGUAGE plpgsql :planner AS $$
DECLARE
  v_name text COLLATE "C" := p_after;
BEGIN
  FOR v_count IN 1..p_max LOOP
    v_name := least(
      (SELECT m.session FROM :schema.message m
        WHERE m.entity = p_entity AND m.session > v_name ORDER BY m.session LIMIT 1),
      (SELECT s.session FROM :schema.message_session s
        WHERE s.entity = p_entity AND s.session > v_name AND s.state IS NOT NULL ORDER BY s.session LIMIT 1));
    EXIT WHEN v_name IS NULL;
    RETURN NEXT v_name;
  END LOOP;
END
$$;
CREATE FUNCTION :schema.look_entities(
  p_entities integer[], p_from bigint[], p_due_from bigint[], p_due_version bigint[], OUT entity integer, OUT has_ready boolean, OUT lock_end bigint, OUT scheduled bigint,
  OUT expires bigint) RETURNS SETOF record
LANGUAGE plpgsql :planner AS $$
DECLARE
  v_entity integer;
  v_due_from bigint;
  v_name text COLLATE "C";
BEGIN
  FOR v_at IN 1..cardinality(p_entities) LOOP
    v_entity := p_entities[v_at];
    SELECT CASE WHEN e.version = p_due_version[v_at] THEN p_due_from[v_at] ELSE 0 END INTO v_due_from
      FROM :schema.entity e WHERE e.number = v_entity AND NOT e.dropped;
    CONTINUE WHEN NOT FOUND;
    entity := v_entity;
    has_ready := EXISTS (SELECT 1 FROM :schema.message m WHERE m.ready = v_entity AND m.number >= p_from[v_at]);
    IF NOT has_ready AND p_from[v_at] > 0 THEN
      has_ready := EXISTS (SELECT 1 FROM :schema.message m WHERE m.ready = v_entity AND m.number >= 0);
    END IF;
    v_name := '';
    WHILE NOT has_ready LOOP
      SELECT m.session INTO v_name FROM :schema.message m
        WHERE m.waiting = v_entity AND m.session > v_name ORDER BY m.session LIMIT 1;
      EXIT WHEN NOT FOUND;
      has_ready := EXISTS (SELECT 1 FROM :schema.message m
        LEFT JOIN :schema.message_session s ON s.entity = v_entity AND s.session = v_name
        WHERE m.waiting = v_entity AND m.session = v_name
          AND s.lock IS NULL AND m.number > coalesce(s.expired_through, 0));
    END LOOP;
    lock_end := least(
      (SELECT m.due FROM :schema.message m WHERE m.locked = v_entity AND m.due >= v_due_from ORDER BY m.due LIMIT 1),
      (SELECT s.until FROM :schema.message_session s
        WHERE s.entity = v_entity AND s.lock IS NOT NULL ORDER BY s.until LIMIT 1));
    scheduled := (SELECT m.due FROM :schema.message m
      WHERE m.scheduled = v_entity ORDER BY m.due LIMIT 1);
    expires := (SELECT m.expires FROM :schema.message m
      WHERE m.expiring = v_entity ORDER BY m.expires LIMIT 1);
    RETURN NEXT;
  END LOOP;
END
$$;
CREATE FUNCTION :schema.look_sessions(
  p_entity integer, p_sessions text[], OUT session text, OUT has_ready boolean, OUT expires bigint)
RETURNS SETOF record
LANGUAGE plpgsql :planner AS $$
BEGIN
  FOREACH session IN ARRAY p_sessions LOOP
    has_ready := EXISTS (SELECT 1 FROM :schema.message m
      WHERE m.waiting = p_entity AND m.session = look_sessions.session);
    CONTINUE WHEN NOT has_ready;
    expires := (SELECT m.expires FROM :schema.message m
      WHERE m.expiring_session = p_entity AND m.session = look_sessions.session ORDER BY m.expires LIMIT 1);
    RETURN NEXT;
  END LOOP;
END
$$;
CREATE FUNCTION :schema.purge_entities(p_db integer, p_max integer) RETURNS boolean
LANGUAGE plpgsql :planner AS $$
DECLARE
  v_entity integer;
  v_ids bigint[];
BEGIN
  SELECT e.number INTO v_entity FROM :schema.entity e WHERE e.dropped AND (p_db IS NULL OR e.db = p_db)
    ORDER BY e.number LIMIT 1 FOR UPDATE SKIP LOCKED;
  IF v_entity IS NULL THEN RETURN false; END IF;
  v_ids := ARRAY(SELECT m.id FROM :schema.message m WHERE m.entity = v_entity ORDER BY m.id LIMIT p_max FOR UPDATE);
  DELETE FROM :schema.message_body b WHERE b.id = ANY(v_ids);
  DELETE FROM :schema.message m WHERE m.id = ANY(v_ids);
  IF cardinality(v_ids) = p_max THEN RETURN true; END IF;
  DELETE FROM :schema.seen_message s WHERE s.entity = v_entity AND s.id <= coalesce(
    (SELECT l.id FROM :schema.seen_message l WHERE l.entity = v_entity ORDER BY l.id OFFSET p_max LIMIT 1),
    (SELECT max(l.id) FROM :schema.seen_message l WHERE l.entity = v_entity));
  IF EXISTS (SELECT 1 FROM :schema.seen_message s WHERE s.entity = v_entity) THEN RETURN true; END IF;
  DELETE FROM :schema.message_session s WHERE s.entity = v_entity AND s.session <= coalesce(
    (SELECT l.session FROM :schema.message_session l WHERE l.entity = v_entity ORDER BY l.session OFFSET p_max LIMIT 1),
    (SELECT max(l.session) FROM :schema.message_session l WHERE l.entity = v_entity));
  IF EXISTS (SELECT 1 FROM :schema.message_session s WHERE s.entity = v_entity) THEN RETURN true; END IF;
  DELETE FROM :schema.entity_size z WHERE z.entity = v_entity;
  DELETE FROM :schema.entity e WHERE e.number = v_entity;
  RETURN EXISTS (SELECT 1 FROM :schema.entity e WHERE e.dropped AND (p_db IS NULL OR e.db = p_db));
END
$$;
`
