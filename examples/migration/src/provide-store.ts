import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore } from 'tidemark'
import { startPostgresServer } from '@tidemark/testing/servers'
import type { DemoOptions } from './demo-options.ts'
import { DATABASE } from './demo-plan.ts'

export interface ProvidedStore extends AsyncDisposable {
  /** A folder or a URL, as `openStore` takes it. */
  readonly where: string
}

const OWN_SCHEMA = 'tidemark_demo'

/**
 * The folder or PostgreSQL that was given, or one of the demo's own that goes with it; a server is installed if
 * there is none.
 */
export async function provideStore(
  options: DemoOptions,
  say: (line: string) => void,
): Promise<ProvidedStore> {
  if (options.store === 'postgres') return providePostgres(options.postgresUrl, say)
  if (options.folder !== undefined) {
    return { where: options.folder, async [Symbol.asyncDispose]() {} }
  }
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-demo-'))
  return {
    where: folder,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}

async function providePostgres(
  given: string | undefined,
  say: (line: string) => void,
): Promise<ProvidedStore> {
  if (given !== undefined) {
    return { where: await emptyStoreAt(given), async [Symbol.asyncDispose]() {} }
  }
  say('starting a PostgreSQL server of its own for the store; it waits for the disk at each commit')
  const server = await startPostgresServer({ durable: true })
  return {
    where: await server.createDatabase(),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

/** What an earlier run has left in the demo's own schema goes; in any other nothing does. */
async function emptyStoreAt(given: string): Promise<string> {
  const url = new URL(given)
  const isOwn = !url.searchParams.has('schema')
  if (isOwn) url.searchParams.set('schema', OWN_SCHEMA)
  await using store = await openStore(url.href)
  const databases = await store.listDatabases()
  if (databases.some(({ id }) => id === DATABASE)) {
    if (!isOwn) throw new Error(`the schema in --postgres-url has a database ${DATABASE} already`)
    await store.deleteDatabase(DATABASE)
  }
  return url.href
}
