import {
  FULL_RANGE,
  LeaseStorageError,
  feedRangeId,
  lsn,
  parseFeedRangeId,
  type FeedMode,
  type FeedRange,
  type Lsn,
} from '@tidemark/contracts'

/** Where a lease stands in the whole of its keys, or in a part of them. */
export interface V3Position {
  /** Undefined: all keys of the lease. */
  readonly range: FeedRange | undefined
  /** Undefined: the lease has not been read yet, and starts where its processor's start options say. */
  readonly lsn: Lsn | undefined
}

/** What the continuation of a lease says. */
export interface V3Continuation {
  readonly positions: readonly V3Position[]
  /** Undefined: it does not say. */
  readonly mode: FeedMode | undefined
  /** `_rid` of the container that it is of. Undefined: it does not say. */
  readonly containerRid: string | undefined
}

/**
 * Reads the `ContinuationToken` of a lease.
 *
 * .NET, and Java for leases of pkranges, store the etag of a feed read: an LSN, in quotes. Java stores the whole state of
 * its reader for leases of key intervals: JSON in base64, with one etag for each interval that it has met.
 *
 * Source: `FeedProcessorCore` of azure-cosmos-dotnet-v3; `ChangeFeedStateV1`, `FeedRangeCompositeContinuationImpl` and
 * `CompositeContinuationToken` of azure-cosmos for Java.
 *
 * @throws ERR_LEASE_STORAGE when it is neither
 */
export function parseV3Continuation(token: unknown): V3Continuation {
  if (token === null || token === undefined || token === '') {
    return { positions: [{ range: undefined, lsn: undefined }], ...SAYS_NOTHING }
  }
  const at = etagLsn(token)
  if (at !== undefined) return { positions: [{ range: undefined, lsn: at }], ...SAYS_NOTHING }
  const state = typeof token === 'string' ? jsonOf(token) : undefined
  const continuation = property(state, 'Continuation')
  const tokens = Array.isArray(continuation) ? continuation : property(continuation, 'Continuation')
  const mode = property(state, 'Mode')
  const rid = property(state, 'Rid')
  const about = {
    mode: typeof mode === 'string' ? modeOf(mode) : undefined,
    containerRid: typeof rid === 'string' ? rid : undefined,
  }
  // A reader that was never answered has its start position only.
  if (isObject(state) && continuation === undefined && isObject(property(state, 'StartFrom'))) {
    return { positions: [{ range: undefined, lsn: undefined }], ...about }
  }
  if (!Array.isArray(tokens) || tokens.length === 0) throw unknownToken(token)
  const positions = tokens.map((one: unknown) => {
    const range = v3Range(property(one, 'range'))
    const etag = property(one, 'token')
    const at = etagLsn(etag)
    if (range === undefined || (at === undefined && etag !== null && etag !== undefined)) {
      throw unknownToken(token)
    }
    return { range, lsn: at }
  })
  return { positions, ...about }
}

/** The same for a Java reader of one interval. */
export function javaContinuation({
  containerRid,
  range: { minInclusive: min, maxExclusive: max },
  lsn: at,
  mode,
}: {
  readonly containerRid: string
  readonly range: FeedRange
  readonly lsn: Lsn
  readonly mode: FeedMode
}): string {
  const range = { min, max, isMinInclusive: true, isMaxInclusive: false }
  const state = {
    V: 1,
    Rid: containerRid,
    Mode: JAVA_MODES[mode],
    // Counts for intervals without an etag only.
    StartFrom: { Type: 'NOW' },
    Continuation: {
      V: 1,
      Rid: containerRid,
      Continuation: [{ token: etagOf(at), range }],
      Range: range,
    },
  }
  // Java reads it as base64 and as base64url: of ASCII both are the same.
  return Buffer.from(JSON.stringify(state), 'utf8').toString('base64')
}

/** The position right behind an LSN as etag of a feed read. */
export function etagOf(at: Lsn): string {
  return `"${at}"`
}

/** The interval of a feed range in a lease or a continuation. Undefined when there is none. */
export function v3Range(value: unknown): FeedRange | undefined {
  const range = typeof value === 'string' ? jsonOf(value) : value
  const min = property(range, 'min')
  const max = property(range, 'max')
  if (typeof min !== 'string' || typeof max !== 'string') return undefined
  const { maxExclusive } = FULL_RANGE
  return parseFeedRangeId(
    feedRangeId({ minInclusive: min, maxExclusive: max === '' ? maxExclusive : max }),
  )
}

/** Both SDKs have names of their own for a feed's mode. */
export function modeOf(text: string): FeedMode {
  return /full|all_?versions/i.test(text) ? 'allVersions' : 'latestVersion'
}

export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** By any case of its first letter: the SDKs differ in it. */
export function property(value: unknown, name: string): unknown {
  if (!isObject(value)) return undefined
  const first = name.slice(0, 1)
  const other = first === first.toUpperCase() ? first.toLowerCase() : first.toUpperCase()
  const found = [name, other + name.slice(1)].find((each) => Object.hasOwn(value, each))
  return found === undefined ? undefined : Reflect.get(value, found)
}

const SAYS_NOTHING = { mode: undefined, containerRid: undefined }
const JAVA_MODES: Readonly<Record<FeedMode, string>> = {
  latestVersion: 'INCREMENTAL',
  allVersions: 'FULL_FIDELITY',
}

function etagLsn(value: unknown): Lsn | undefined {
  const digits = typeof value === 'string' ? /^(?:W\/)?"?(\d{1,16})"?$/.exec(value)?.[1] : undefined
  const at = Number(digits)
  return digits !== undefined && Number.isSafeInteger(at) ? lsn(at) : undefined
}

/** JSON, plain or in base64 of either alphabet. Undefined when it is none. */
function jsonOf(text: string): unknown {
  const json = text.trimStart().startsWith('{')
    ? text
    : Buffer.from(text, 'base64url').toString('utf8')
  try {
    const value: unknown = JSON.parse(json)
    return value
  } catch {
    return undefined
  }
}

function unknownToken(token: unknown): LeaseStorageError {
  return new LeaseStorageError(
    `a continuation must be an LSN in quotes or the state of a Java reader, got ${JSON.stringify(token)}`,
  )
}
