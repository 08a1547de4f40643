import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { storageEngineConformance } from '@tidemark/testing/conformance'
import { openSqliteEngine, type SqliteEngineOptions } from './sqlite-engine.ts'

for (const { name, scope, ...options } of [
  { name: 'sqlite, durable', scope: 'everything' },
  {
    name: 'sqlite, relaxed, segments of 5 slots',
    scope: 'layout',
    durability: 'relaxed',
    segmentSlots: 5,
  },
] satisfies (Partial<SqliteEngineOptions> & { name: string; scope: 'everything' | 'layout' })[]) {
  storageEngineConformance({
    name,
    scope,
    open: async ({ clock }) => {
      const folder = await mkdtemp(join(tmpdir(), 'tidemark-'))
      const engines = new Set<Awaited<ReturnType<typeof openSqliteEngine>>>()
      const open = async () => {
        const engine = await openSqliteEngine({ folder, clock, ...options })
        engines.add(engine)
        return engine
      }
      return {
        engine: await open(),
        reopen: open,
        openSecond: open,
        dispose: async () => {
          for (const engine of engines) await engine.close()
          await rm(folder, { recursive: true })
        },
      }
    },
  })
}
