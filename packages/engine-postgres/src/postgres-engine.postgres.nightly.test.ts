import { storageEngineConformance } from '@tidemark/testing/conformance'
import { sharedPostgres } from '@tidemark/testing/servers'
import pg from 'pg'
import { afterAll } from 'vitest'
import { openTestedEngine, type TestedEngineOptions } from './testing.ts'

const server = await sharedPostgres()
// Of all tests: a new connection costs as much as many statements.
const pool = new pg.Pool({ connectionString: await server.createDatabase(), max: 30 })
let schemas = 0
afterAll(async () => {
  await pool.end()
  await server[Symbol.asyncDispose]()
})

for (const { name, scope, ...options } of [
  { name: 'postgres', scope: 'everything' },
  { name: 'postgres, segments of 5 slots', scope: 'layout', segmentSlots: 5 },
] satisfies (Partial<TestedEngineOptions> & { name: string; scope: 'everything' | 'layout' })[]) {
  storageEngineConformance({
    name,
    scope,
    open: async ({ clock }) => {
      const schema = `store_${++schemas}`
      const engines = new Set<Awaited<ReturnType<typeof openTestedEngine>>>()
      const open = async () => {
        // Tests of expiry step the clock.
        const engine = await openTestedEngine({
          pool,
          schema,
          clock,
          storeTime: 'process',
          ...options,
        })
        engines.add(engine)
        return engine
      }
      return {
        engine: await open(),
        reopen: open,
        openSecond: open,
        dispose: async () => {
          for (const engine of engines) await engine.close()
        },
      }
    },
  })
}
