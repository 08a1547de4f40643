import { numberColumn, textColumn } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'
import { hasMessageTables } from './message-tables.ts'

/** Each finds rows with one number, and says what it means. */
const CONTRADICTIONS: readonly (readonly [sql: string, problem: (row: string) => string])[] = [
  [
    'SELECT id FROM message m WHERE NOT EXISTS (SELECT 1 FROM entity e WHERE e.number = m.entity)',
    (id) => `message ${id} is in no entity`,
  ],
  [
    'SELECT id FROM message m WHERE NOT EXISTS (SELECT 1 FROM message_body b WHERE b.id = m.id)',
    (id) => `message ${id} has no body`,
  ],
  [
    'SELECT id FROM message_body b WHERE NOT EXISTS (SELECT 1 FROM message m WHERE m.id = b.id)',
    (id) => `body ${id} has no message`,
  ],
  [
    'SELECT m.id FROM message m JOIN entity e ON e.number = m.entity WHERE m.number >= e.next',
    (id) => `message ${id} has a number that is not given out yet`,
  ],
  [
    'SELECT m.id FROM message m, broker b WHERE m.id >= b.message',
    (id) => `message ${id} has an id that is not given out yet`,
  ],
  [
    'SELECT e.number FROM entity e, broker b WHERE e.number >= b.entity',
    (number) => `entity ${number} has a number that is not given out yet`,
  ],
  [
    `SELECT e.number FROM entity e WHERE e.key IS NOT NULL AND NOT EXISTS (
       SELECT 1 FROM entity_definition d WHERE d.entity = e.number)`,
    (number) => `entity ${number} has no definition`,
  ],
  [
    'SELECT entity FROM entity_definition WHERE NOT json_valid(definition)',
    (number) => `entity ${number} has a definition that is no JSON`,
  ],
  [
    'SELECT id FROM message WHERE changes IS NOT NULL AND NOT json_valid(changes)',
    (id) => `message ${id} has changes that are no JSON`,
  ],
  [
    `SELECT e.number FROM entity e WHERE e.key IS NOT NULL AND e.kind IN ('queue', 'subscription') AND NOT EXISTS (
       SELECT 1 FROM entity d WHERE d.parent = e.number AND d.kind = 'deadLetter' AND d.key IS NOT NULL)`,
    (number) => `entity ${number} has no dead-letter queue`,
  ],
  [
    'SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM broker)',
    () => 'the counters of messages and entities are gone',
  ],
  [
    `SELECT e.number FROM entity e WHERE e.key IS NOT NULL AND e.parent IS NOT NULL AND NOT EXISTS (
       SELECT 1 FROM entity p WHERE p.number = e.parent AND p.key IS NOT NULL)`,
    (number) => `entity ${number} has no parent`,
  ],
  [
    'SELECT m.id FROM message m WHERE m.state = 2 AND (m.lock IS NOT NULL OR m.due IS NULL)',
    (id) => `message ${id} is scheduled, and locked or without an instant`,
  ],
  [
    'SELECT m.id FROM message m WHERE m.state <> 2 AND m.session IS NULL AND (m.lock IS NULL) <> (m.due IS NULL)',
    (id) => `message ${id} has a lock without an end, or the reverse`,
  ],
  [
    `SELECT m.id FROM message m WHERE m.lock IS NOT NULL AND m.session IS NOT NULL AND NOT EXISTS (
       SELECT 1 FROM session s WHERE s.entity = m.entity AND s.session = m.session AND s.lock = m.lock)`,
    (id) => `message ${id} is locked by a session that is not held by this lock`,
  ],
  [
    'SELECT s.id FROM session s WHERE NOT EXISTS (SELECT 1 FROM entity e WHERE e.number = s.entity)',
    (id) => `session ${id} is in no entity`,
  ],
]

/** Contradictions between the tables of messages, as sentences. Reads everything. */
export function checkMessages(connection: Connection): readonly string[] {
  if (!hasMessageTables(connection)) return []
  const problems = CONTRADICTIONS.flatMap(([sql, problem]) =>
    connection.all(sql).map((row) => problem(String(numberColumn(row, 0)))),
  )
  return [...problems, ...checkBytes(connection)]
}

/** What is in a subscription counts towards its topic's size, too, and so do states of sessions. */
function checkBytes(connection: Connection): readonly string[] {
  const wrong = connection.all(
    `SELECT e.path, e.bytes, held FROM (
       SELECT e.number AS entity, coalesce(sum(held.bytes), 0) AS held FROM entity e
       LEFT JOIN entity c ON c.number = e.number OR (c.parent = e.number AND c.kind = 'subscription' AND c.key IS NOT NULL)
       LEFT JOIN (
         SELECT entity, bytes FROM message UNION ALL SELECT entity, length(state) FROM session
       ) held ON held.entity = c.number
       WHERE e.key IS NOT NULL GROUP BY e.number
     ) JOIN entity e ON e.number = entity WHERE e.bytes <> held`,
  )
  return wrong.map(
    (row) =>
      `${textColumn(row, 0)} holds ${numberColumn(row, 2)} bytes, not ${numberColumn(row, 1)}`,
  )
}
