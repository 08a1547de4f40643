import { parseArgs } from 'node:util'

export interface DemoOptions {
  readonly store: 'folder' | 'postgres'
  readonly postgresUrl: string | undefined
  readonly folder: string | undefined
  readonly leases: 'documents' | 'redis'
  readonly redisUrl: string | undefined
  /** How many of the cities; for a quick look. */
  readonly cities: number | undefined
  /** Documents per second of one worker, so that few cities take long enough to be interrupted. */
  readonly pacePerSecond: number | undefined
  /** Changes per second of the writer. */
  readonly writesPerSecond: number
}

export const USAGE = `usage: npm run demo -- [options]

  --store folder|postgres    where the documents are (default: a folder)
  --postgres-url URL         an existing PostgreSQL for --store postgres (default: one of the demo's own)
  --leases documents|redis   where the workers' leases are (default: documents, in the same store)
  --redis-url URL            an existing Redis for --leases redis (default: one of the demo's own)
  --folder PATH              where the store is kept (default: a temporary folder, removed at the end)
  --cities N                 only the first N cities
  --pace N                   documents per second of one worker (default: as fast as it can)
  --writes-per-second N      pace of the writer that goes on meanwhile (default: 300)
  --help`

/** Undefined = show the usage. Throws with one line when an argument is wrong. */
export function parseDemoOptions(args: readonly string[]): DemoOptions | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      store: { type: 'string', default: 'folder' },
      'postgres-url': { type: 'string' },
      leases: { type: 'string', default: 'documents' },
      'redis-url': { type: 'string' },
      folder: { type: 'string' },
      cities: { type: 'string' },
      pace: { type: 'string' },
      'writes-per-second': { type: 'string', default: '300' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return undefined
  const { store, leases, folder } = values
  if (store !== 'folder' && store !== 'postgres') {
    throw new Error(`--store must be "folder" or "postgres", got ${JSON.stringify(store)}`)
  }
  if (values['postgres-url'] !== undefined && store !== 'postgres') {
    throw new Error('--postgres-url needs --store postgres')
  }
  if (folder !== undefined && store !== 'folder') throw new Error('--folder needs --store folder')
  if (leases !== 'documents' && leases !== 'redis') {
    throw new Error(`--leases must be "documents" or "redis", got ${JSON.stringify(leases)}`)
  }
  if (values['redis-url'] !== undefined && leases !== 'redis') {
    throw new Error('--redis-url needs --leases redis')
  }
  return {
    store,
    postgresUrl: values['postgres-url'],
    folder,
    leases,
    redisUrl: values['redis-url'],
    cities: values.cities === undefined ? undefined : count('--cities', values.cities),
    pacePerSecond: values.pace === undefined ? undefined : count('--pace', values.pace),
    writesPerSecond: count('--writes-per-second', values['writes-per-second']),
  }
}

function count(name: string, text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value) || value < 1) {
    throw new Error(`${name} must be a whole number above 0, got ${JSON.stringify(text)}`)
  }
  return value
}
