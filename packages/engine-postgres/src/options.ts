import {
  InvalidOptionError,
  systemClock,
  systemRandom,
  type Clock,
  type Random,
} from '@tidemark/contracts'
import type { PostgresPool } from './connection/postgres-pool.ts'

/** Give either `url` or `pool`. */
export interface PostgresEngineOptions {
  /** `postgres://user:password@host:port/database`. @default none */
  readonly url?: string | undefined
  /** Your own `pg` Pool. End it after `close`. @default none */
  readonly pool?: PostgresPool | undefined
  /** A server that follows the first one, for reading feeds. It can be behind, but never out of order. @default none */
  readonly replicaUrl?: string | undefined
  /** Like `replicaUrl`, but your own pool. @default none */
  readonly replicaPool?: PostgresPool | undefined
  /** For notifications, if `url` leads to a pooler that does not support them. @default `url` */
  readonly listenUrl?: string | undefined
  /** Name of the schema that holds the store's tables. @default 'tidemark' */
  readonly schema?: string | undefined
  /**
   * `auto`: creates and migrates the schema if the role is allowed to. `none`: only checks it; see `tidemark store`.
   * @default 'auto'
   */
  readonly schemaManagement?: 'auto' | 'none' | undefined
  /** Maximum number of connections of this process. @range 1 or more @default 10 (as `pg`) */
  readonly maxConnections?: number | undefined
  /** Maximum duration of one statement. @range any number above 0, below 2_147_483_648 @default 30_000 */
  readonly statementTimeoutMs?: number | undefined
  /** Maximum time to make a connection. @range any number above 0, below 2_147_483_648 @default 5_000 */
  readonly connectTimeoutMs?: number | undefined
  /**
   * How long a call waits for a server that restarts or fails over.
   * @range any number, 0 or more, below 2_147_483_647 @default 30_000
   */
  readonly outageTimeoutMs?: number | undefined
  /** Whether to prepare statements once for each connection. @default true */
  readonly preparedStatements?: boolean | undefined
  /** Maximum number of commits that wait for the server, for each database. @range 1 or more @default 100_000 */
  readonly maxPendingCommits?: number | undefined
  /** Maximum number of operations in one transaction. @range 1 or more @default 1_000 */
  readonly maxGroupOperations?: number | undefined
  /** How often waiting readers check the server without a notification. @range 1 or more @default 1_000 */
  readonly pollIntervalMs?: number | undefined
  /**
   * How long a replica can lack data that the primary has, while a reader waits. After that, reads go to the primary
   * until the replica has caught up.
   * @range 1 or more @default 10_000
   */
  readonly maxReplicaLagMs?: number | undefined
  /**
   * Which clock decides about expiry. `server`: the server's, one for all machines. `process`: each process' own, of
   * which the highest counts, for tests and simulations. @default 'server'
   */
  readonly storeTime?: 'server' | 'process' | undefined
  /** @default the machine's clock */
  readonly clock?: Clock | undefined
  /** @default the operating system's randomness */
  readonly random?: Random | undefined
}

/** With what only tests set: see the entry `testing`. */
export interface TestedEngineOptions extends PostgresEngineOptions {
  /** LSNs after which a range continues in a new segment. @range 1 to 2_147_483_648 @default 2 ** 31 */
  readonly segmentSlots?: number | undefined
}

export interface ResolvedOptions {
  /** For display: the address without secrets. */
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

/** Maximum number of slots of a segment. LSNs stay far below what a number can hold. */
const MAX_SEGMENT_SLOTS = 2 ** 31
/** Characters that would end a text, or the body of a function, that contains the name. */
const UNFIT = /[\0:']|\$\$/
/** PostgreSQL truncates longer names. */
const MAX_NAME_BYTES = 63

/** @throws ERR_INVALID_OPTION */
export function resolveOptions(options: TestedEngineOptions): ResolvedOptions {
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
