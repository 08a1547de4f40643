import { randomUUID } from 'node:crypto'
import { systemClock, systemRandom } from '@tidemark/contracts'
import { Pool } from 'pg'
import { Connections } from '../connection/connections.ts'
import { Statements } from '../connection/statements.ts'
import { POSTGRES } from '../dialect/dialect.ts'

/** What the functions of this folder are given, and a way past them. */
export interface SchemaOwner extends AsyncDisposable {
  readonly connections: Connections
  readonly statements: Statements
  readonly database: string
  /** How many connections have been made so far. */
  connectionsMade(): number
  /** Rows as PostgreSQL's texts; rejects with the error of `pg`. */
  query(text: string): Promise<unknown[][]>
  urlOf(database: string): string
  /** A role that may do nothing but connect; dropped with all it has at the end. */
  createRole(): Promise<AsyncDisposable & { readonly name: string; readonly url: string }>
}

/** As the role of the URL. @default schema tidemark, 2 connections */
export async function openSchemaOwner(
  url: string,
  { schema = 'tidemark', connections: max = 2 }: { schema?: string; connections?: number } = {},
): Promise<SchemaOwner> {
  const pool = new Pool({ connectionString: url, max })
  let made = 0
  pool.on('connect', () => (made += 1))
  const connections = new Connections({ pool, clock: systemClock, random: systemRandom })
  const query = async (text: string): Promise<unknown[][]> => {
    const { rows } = await pool.query<unknown[]>({ text, rowMode: 'array' })
    return rows
  }
  const urlOf = (database: string): string => {
    const other = new URL(url)
    other.pathname = `/${database}`
    return other.href
  }
  return {
    connections,
    statements: new Statements(schema, { dialect: POSTGRES, clock: 'server' }),
    database: new URL(url).pathname.slice(1),
    connectionsMade: () => made,
    query,
    urlOf,
    async createRole() {
      const name = `role_${randomUUID().replaceAll('-', '')}`
      await query(`CREATE ROLE ${name} LOGIN PASSWORD 'secret'`)
      const roleUrl = new URL(url)
      roleUrl.username = name
      roleUrl.password = 'secret'
      return {
        name,
        url: roleUrl.href,
        async [Symbol.asyncDispose]() {
          await query(`DROP OWNED BY ${name} CASCADE`)
          await query(`DROP ROLE ${name}`)
        },
      }
    },
    async [Symbol.asyncDispose]() {
      await connections.close()
      await pool.end()
    },
  }
}
