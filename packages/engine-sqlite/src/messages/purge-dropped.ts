import { numberColumn } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'

const FIRST_DROPPED =
  'SELECT number FROM entity INDEXED BY entity_dropped WHERE key IS NULL ORDER BY number LIMIT 1'
const BODIES = `DELETE FROM message_body WHERE id IN (
  SELECT id FROM message INDEXED BY message_number WHERE entity = ? ORDER BY number LIMIT ? + 0)`
const MESSAGES = `DELETE FROM message WHERE id IN (
  SELECT id FROM message INDEXED BY message_number WHERE entity = ? ORDER BY number LIMIT ? + 0)`
const SESSIONS =
  'DELETE FROM session WHERE id IN (SELECT id FROM session WHERE entity = ? LIMIT ? + 0)'
const SEEN = `DELETE FROM seen WHERE (entity, id) IN (
  SELECT entity, id FROM seen WHERE entity = ? LIMIT ? + 0)`

/** Removes up to `max` rows of entities that were dropped. True when there are more. */
export function purgeDropped(connection: Connection, max: number): boolean {
  let left = max
  for (;;) {
    const row = connection.get(FIRST_DROPPED)
    if (row === undefined) return false
    const entity = numberColumn(row, 0)
    for (const [first, ...others] of [[BODIES, MESSAGES], [SESSIONS], [SEEN]] as const) {
      if (left <= 0) return true
      const removed = connection.run(first, entity, left)
      for (const sql of others) connection.run(sql, entity, left)
      left -= removed
    }
    if (left <= 0) return true
    connection.run('DELETE FROM entity_definition WHERE entity = ?', entity)
    connection.run('DELETE FROM entity WHERE number = ?', entity)
    left--
  }
}
