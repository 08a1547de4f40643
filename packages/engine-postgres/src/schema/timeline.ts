import { SYNCED } from './write-guards.ts'

/**
 * What says that commits may be lost: the number of the server's present timeline is a row of an unlogged table. A clean
 * restart keeps it; a crash, a fail-over and a recovery to a point in time empty the table. A segment that was last
 * written under another number begins an epoch before anything else (`BEGIN_EPOCH`). Each number is above those of all
 * timelines of a server itself, which segments had before.
 */
export const TIMELINE_TABLE: string = `
CREATE SEQUENCE :schema.timeline_number AS integer START 1048576;
CREATE :unlogged TABLE :schema.timeline(one boolean PRIMARY KEY CHECK (one), number integer NOT NULL);
`

/** As SQL: null where none has begun since the table was emptied. */
export const KNOWN_TIMELINE = '(SELECT t.number FROM :schema.timeline t WHERE t.one)'

/**
 * `present_timeline`: the number, which begins here if there is none. Called after segments are locked, never before.
 *
 * `flush_commits`: makes all commits before it durable, with a record that means nothing, and returns `KNOWN_TIMELINE`.
 */
export const TIMELINE_FUNCTIONS: string = `
CREATE FUNCTION :schema.present_timeline() RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
  v_number integer := ${KNOWN_TIMELINE};
BEGIN
  IF v_number IS NULL THEN
    INSERT INTO :schema.timeline VALUES (true, nextval(':schema.timeline_number')) ON CONFLICT DO NOTHING;
    v_number := ${KNOWN_TIMELINE};
  END IF;
  RETURN v_number;
END
$$;
CREATE FUNCTION :schema.flush_commits() RETURNS integer
LANGUAGE plpgsql AS $$
BEGIN
  ${SYNCED}
  PERFORM pg_logical_emit_message(true, 'tidemark', '');
  RETURN ${KNOWN_TIMELINE};
END
$$;
`
