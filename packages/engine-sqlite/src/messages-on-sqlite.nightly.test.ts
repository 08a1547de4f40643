import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Store } from '@tidemark/store'
import { messagingConformance } from '@tidemark/testing/conformance'
import { openSqliteEngine } from './sqlite-engine.ts'

messagingConformance({
  name: 'sqlite',
  async open({ clock }) {
    const folder = await mkdtemp(join(tmpdir(), 'tidemark-'))
    const openAgain = async () => Store.open({ engine: await openSqliteEngine({ folder, clock }) })
    const store = await openAgain()
    return {
      store,
      openAgain,
      async dispose() {
        await store.close()
        await rm(folder, { recursive: true })
      },
    }
  },
})
