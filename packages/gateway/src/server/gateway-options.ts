import {
  InvalidOptionError,
  option,
  optionGroup,
  optionHaving,
  requiredOption,
  systemClock,
  systemRandom,
  type Clock,
  type OptionRules,
  type Random,
} from '@tidemark/contracts'
import type { Store } from '@tidemark/store'
import { keysRule, type GatewayKeys } from '../authorization/gateway-keys.ts'
import { DEFAULT_QUERY_LIMITS, type QueryLimits } from '../query/query-budget.ts'

/** What a failure inside the gateway was, for a log. Never holds keys or signatures. */
export interface GatewayFailure {
  readonly activityId: string
  readonly method: string
  /** Without query. */
  readonly path: string
  readonly error: unknown
}

/** A request and what became of it, for a log. Never holds keys, signatures, queries or documents. */
export interface ServedRequest {
  /** When it came, epoch ms. */
  readonly atMs: number
  /** Of the client, or of the proxy that it came through; empty when it had gone by then. */
  readonly address: string
  readonly method: string
  /** As it came, percent-encoded, without query; of printable ASCII, at most 2,000 characters. Names of resources are in it. */
  readonly path: string
  /** 499: the client left; 0: the connection ended in the midst of the answer. */
  readonly status: number
  /** From its headers until its answer was handed to the socket. */
  readonly durationMs: number
  /** Of the answer's body. */
  readonly bytes: number
  readonly activityId: string
}

export interface GatewayOptions {
  /** What is served. The gateway does not close it. */
  readonly store: Store
  readonly keys: GatewayKeys
  /** `id` of the account. Not "localhost", which the client takes for an emulator of old. @default 'tidemark' */
  readonly accountId?: string | undefined
  /** Largest body of a request in bytes; what is larger is 413. @default 4 MiB (a batch of 2 MiB, with its frame) */
  readonly maxBodyBytes?: number | undefined
  /** Requests served at once, those that only wait not counted; what comes above is 429. @default 1_000 */
  readonly maxConcurrentRequests?: number | undefined
  /**
   * Feed reads that wait for a change at once, beside the requests that are served; what comes above is 429. @default 10_000
   */
  readonly maxWaitingReads?: number | undefined
  /**
   * What one remote address, or one key that may only read, may have of `maxConcurrentRequests`, `maxWaitingReads` and
   * `maxConnections`: above 0, at most 1. Networks of 64 bits of IPv6 count as an address. Behind a proxy, whose address all clients
   * have: 1. @default 0.5
   */
  readonly maxClientShare?: number | undefined
  /** A request that takes longer is 408, in ms. @default 60_000 (above the client's own 60 s nobody waits) */
  readonly requestTimeoutMs?: number | undefined
  /**
   * Longest wait of a waiting feed read, in ms, less than `requestTimeoutMs`; 0 = none waits. @default 30_000, at most
   * half of `requestTimeoutMs`
   */
  readonly maxWaitMs?: number | undefined
  /**
   * Request units a second of each pkrange; what is above is 429 with the time to wait, so that retry code can be
   * tried. @default none is refused
   */
  readonly requestUnitsPerRange?: number | undefined
  /** What a query may cost; one that costs more is 400. @default see `QueryLimits` */
  readonly queryLimits?: Partial<QueryLimits> | undefined
  /** Told of every request that could be read as HTTP, when its answer has gone. What it throws is ignored. @default nothing */
  readonly onRequest?: ((request: ServedRequest) => void) | undefined
  /** Told of every request that failed by no fault of its client. @default nothing */
  readonly onFailure?: ((failure: GatewayFailure) => void) | undefined
  /** @default the machine's */
  readonly clock?: Clock | undefined
  /** For activity ids. @default the operating system's */
  readonly random?: Random | undefined
}

const queryLimits: OptionRules<Partial<QueryLimits>> = {
  maxPageSteps: option.number,
  maxRowSteps: option.number,
  maxRowChars: option.number,
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
  onRequest: option.function,
  onFailure: option.function,
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
  readonly onRequest: ((request: ServedRequest) => void) | undefined
  readonly onFailure: (failure: GatewayFailure) => void
  readonly clock: Clock
  readonly random: Random
}

/** Longest timer that Node takes. */
const MAX_TIMER_MS = 2_147_483_647

/** Of options whose names and types were checked. @throws ERR_INVALID_OPTION naming the option */
export function resolveGatewayOptions(options: GatewayOptions): ResolvedGatewayOptions {
  const { accountId = 'tidemark', requestTimeoutMs = 60_000 } = options
  const { maxWaitMs = Math.min(30_000, Math.floor(requestTimeoutMs / 2)) } = options
  const { maxBodyBytes = 4 * 1024 * 1024, maxConcurrentRequests = 1000 } = options
  const { maxWaitingReads = 10_000 } = options
  const { onFailure = () => {}, clock = systemClock, random = systemRandom } = options
  if (!/^[A-Za-z0-9.-]{1,63}$/.test(accountId) || accountId === 'localhost') {
    throw new InvalidOptionError(
      `accountId must be 1 to 63 letters, digits, dots or hyphens, and not "localhost", ` +
        `got ${JSON.stringify(accountId)}`,
    )
  }
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
    requestTimeoutMs: checked('requestTimeoutMs', requestTimeoutMs, { least: 1 }),
    maxWaitMs: checked('maxWaitMs', maxWaitMs, { least: 0 }),
    requestUnitsPerRange: options.requestUnitsPerRange,
    queryLimits: resolveQueryLimits(options.queryLimits),
    onRequest: options.onRequest,
    onFailure,
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
