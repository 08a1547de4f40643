import { createDatabaseAt, queryAt } from './postgres-query.ts'
import { startPostgresServer } from './start-postgres-server.ts'

const OBJECT_IN_USE = '55006'

/** A server that tests share, each with databases of its own. */
export interface SharedPostgres extends AsyncDisposable {
  /** A new empty database. Resolves with its URL. */
  createDatabase(): Promise<string>
}

/**
 * The server at `TIDEMARK_TEST_POSTGRES_URL`, whose user must be allowed to create databases; without that variable
 * a server of its own. Dispose of it after the last test: it drops the databases that were made here.
 */
export function sharedPostgres(): Promise<SharedPostgres> {
  const url = process.env['TIDEMARK_TEST_POSTGRES_URL']
  if (url === undefined || url === '') return startPostgresServer()
  return Promise.resolve(databasesAt(url))
}

function databasesAt(url: string): SharedPostgres {
  const created: string[] = []
  return {
    async createDatabase() {
      const database = await createDatabaseAt(url)
      created.push(database)
      return database
    },
    async [Symbol.asyncDispose]() {
      for (const database of created.splice(0)) {
        await dropDatabaseAt(url, new URL(database).pathname.slice(1))
      }
    },
  }
}

/**
 * A pool's `end()` resolves before the server has seen its connections end, and an error on one of those would fail
 * the test. The server waits 5 s for them without FORCE; with it, it drops a database that a test has not let go.
 */
async function dropDatabaseAt(url: string, name: string): Promise<void> {
  try {
    await queryAt(url, `DROP DATABASE IF EXISTS ${name}`)
  } catch (error) {
    if ((error as { code?: unknown }).code !== OBJECT_IN_USE) throw error
    await queryAt(url, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
  }
}
