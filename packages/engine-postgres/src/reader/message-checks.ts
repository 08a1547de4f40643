/*
 * The invariants of the messages of a database, $1. Each statement returns a sentence for each violation.
 */

const OWNERS = `SELECT format('message %s is in entity %s, which is gone', m.id, m.entity)
FROM :schema.message m WHERE NOT EXISTS (SELECT 1 FROM :schema.entity e WHERE e.number = m.entity)`

const BODIES = `SELECT format('message %s of entity %s has no body', m.id, e.path)
FROM :schema.entity e JOIN :schema.message m ON m.entity = e.number
WHERE e.db = $1 AND NOT EXISTS (SELECT 1 FROM :schema.message_body b WHERE b.id = m.id)`

/** Of no database. */
const OWNERLESS_BODIES = `SELECT format('body %s has no message', b.id)
FROM :schema.message_body b WHERE NOT EXISTS (SELECT 1 FROM :schema.message m WHERE m.id = b.id)`

const NUMBERS = `SELECT format('message %s of entity %s has the number %s, and the counter is at %s',
  m.id, e.path, m.number, c.next)
FROM :schema.entity e JOIN :schema.entity_counter c ON c.number = e.number
JOIN :schema.message m ON m.entity = e.number WHERE e.db = $1 AND m.number >= c.next`

const DEAD_LETTER_QUEUES = `SELECT format('entity %s has no dead-letter queue', e.path)
FROM :schema.entity e WHERE e.db = $1 AND NOT e.dropped AND e.kind IN ('queue', 'subscription') AND NOT EXISTS (
  SELECT 1 FROM :schema.entity d WHERE d.parent = e.number AND d.kind = 'deadLetter' AND NOT d.dropped)`

const COUNTERS = `SELECT format('entity %s has no counter or no stamp', e.path)
FROM :schema.entity e WHERE e.db = $1 AND NOT e.dropped AND (
  NOT EXISTS (SELECT 1 FROM :schema.entity_counter c WHERE c.number = e.number)
  OR NOT EXISTS (SELECT 1 FROM :schema.entity_access a WHERE a.number = e.number))`

const SIZES = `SELECT format('entity %s counts %s bytes, and has %s', e.path, z.bytes, m.bytes)
FROM :schema.entity e
CROSS JOIN LATERAL (SELECT coalesce(sum(z.bytes), 0) AS bytes FROM :schema.entity_size z WHERE z.entity = e.number) z
CROSS JOIN LATERAL (SELECT coalesce(sum(m.bytes), 0) AS bytes FROM :schema.message m WHERE m.entity = e.number) m
WHERE e.db = $1 AND NOT e.dropped AND z.bytes < m.bytes`

export const MESSAGE_CHECKS: readonly string[] = [
  OWNERS,
  BODIES,
  OWNERLESS_BODIES,
  NUMBERS,
  DEAD_LETTER_QUEUES,
  COUNTERS,
  SIZES,
]
