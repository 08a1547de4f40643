import { Store } from '@tidemark/store'
import { collectionConformance } from '@tidemark/testing/conformance'
import { sharedPostgres } from '@tidemark/testing/servers'
import pg from 'pg'
import { afterAll, expect, test } from 'vitest'
import { openPostgresEngine } from './postgres-engine.ts'
import { StatementPlans } from './statement-plans.fixture.ts'

const server = await sharedPostgres()
const pool = new pg.Pool({ connectionString: await server.createDatabase() })
const plans = new StatementPlans(pool)
let stores = 0
afterAll(async () => {
  await pool.end()
  await server[Symbol.asyncDispose]()
})

collectionConformance({
  name: 'postgres',
  async open({ clock, maintenance }) {
    // Tests of expiry step the clock.
    const schema = `store_${++stores}`
    const engine = await openPostgresEngine({ pool, schema, clock, storeTime: 'process' })
    const store = await Store.open({ engine, maintenance })
    return { store, dispose: () => store.close() }
  },
})

test('every statement goes by an index, and sorts what it has read up to a limit', async () => {
  expect(plans.size).toBeGreaterThan(20)
  expect(await plans.costly()).toEqual([])
})
