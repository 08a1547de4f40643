import {
  InvalidOptionError,
  systemClock,
  systemRandom,
  type Clock,
  type Random,
} from '@tidemark/contracts'
import type { PostgresPool } from './connection/postgres-pool.ts'

/** Exactly one of `url` and `pool` is needed. */
export interface PostgresEngineOptions {
  /** `postgres://user:password@host:port/database`. */
  readonly url?: string | undefined
  /** A `pg` Pool of the caller, who ends it after `close`. */
  readonly pool?: PostgresPool | undefined
  /** A server that follows the first one, for reading feeds. It may be behind, never out of order. @default none */
  readonly replicaUrl?: string | undefined
  /** As `replicaUrl`, a pool of the caller. @default none */
  readonly replicaPool?: PostgresPool | undefined
  /** For listening, where `url` leads to a pooler that cannot. @default `url` */
  readonly listenUrl?: string | undefined
  /** Name of the schema that holds the store's tables. @default 'tidemark' */
  readonly schema?: string | undefined
  /**
   * `auto`: makes and migrates the schema where the role may. `none`: only checks; see `tidemark store`.
   * @default 'auto'
   */
  readonly schemaManagement?: 'auto' | 'none' | undefined
  /** Connections of this process. @default 10 (as `pg`) */
  readonly maxConnections?: number | undefined
  /** How long one statement may run. @default 30_000 */
  readonly statementTimeoutMs?: number | undefined
  /** How long making a connection may take. @default 5_000 */
  readonly connectTimeoutMs?: number | undefined
  /** How long a call waits for a server that restarts or fails over. @default 30_000 */
  readonly outageTimeoutMs?: number | undefined
  /** Whether statements are prepared once a connection. @default true */
  readonly preparedStatements?: boolean | undefined
  /** Commits that may wait for the server, per database. @default 100_000 */
  readonly maxPendingCommits?: number | undefined
  /** Operations that one transaction takes together. @default 1_000 */
  readonly maxGroupOperations?: number | undefined
  /** LSNs after which a range goes on in a new segment. @default 2 ** 31 */
  readonly segmentSlots?: number | undefined
  /** How often readers that wait look at the server although nothing rang. @default 1_000 */
  readonly pollIntervalMs?: number | undefined
  /**
   * For how long a replica may lack what the primary has, where a reader waits: then the primary is read, until
   * the replica has it. @default 10_000
   */
  readonly maxReplicaLagMs?: number | undefined
  /**
   * Whose clock decides about expiry: the `server`'s, one for all machines; or each `process`' own, of which
   * the highest counts, for tests and simulations. @default 'server'
   */
  readonly storeTime?: 'server' | 'process' | undefined
  /** @default the machine's clock */
  readonly clock?: Clock | undefined
  /** @default the operating system's randomness */
  readonly random?: Random | undefined
}

export interface ResolvedOptions {
  /** For people: the address without secrets. */
  readonly description: string
  readonly connections: Pick<
    PostgresEngineOptions,
    | 'url'
    | 'pool'
    | 'replicaUrl'
    | 'replicaPool'
    | 'listenUrl'
    | 'maxConnections'
    | 'statementTimeoutMs'
    | 'connectTimeoutMs'
    | 'outageTimeoutMs'
    | 'preparedStatements'
  >
  readonly schema: string
  readonly schemaManagement: 'auto' | 'none'
  readonly maxPendingCommits: number
  readonly maxGroupOperations: number
  readonly segmentSlots: number
  readonly pollIntervalMs: number
  readonly maxReplicaLagMs: number
  readonly storeTime: 'server' | 'process'
  readonly clock: Clock
  readonly random: Random
}

/** Slots of a segment at most; LSNs stay far below what a number can hold. */
const MAX_SEGMENT_SLOTS = 2 ** 31
/** What would end a text, or the body of a function, in which the name stands. */
const UNFIT = /[\0:']|\$\$/
/** PostgreSQL cuts longer names. */
const MAX_NAME_BYTES = 63

/** @throws ERR_INVALID_OPTION */
export function resolveOptions(options: PostgresEngineOptions): ResolvedOptions {
  const schema = options.schema ?? 'tidemark'
  if (schema === '' || Buffer.byteLength(schema) > MAX_NAME_BYTES || UNFIT.test(schema)) {
    throw new InvalidOptionError(
      `schema must be a name of at most ${MAX_NAME_BYTES} bytes without colon, apostrophe or $$, got ${JSON.stringify(schema)}`,
    )
  }
  return {
    description: describe(options, schema),
    connections: {
      url: options.url,
      pool: options.pool,
      replicaUrl: options.replicaUrl,
      replicaPool: options.replicaPool,
      listenUrl: options.listenUrl,
      maxConnections: options.maxConnections,
      statementTimeoutMs: options.statementTimeoutMs,
      connectTimeoutMs: options.connectTimeoutMs,
      outageTimeoutMs: options.outageTimeoutMs,
      preparedStatements: options.preparedStatements,
    },
    schema,
    schemaManagement: oneOf('schemaManagement', options.schemaManagement ?? 'auto', MANAGEMENT),
    maxPendingCommits: positive('maxPendingCommits', options.maxPendingCommits ?? 100_000),
    maxGroupOperations: positive('maxGroupOperations', options.maxGroupOperations ?? 1000),
    segmentSlots: atMost(positive('segmentSlots', options.segmentSlots ?? MAX_SEGMENT_SLOTS)),
    pollIntervalMs: positive('pollIntervalMs', options.pollIntervalMs ?? 1000),
    maxReplicaLagMs: positive('maxReplicaLagMs', options.maxReplicaLagMs ?? 10_000),
    storeTime: oneOf('storeTime', options.storeTime ?? 'server', STORE_TIMES),
    clock: options.clock ?? systemClock,
    random: options.random ?? systemRandom,
  }
}

const MANAGEMENT = ['auto', 'none'] as const
const STORE_TIMES = ['server', 'process'] as const

function describe({ url }: PostgresEngineOptions, schema: string): string {
  if (url === undefined) return `PostgreSQL, schema ${schema}`
  try {
    const { protocol, host, pathname } = new URL(url)
    return `${protocol}//${host}${pathname}, schema ${schema}`
  } catch {
    throw new InvalidOptionError('url must look like postgres://user@host:5432/database')
  }
}

function oneOf<Value extends string>(name: string, value: Value, allowed: readonly Value[]): Value {
  if (allowed.includes(value)) return value
  const list = allowed.map((each) => `'${each}'`).join(' or ')
  throw new InvalidOptionError(`${name} must be ${list}, got ${JSON.stringify(value)}`)
}

function positive(name: string, value: number): number {
  if (Number.isInteger(value) && value >= 1) return value
  throw new InvalidOptionError(`${name} must be a positive integer, got ${value}`)
}

function atMost(segmentSlots: number): number {
  if (segmentSlots <= MAX_SEGMENT_SLOTS) return segmentSlots
  throw new InvalidOptionError(`segmentSlots must be at most 2 ** 31, got ${segmentSlots}`)
}
