import {
  InvalidOptionError,
  systemClock,
  systemRandom,
  type Clock,
  type Logger,
  type Random,
} from '@tidemark/contracts'
import {
  LimitedLog,
  option,
  optionGroup,
  optionHaving,
  requiredOption,
  stderrLogger,
  type OptionRules,
} from '@tidemark/contracts/internal'
import type { Store } from '@tidemark/store'
import { keysRule, type GatewayKeys } from '../authorization/gateway-keys.ts'
import { MAX_TIMER_MS } from '../platform/listener.ts'
import { DEFAULT_QUERY_LIMITS, type QueryLimits } from '../query/query-budget.ts'

/** A failure inside the gateway, for a log. Never contains keys or signatures. */
export interface GatewayFailure {
  readonly activityId: string
  readonly method: string
  /** Without query. */
  readonly path: string
  readonly error: unknown
}

/** A request and its outcome, for a log. Never contains keys, signatures, queries or documents. */
export interface ServedRequest {
  /** When it arrived, epoch ms. */
  readonly atMs: number
  /** Address of the client, or of the proxy in front of it; empty if the client has left. */
  readonly address: string
  readonly method: string
  /** As received: percent-encoded, printable ASCII, without the query, at most 2,000 characters. Contains names of resources. */
  readonly path: string
  /** 499: the client left; 0: the connection ended during the response. */
  readonly status: number
  /** From its headers until its response was handed to the socket. */
  readonly durationMs: number
  /** Of the response's body. */
  readonly bytes: number
  readonly activityId: string
}

export interface GatewayOptions {
  /** The store to serve. The gateway does not close it. */
  readonly store: Store
  readonly keys: GatewayKeys
  /** `id` of the account. Not "localhost", by which clients recognise an old emulator. @default 'tidemark' */
  readonly accountId?: string | undefined
  /**
   * Maximum size of a request body in bytes; a larger one is 413.
   * @range 1_024 to 2_147_483_647 @default 4 MiB (a batch of 2 MiB, with its envelope)
   */
  readonly maxBodyBytes?: number | undefined
  /**
   * Maximum number of requests that are served at once, without waiting reads; more are 429.
   * @range 1 to 2_147_483_647 @default 1_000
   */
  readonly maxConcurrentRequests?: number | undefined
  /**
   * Maximum number of feed reads that wait for a change at once; more are 429.
   * @range 1 to 2_147_483_647 @default 10_000
   */
  readonly maxWaitingReads?: number | undefined
  /**
   * The share of `maxConcurrentRequests`, `maxWaitingReads`, `maxConnections` and `queryLimits.maxHeldChars` that one
   * remote address, or one read-only key, can use: above 0, at most 1. An IPv6 network of 64 bits counts as one
   * address. Use 1 behind a proxy, because all clients then have its address.
   * @unit share @range any number above 0, up to 1 @default 0.5
   */
  readonly maxClientShare?: number | undefined
  /**
   * A request that takes longer is 408, in ms.
   * @range 1 to 2_147_483_647 @default 60_000 (clients do not wait longer)
   */
  readonly requestTimeoutMs?: number | undefined
  /**
   * Maximum wait of a waiting feed read, in ms, less than `requestTimeoutMs`; 0 = reads do not wait. A read of a state that its session
   * has seen, and the store does not have yet, waits no longer either, and 2,000 at most.
   * @range 0 to 2_147_483_647 @default 30_000, at most half of `requestTimeoutMs`
   */
  readonly maxWaitMs?: number | undefined
  /**
   * Request units per second of each pkrange; above it, requests are 429 with the time to wait, so that you can test
   * retry code.
   * @unit request units a second @range any number above 0 @default no limit
   */
  readonly requestUnitsPerRange?: number | undefined
  /** What queries may cost; above it, they are 400 or 429. @default see `QueryLimits` */
  readonly queryLimits?: Partial<QueryLimits> | undefined
  /**
   * Answers what Cosmos clients never ask for: paths that begin with none of `/dbs`, `/offers` and `/addresses`, and `/` for a browser (it
   * accepts HTML and has no signature). The gateway checks no credentials for it. `undefined`: the gateway answers as without it.
   *
   * A request's body is limited by `maxBodyBytes`, and its signal aborts when the client leaves, when `requestTimeoutMs` is over, and
   * when the gateway stops. An answer of type `text/event-stream` has no time limit, counts as a waiting read, and ends when
   * the gateway begins to stop; it must send something within `silenceTimeoutMs`. What `beside` throws is an error response.
   * @default nothing
   */
  readonly beside?: ((request: Request) => Promise<Response | undefined>) | undefined
  /** Called after the response to every valid HTTP request. What it throws is ignored. @default nothing */
  readonly onRequest?: ((request: ServedRequest) => void) | undefined
  /** Called for every request that failed without a fault of its client, also while the store is away. @default nothing */
  readonly onFailure?: ((failure: GatewayFailure) => void) | undefined
  /**
   * Gets the same failures: a warning if the same request may succeed later, as when the store is away, else an error. There is at
   * most one line per `code` in 10 s; the next one says how many were suppressed. Fields: `event`, `activityId`, `method`, `path`, `code`.
   * `false` turns the log off.
   *
   * @default one line each on standard error, without `onFailure`
   */
  readonly logger?: Logger | false | undefined
  /** @default the machine's */
  readonly clock?: Clock | undefined
  /** For activity ids. @default the operating system's */
  readonly random?: Random | undefined
}

const queryLimits: OptionRules<Partial<QueryLimits>> = {
  maxPageSteps: option.number,
  maxRowSteps: option.number,
  maxRowChars: option.number,
  maxHeldChars: option.number,
}

export const gatewayRules: OptionRules<GatewayOptions> = {
  store: requiredOption(optionHaving('an open store', 'database', 'listDatabases')),
  keys: keysRule,
  accountId: option.text,
  maxBodyBytes: option.number,
  maxConcurrentRequests: option.number,
  maxWaitingReads: option.number,
  maxClientShare: option.number,
  requestTimeoutMs: option.number,
  maxWaitMs: option.number,
  requestUnitsPerRange: option.number,
  queryLimits: optionGroup(queryLimits),
  beside: option.function,
  onRequest: option.function,
  onFailure: option.function,
  logger: option.logger,
  clock: option.clock,
  random: option.random,
}

export interface ResolvedGatewayOptions {
  readonly store: Store
  readonly keys: GatewayKeys
  readonly accountId: string
  readonly maxBodyBytes: number
  readonly maxConcurrentRequests: number
  readonly maxWaitingReads: number
  readonly maxClientShare: number
  readonly requestTimeoutMs: number
  readonly maxWaitMs: number
  readonly requestUnitsPerRange: number | undefined
  readonly queryLimits: QueryLimits
  readonly beside: GatewayOptions['beside']
  readonly onRequest: ((request: ServedRequest) => void) | undefined
  readonly onFailure: (failure: GatewayFailure) => void
  readonly log: LimitedLog | undefined
  readonly clock: Clock
  readonly random: Random
}

/** Longest timer that Node takes. */

/** Of options whose names and types were checked. @throws ERR_INVALID_OPTION naming the option */
export function resolveGatewayOptions(options: GatewayOptions): ResolvedGatewayOptions {
  const { accountId = 'tidemark', requestTimeoutMs = 60_000 } = options
  const { maxWaitMs = Math.min(30_000, Math.floor(requestTimeoutMs / 2)) } = options
  const { maxBodyBytes = 4 * 1024 * 1024, maxConcurrentRequests = 1000 } = options
  const { maxWaitingReads = 10_000 } = options
  const { onFailure = () => {}, clock = systemClock, random = systemRandom } = options
  const { logger = options.onFailure === undefined && stderrLogger } = options
  if (!/^[A-Za-z0-9.-]{1,63}$/.test(accountId) || accountId === 'localhost') {
    throw new InvalidOptionError(
      `accountId must be 1 to 63 letters, digits, dots or hyphens, and not "localhost", ` +
        `got ${JSON.stringify(accountId)}`,
    )
  }
  checked('requestTimeoutMs', requestTimeoutMs, { least: 1 })
  checked('maxWaitMs', maxWaitMs, { least: 0 })
  if (maxWaitMs >= requestTimeoutMs) {
    throw new InvalidOptionError(
      `maxWaitMs must be below requestTimeoutMs (${requestTimeoutMs}), got ${maxWaitMs}`,
    )
  }
  return {
    store: options.store,
    keys: options.keys,
    accountId,
    maxBodyBytes: checked('maxBodyBytes', maxBodyBytes, { least: 1024 }),
    maxConcurrentRequests: checked('maxConcurrentRequests', maxConcurrentRequests, {
      least: 1,
    }),
    maxWaitingReads: checked('maxWaitingReads', maxWaitingReads, { least: 1 }),
    maxClientShare: resolveClientShare(options),
    requestTimeoutMs,
    maxWaitMs,
    requestUnitsPerRange: options.requestUnitsPerRange,
    queryLimits: resolveQueryLimits(options.queryLimits),
    beside: options.beside,
    onRequest: options.onRequest,
    onFailure,
    log: logger === false ? undefined : new LimitedLog(logger, { clock }),
    clock,
    random,
  }
}

function resolveQueryLimits(given: GatewayOptions['queryLimits']): QueryLimits {
  const limits = { ...DEFAULT_QUERY_LIMITS, ...given }
  for (const [name, value] of Object.entries(limits)) {
    checked(`queryLimits.${name}`, value, { least: 1 })
  }
  return limits
}

/** @throws ERR_INVALID_OPTION */
export function resolveClientShare({
  maxClientShare = 0.5,
}: Pick<GatewayOptions, 'maxClientShare'>): number {
  if (maxClientShare > 0 && maxClientShare <= 1) return maxClientShare
  throw new InvalidOptionError(
    `maxClientShare must be above 0 and at most 1, got ${String(maxClientShare)}`,
  )
}

/** @throws ERR_INVALID_OPTION */
export function checked(
  name: string,
  value: number,
  { least }: { readonly least: number },
): number {
  if (Number.isSafeInteger(value) && value >= least && value <= MAX_TIMER_MS) return value
  throw new InvalidOptionError(
    `${name} must be a whole number from ${least} to ${MAX_TIMER_MS}, got ${String(value)}`,
  )
}
