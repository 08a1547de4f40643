import type { Client } from 'pg'
import type { StoredState } from './planned-store.ts'

const TABLES: Readonly<Record<keyof StoredState, string>> = {
  documents: `SELECT coll, segment, lsn, ord, kind, epk, pk, id, ts, ttl, exp, vlsn, vts, made, rid, body
    FROM doc WHERE coll = ANY($1)`,
  log: `SELECT coll, segment, lsn, ord, epk, pk, id, made, at, op, rid, current, plsn, pts, pmade, previous
    FROM log WHERE coll = ANY($1)`,
  entries: 'SELECT coll, ukey, epk, pk, id, value FROM unique_entry WHERE coll = ANY($1)',
  counters: 'SELECT id AS segment, lsn FROM segment WHERE coll = ANY($1)',
  fences: `SELECT job, json_build_object('minInclusive', min, 'maxExclusive', max) AS range, epoch FROM fence
    WHERE $1::integer[] IS NOT NULL`,
}

const PARTS = Object.entries(TABLES).map(
  ([name, table]) => `'${name}', (SELECT coalesce(json_agg(t), '[]') FROM (${table}) t)`,
)
const READ = `SELECT json_build_object(${PARTS.join(', ')})`

/** Reads past the engine what it has stored of these collections, and all fences. */
export async function readStoredState(
  client: Client,
  collections: readonly number[],
): Promise<StoredState> {
  const { rows } = await client.query<[StoredState]>({
    text: READ,
    values: [collections],
    rowMode: 'array',
  })
  const [state] = rows[0] ?? []
  if (state === undefined) throw new Error('no row')
  return state
}

/** Removes it again, so that tables stay small. */
export async function clearStoredState(client: Client): Promise<void> {
  await client.query(
    'DELETE FROM doc; DELETE FROM log; DELETE FROM unique_entry; DELETE FROM fence; DELETE FROM fence_job',
  )
}
