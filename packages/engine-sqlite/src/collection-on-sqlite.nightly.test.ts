import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Store } from '@tidemark/store'
import { collectionConformance } from '@tidemark/testing/conformance'
import { openSqliteEngine } from './sqlite-engine.ts'

collectionConformance({
  name: 'sqlite',
  async open({ clock, maintenance }) {
    const folder = await mkdtemp(join(tmpdir(), 'tidemark-'))
    const engine = await openSqliteEngine({ folder, clock })
    const store = await Store.open({ engine, maintenance })
    return {
      store,
      async dispose() {
        await store.close()
        await rm(folder, { recursive: true })
      },
    }
  },
})
