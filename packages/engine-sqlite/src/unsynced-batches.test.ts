import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Store } from '@tidemark/store'
import { expect, test } from 'vitest'
import { openMemoryEngine } from './memory-engine.ts'
import { openSqliteEngine } from './sqlite-engine.ts'

test.each(['folder', 'memory'])(
  'a batch that does not wait for the disk is flushed, in a %s',
  async (place) => {
    const folder = await mkdtemp(join(tmpdir(), 'tidemark-'))
    const engine = place === 'memory' ? openMemoryEngine() : await openSqliteEngine({ folder })
    const store = await Store.open({ engine, maintenance: 'manual' })
    const items = await store
      .database('db')
      .createCollectionIfNotExists<{ id: string; pk: string }>({ id: 'items', partitionKey: '/pk' })
    const create = (id: string, sync: boolean) =>
      items.batch('p', [{ kind: 'create', document: { id, pk: 'p' } }], { sync })
    await create('a', false)
    const { lsn } = await create('b', false)
    expect(lsn).toBe(2)
    expect(await items.count()).toBe(2)
    await items.flush()
    const database = await engine.openDatabase('db')
    expect(typeof database.flush).toBe(place === 'folder' ? 'function' : 'undefined')
    await expect(create('c', 'no' as never)).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION' })
    await store.close()
    await rm(folder, { recursive: true })
  },
)
