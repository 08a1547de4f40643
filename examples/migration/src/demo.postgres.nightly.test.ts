import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { sharedPostgres } from '@tidemark/testing/servers'
import { expect, test } from 'vitest'
import { openStore } from 'tidemark'
import type { City } from './city.ts'

/** For a demo that hangs, which says so by itself; how fast a machine is decides nothing. */
const BUSY_MS = 600_000
const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url))

test(
  'JB-1 the demo on PostgreSQL, given one, with leases on Redis: nothing is missing or different, and nothing is left of an earlier run',
  async () => {
    await using server = await sharedPostgres()
    const url = await server.createDatabase()
    const demo = async (...args: readonly string[]): Promise<string> => {
      const all = ['--conditions=@tidemark/source', MAIN, '--store', 'postgres', ...args]
      const { stdout } = await promisify(execFile)(process.execPath, all)
      return stdout.trimEnd().split('\n').at(-1) ?? ''
    }
    const args = ['--leases', 'redis', '--postgres-url', url, '--cities', '3000', '--pace', '500']
    const last =
      /^migrated \d+ documents, \d+ updates on the way, [1-9]\d* takeovers: 0 missing, 0 different$/
    const schema = `${url}?schema=tidemark_demo`
    {
      // As an earlier run would have left it.
      await using store = await openStore(schema)
      const world = store.database('world')
      const old = await world.createCollectionIfNotExists<Pick<City, 'id' | 'country'>>({
        id: 'cities',
        partitionKey: '/country',
      })
      await old.upsert({ id: 'of an earlier run', country: 'XX' })
    }
    expect(await demo(...args)).toMatch(last)
    // What it leaves is in a schema of its own.
    await using own = await openStore(schema)
    expect(await own.listDatabases()).toMatchObject([{ id: 'world' }])
    await own.close()
    const named = demo('--postgres-url', schema)
    await expect(named).rejects.toMatchObject({
      stderr: 'demo: the schema in --postgres-url has a database world already\n',
    })
  },
  BUSY_MS,
)
