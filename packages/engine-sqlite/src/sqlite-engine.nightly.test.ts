import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { storageEngineConformance } from '@tidemark/testing/conformance'
import { openTestedEngine, type TestedEngineOptions } from './testing.ts'

for (const { name, scope, ...options } of [
  { name: 'sqlite, durable', scope: 'everything' },
  {
    name: 'sqlite, relaxed, segments of 5 slots',
    scope: 'layout',
    durability: 'relaxed',
    segmentSlots: 5,
  },
] satisfies (Partial<TestedEngineOptions> & { name: string; scope: 'everything' | 'layout' })[]) {
  storageEngineConformance({
    name,
    scope,
    open: async ({ clock }) => {
      const folder = await mkdtemp(join(tmpdir(), 'tidemark-'))
      const engines = new Set<Awaited<ReturnType<typeof openTestedEngine>>>()
      const open = async () => {
        const engine = await openTestedEngine({ folder, clock, ...options })
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
