import type { Pool, PoolClient } from 'pg'

/** Tables that grow with the documents of a collection. */
const GROWING = /^(?:doc|log|unique_entry)$/
/** A check reads everything. */
const CHECK = /^SELECT format\('/
/** A page of a range that was merged, until it is folded: rows of several segments become one order. */
const MERGED_PAGE = /UNION ALL SELECT[^]*FETCH FIRST \$\d+ ROWS WITH TIES/
/** Schemas of one test each have the same statements. */
const SCHEMA = /\bstore_\d+\b/g

interface Plan {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly Plans?: readonly Plan[]
}

/**
 * Notes each statement that goes through a pool, so that a test can have PostgreSQL explain all of them, without a list that
 * somebody has to keep.
 */
export class StatementPlans {
  readonly #pool: Pool
  readonly #texts = new Map<string, string>()

  constructor(pool: Pool) {
    this.#pool = pool
    pool.on('connect', (client: PoolClient) => {
      const send = client.query.bind(client)
      const query = (...args: Parameters<typeof send>): ReturnType<typeof send> => {
        const given: unknown = args[0]
        const text = typeof given === 'string' ? given : (given as { readonly text: string }).text
        if (/^\s*(?:SELECT|WITH)\b/i.test(text)) this.#texts.set(text.replace(SCHEMA, ''), text)
        return send(...args)
      }
      Object.assign(client, { query })
    })
  }

  get size(): number {
    return this.#texts.size
  }

  /** What looks at every row of what is stored, or sorts what it has read without a limit. */
  async costly(): Promise<readonly string[]> {
    const client = await this.#pool.connect()
    try {
      // Tables of a test are so small that any plan does; of large ones, these are never chosen where an index helps.
      await client.query(
        'SET enable_seqscan = off; SET enable_sort = off; SET enable_bitmapscan = off; SET plan_cache_mode = force_generic_plan',
      )
      const found: string[] = []
      for (const text of this.#texts.values()) {
        if (CHECK.test(text) || MERGED_PAGE.test(text)) continue
        const parameters = new Set(text.match(/\$\d+/g))
        const values =
          parameters.size === 0 ? '' : `(${Array.from(parameters, () => 'NULL').join(', ')})`
        await client.query(`PREPARE looked_at AS ${text}`)
        const { rows } = await client.query(`EXPLAIN (FORMAT JSON) EXECUTE looked_at${values}`)
        await client.query('DEALLOCATE looked_at')
        const [{ Plan: plan }] = (rows as [{ 'QUERY PLAN': [{ Plan: Plan }] }])[0]['QUERY PLAN']
        for (const step of costlySteps(plan)) found.push(`${step} of ${text}`)
      }
      return found
    } finally {
      client.release(true)
    }
  }
}

function costlySteps(plan: Plan): readonly string[] {
  const { 'Node Type': type, 'Relation Name': table = '', Plans: parts = [] } = plan
  const own =
    (type === 'Seq Scan' && GROWING.test(table)) || (type.endsWith('Sort') && readsAny(parts))
      ? [`${type} ${table}`]
      : []
  return [...own, ...parts.flatMap(costlySteps)]
}

/** Whether rows of a growing table come out of these steps without a limit. */
function readsAny(parts: readonly Plan[]): boolean {
  return parts.some(({ 'Node Type': type, 'Relation Name': table = '', Plans = [] }) => {
    return type !== 'Limit' && (GROWING.test(table) || readsAny(Plans))
  })
}
