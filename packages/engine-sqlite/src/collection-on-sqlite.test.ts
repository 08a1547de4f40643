import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Store } from '@tidemark/store'
import { collectionConformance } from '@tidemark/testing/conformance'
import { openSqliteEngine } from './sqlite-engine.ts'

collectionConformance({
  name: 'sqlite',
  async open() {
    const folder = await mkdtemp(join(tmpdir(), 'tidemark-'))
    const store = await Store.open({ engine: await openSqliteEngine({ folder }) })
    return {
      store,
      async dispose() {
        await store.close()
        await rm(folder, { recursive: true })
      },
    }
  },
})
