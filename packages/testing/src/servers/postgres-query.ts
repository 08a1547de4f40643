import { randomUUID } from 'node:crypto'
import { Client } from 'pg'

/** Creates an empty database on the server at `url` and resolves with the URL of it. */
export async function createDatabaseAt(url: string): Promise<string> {
  const name = `tidemark_${randomUUID().replaceAll('-', '')}`
  // Copied as files: through the log, which is the default, it takes twice the CPU time. What is only compatible with
  // PostgreSQL may know no strategies.
  await queryAt(url, `CREATE DATABASE ${name} STRATEGY file_copy`).catch(() =>
    queryAt(url, `CREATE DATABASE ${name}`),
  )
  const created = new URL(url)
  created.pathname = `/${name}`
  return created.href
}

/** Runs one statement on a connection of its own. */
export async function queryAt(
  url: string,
  text: string,
  values: readonly unknown[] = [],
): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  // A server that is killed between two statements ends the connection; the next statement says so.
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await client.query<Record<string, unknown>>(text, [...values])
    return rows
  } finally {
    await client.end()
  }
}
