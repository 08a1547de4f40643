import type { Opening, OpeningStatement } from '../connection/openings.ts'
import type { Statements } from '../connection/statements.ts'
import type { DueStart } from './entity-hints.ts'
import { dueValues, PLACE, PLACE_HELD } from './entity-requests.ts'
import type { FirstRequests } from './first-requests.ts'
import { BY_ID } from './message-requests.ts'

/**
 * The statements of a transaction are planned once for each connection, perhaps while the tables are empty: then each
 * plan but that of the right index would look as cheap.
 */
export const SETTINGS: readonly string[] = [
  'plan_cache_mode = force_generic_plan',
  'enable_seqscan = off',
  'enable_bitmapscan = off',
  'enable_hashjoin = off',
  'enable_mergejoin = off',
  'jit = off',
].map((setting) => `SET LOCAL ${setting}`)

const TIME = 'SELECT greatest(b.clock, $2, :now) FROM :schema.database b WHERE b.number = $1'

/** Answers the store's time first. */
export function messageOpening(
  statements: Statements,
  {
    database,
    atLeastMs,
    isOwnClock,
    first: { place, rows, due },
  }: {
    readonly database: number
    readonly atLeastMs: number
    readonly isOwnClock: boolean
    readonly first: FirstRequests & { readonly due: DueStart }
  },
): Opening {
  // Where processes have clocks of their own, each commit stores its time, as those of documents do.
  const keep = `UPDATE :schema.database SET clock = ${atLeastMs} WHERE number = ${database} AND clock < ${atLeastMs}`
  const script = statements.fill([...SETTINGS, ...(isOwnClock ? [keep] : [])].join('; '))
  const asked: OpeningStatement[] = [
    { statement: statements.of(TIME), values: [database, atLeastMs] },
  ]
  if (place !== undefined) {
    const statement = statements.of(place.hold ? PLACE_HELD : PLACE)
    asked.push({ statement, values: [place.entity, database, ...dueValues(due)] })
  }
  if (rows !== undefined) asked.push({ statement: statements.of(BY_ID), values: [rows] })
  return { script, statements: asked }
}
