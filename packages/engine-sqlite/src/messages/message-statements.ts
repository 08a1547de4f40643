import { MESSAGE_COLUMNS, SESSION_COLUMNS } from './message-columns.ts'

/*
 * Each reads or writes one range of one index, whatever else the entity holds. A test shows it by their plans.
 */

const SELECT = `SELECT ${MESSAGE_COLUMNS} FROM message`
const READY = 'entity = ? AND state = 0 AND lock IS NULL'
const UNEXPIRED = '(expires IS NULL OR expires > ?)'
export const READY_ROWS: string = `${SELECT} INDEXED BY message_ready WHERE ${READY} AND session IS NULL
  AND number > ? AND ${UNEXPIRED} ORDER BY number LIMIT ? + 0`
export const READY_ROWS_IN_SESSION: string = `${SELECT} INDEXED BY message_ready_in_session
  WHERE ${READY} AND session IS NOT NULL AND session = ? AND number > ? AND ${UNEXPIRED}
  ORDER BY number LIMIT ? + 0`
export const BODY: string = 'SELECT head, body FROM message_body WHERE id = ?'
export const LOCK: string = 'UPDATE message SET lock = ?, due = ? WHERE id = ?'
export const REMOVE: string = 'DELETE FROM message WHERE id = ?'
export const REMOVE_BODY: string = 'DELETE FROM message_body WHERE id = ?'
export const INSERT: string =
  'INSERT INTO message VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)'
export const INSERT_BODY: string = 'INSERT INTO message_body VALUES (?, ?, ?)'
export const CHANGE: string = `UPDATE message SET entity = ?, number = ?, state = ?, session = ?, enqueued = ?, ttl = ?, expires = ?,
  due = ?, lock = ?, deliveries = ?, first = ?, hops = ?, source = ?, changes = ?, bytes = ? WHERE id = ?`
export const BY_ID: string = `${SELECT} WHERE id = ?`
export const BY_NUMBER: string = `${SELECT} INDEXED BY message_number WHERE entity = ? AND number = ?`
export const DUE_ROWS: string = `${SELECT} INDEXED BY message_due
  WHERE entity = ? AND state = ? AND due IS NOT NULL AND due <= ? ORDER BY due, number LIMIT ? + 0`
export const EXPIRED_ROWS: string = `${SELECT} INDEXED BY message_expiry
  WHERE ${READY} AND expires IS NOT NULL AND expires <= ? ORDER BY expires, number LIMIT ? + 0`
export const EXPIRED_ROWS_IN_SESSION: string = `${SELECT} INDEXED BY message_expiry_in_session
  WHERE ${READY} AND session IS NOT NULL AND session = ? AND expires IS NOT NULL AND expires <= ?
  ORDER BY expires, number LIMIT ? + 0`
export const EXPIRED_SESSIONS: string = `SELECT session FROM message INDEXED BY message_expiry
  WHERE ${READY} AND expires IS NOT NULL AND expires <= ? AND session IS NOT NULL AND number > coalesce(
    (SELECT through FROM session s WHERE s.entity = message.entity AND s.session = message.session), 0)
  ORDER BY expires, number LIMIT ? + 0`
export const WAITING_IN_SESSION: string = `${SELECT} INDEXED BY message_ready_in_session
  WHERE ${READY} AND session IS NOT NULL AND session = ? AND number <= ? ORDER BY number LIMIT ? + 0`
export const LOCKED_IN_SESSION: string = `${SELECT} INDEXED BY message_locked_in_session
  WHERE entity = ? AND session = ? AND session IS NOT NULL AND lock = ? AND lock IS NOT NULL
  ORDER BY number LIMIT ? + 0`
export const FROM_NUMBER: string = `${SELECT} INDEXED BY message_number
  WHERE entity = ? AND number >= ? ORDER BY number LIMIT ? + 0`
export const FROM_NUMBER_IN_SESSION: string = `${SELECT} INDEXED BY message_session
  WHERE entity = ? AND session = ? AND session IS NOT NULL AND number >= ? ORDER BY number LIMIT ? + 0`
export const CLAIM: string = `INSERT INTO seen VALUES (?, ?, ?)
  ON CONFLICT (entity, id) DO UPDATE SET until = excluded.until WHERE until <= ?`
export const FORGOTTEN: string =
  'SELECT id FROM seen INDEXED BY seen_until WHERE entity = ? AND until <= ? LIMIT ? + 0'
export const ENDED_SESSIONS: string = `SELECT ${SESSION_COLUMNS} FROM session INDEXED BY session_until
  WHERE entity = ? AND lock IS NOT NULL AND until <= ? ORDER BY until, session LIMIT ? + 0`
export const EXPIRING_SESSIONS: string = `SELECT ${SESSION_COLUMNS} FROM session INDEXED BY session_expiring
  WHERE entity = ? AND through > 0 ORDER BY session LIMIT ? + 0`
export const STORE_SESSION: string = `INSERT INTO session(entity, session, lock, until, state, through, updated)
  VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (entity, session) DO UPDATE SET
  lock = excluded.lock, until = excluded.until, state = excluded.state, through = excluded.through,
  updated = excluded.updated`
export const NEXT_SESSION_OF_MESSAGES: string = `SELECT session FROM message INDEXED BY message_session
  WHERE entity = ? AND session > ? AND session IS NOT NULL ORDER BY session LIMIT 1`
export const NEXT_SESSION_WITH_STATE: string = `SELECT session, updated FROM session INDEXED BY session_state
  WHERE entity = ? AND session > ? AND state IS NOT NULL ORDER BY session LIMIT 1`

export const LOOK: string = `SELECT
  EXISTS (SELECT 1 FROM message INDEXED BY message_ready
    WHERE entity = e.number AND state = 0 AND lock IS NULL AND session IS NULL),
  (SELECT due FROM message INDEXED BY message_due
   WHERE entity = e.number AND state = 0 AND due IS NOT NULL ORDER BY due LIMIT 1),
  (SELECT due FROM message INDEXED BY message_due
   WHERE entity = e.number AND state = 1 AND due IS NOT NULL ORDER BY due LIMIT 1),
  (SELECT until FROM session INDEXED BY session_until
   WHERE entity = e.number AND lock IS NOT NULL ORDER BY until LIMIT 1),
  (SELECT due FROM message INDEXED BY message_due
   WHERE entity = e.number AND state = 2 AND due IS NOT NULL ORDER BY due LIMIT 1),
  (SELECT expires FROM message INDEXED BY message_expiry
   WHERE entity = e.number AND state = 0 AND lock IS NULL AND expires IS NOT NULL ORDER BY expires LIMIT 1)
  FROM entity e WHERE e.number = ? AND e.key IS NOT NULL`

export const LOOK_SESSION: string = `SELECT
  EXISTS (SELECT 1 FROM message INDEXED BY message_ready_in_session
    WHERE entity = ? AND session = ? AND state = 0 AND lock IS NULL AND session IS NOT NULL),
  (SELECT expires FROM message INDEXED BY message_expiry_in_session
   WHERE entity = ? AND session = ? AND state = 0 AND lock IS NULL AND session IS NOT NULL AND expires IS NOT NULL
   ORDER BY expires LIMIT 1)`

/** The next session with ready messages, and its row if it has one. Steps over sessions, not over messages. */
export const NEXT_READY_SESSION: string = `SELECT m.session, s.lock, s.until, s.through, m.number
  FROM message m INDEXED BY message_ready_in_session
  LEFT JOIN session s INDEXED BY session_name ON s.entity = m.entity AND s.session = m.session
  WHERE m.entity = ? AND m.session > ? AND m.state = 0 AND m.lock IS NULL AND m.session IS NOT NULL
  ORDER BY m.session, m.number LIMIT 1`
export const HAS_READY_ABOVE: string = `SELECT 1 FROM message INDEXED BY message_ready_in_session
  WHERE entity = ? AND session = ? AND number > ? AND state = 0 AND lock IS NULL AND session IS NOT NULL LIMIT 1`
export const SESSION: string = `SELECT ${SESSION_COLUMNS} FROM session WHERE entity = ? AND session = ?`

export const COUNTS: string = `SELECT
  (SELECT count(*) FROM message INDEXED BY message_number WHERE entity = e.number),
  (SELECT count(*) FROM message INDEXED BY message_due
   WHERE entity = e.number AND state = 0 AND due IS NOT NULL),
  (SELECT count(*) FROM message INDEXED BY message_due
   WHERE entity = e.number AND state = 1 AND due IS NOT NULL),
  (SELECT count(*) FROM message INDEXED BY message_locked_in_session
   WHERE entity = e.number AND session IS NOT NULL AND lock IS NOT NULL),
  (SELECT count(*) FROM message INDEXED BY message_deferred
   WHERE entity = e.number AND state = 1),
  (SELECT count(*) FROM message INDEXED BY message_due
   WHERE entity = e.number AND state = 2 AND due IS NOT NULL),
  (SELECT count(*) FROM message INDEXED BY message_expiry
   WHERE entity = e.number AND state = 0 AND lock IS NULL AND expires IS NOT NULL AND expires <= ?),
  e.bytes,
  (SELECT enqueued FROM message INDEXED BY message_number
   WHERE entity = e.number AND state <> 2 ORDER BY number LIMIT 1)
  FROM entity e WHERE e.number = ?`

/** Of table `entity`, as far as it is a record. */
const ENTITY_COLUMNS = 'number, version, accessed, path, kind, parent, created, updated'

/** Each subquery reads the first entry of an index. */
export const READ_PLACE: string = `SELECT e.number, e.version, e.accessed, e.path, e.kind, e.parent, e.created, e.updated,
  e.next, b.store, b.lock,
  (SELECT due FROM message INDEXED BY message_due
   WHERE entity = e.number AND state = 0 AND due IS NOT NULL ORDER BY due LIMIT 1),
  (SELECT due FROM message INDEXED BY message_due
   WHERE entity = e.number AND state = 1 AND due IS NOT NULL ORDER BY due LIMIT 1),
  (SELECT due FROM message INDEXED BY message_due
   WHERE entity = e.number AND state = 2 AND due IS NOT NULL ORDER BY due LIMIT 1),
  (SELECT until FROM session INDEXED BY session_until
   WHERE entity = e.number AND lock IS NOT NULL ORDER BY until LIMIT 1),
  (SELECT 0 FROM session INDEXED BY session_expiring WHERE entity = e.number AND through > 0 LIMIT 1),
  (SELECT expires FROM message INDEXED BY message_expiry
   WHERE entity = e.number AND state = 0 AND lock IS NULL AND expires IS NOT NULL ORDER BY expires LIMIT 1)
  FROM entity e, broker b WHERE e.number = ? AND e.key IS NOT NULL`
export const ENTITY_BY_NUMBER: string = `SELECT ${ENTITY_COLUMNS} FROM entity WHERE number = ? AND key IS NOT NULL`
export const ENTITY_BY_PATH: string = `SELECT ${ENTITY_COLUMNS} FROM entity WHERE key = ?`
export const CHILDREN: string = `SELECT ${ENTITY_COLUMNS} FROM entity INDEXED BY entity_parent
  WHERE parent = ? AND key IS NOT NULL AND parent IS NOT NULL ORDER BY parent, number`
export const ALL_ENTITIES: string = `SELECT ${ENTITY_COLUMNS} FROM entity WHERE key IS NOT NULL ORDER BY number`
export const FORWARDED_TO: string = `SELECT EXISTS (
    SELECT 1 FROM entity INDEXED BY entity_forward WHERE key IS NOT NULL AND forward = ?)
  OR EXISTS (
    SELECT 1 FROM entity INDEXED BY entity_deadforward WHERE key IS NOT NULL AND deadforward = ?)`
export const INSERT_ENTITY: string =
  'INSERT INTO entity VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?, 1, 0)'
export const STORE_DEFINITION: string = 'INSERT OR REPLACE INTO entity_definition VALUES (?, ?)'
export const CHANGE_ENTITY: string = `UPDATE entity SET forward = ?, deadforward = ?, version = version + 1, updated = ?
  WHERE number = ?`
