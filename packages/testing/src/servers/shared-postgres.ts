import { createDatabaseAt, queryAt } from './postgres-query.ts'
import { startPostgresServer } from './start-postgres-server.ts'

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
        const name = new URL(database).pathname.slice(1)
        // FORCE: a connection that a test left open must not keep it.
        await queryAt(url, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
      }
    },
  }
}
