import {
  CodedError,
  errorCode,
  InvalidOptionError,
  ResourceNotFoundError,
  type Clock,
} from '@tidemark/contracts'
import { hideCredentials } from '@tidemark/contracts/internal'
import { ChangeFeedEstimator, type FeedEstimate } from '@tidemark/processor'
import type { Store } from '@tidemark/store'
import type { AccessRule } from '../../dashboard/access.ts'
import { jsonAnswer, problemAnswer } from '../../dashboard/problem-answer.ts'
import {
  collectionsByRid,
  followedCollection,
  namesakeOf,
  type NamedCollection,
} from '../../inspection/followed-collections.ts'
import { followedBy } from '../group-location.ts'
import { leaseLocations, openLeases } from '../lease-location.ts'
import type { Beside } from './beside.ts'
import { sharedCall } from './shared-call.ts'

export interface GroupLagOptions {
  readonly store: Store
  /** Place of leases, beside the collections named "leases" of the store. @default none */
  readonly leases?: string | undefined
  readonly access: AccessRule
  readonly clock: Clock
}

type Where = Pick<GroupLagOptions, 'store' | 'leases'>

/** Which estimate is asked for. */
interface LagRequest {
  readonly group: string
  readonly leases: string | undefined
  readonly collection: string | undefined
  readonly limit: number
  readonly pendingDeletes: boolean | undefined
}

const PATH = /^\/api\/groups\/([^/]+)\/lag$/
const PARAMETERS = ['leases', 'collection', 'limit', 'pendingDeletes']
/** Changes that are counted in each range. */
const DEFAULT_LIMIT = 1_000
const MOST_CHANGES = 100_000
/** However many ask, one estimate is made in that time. */
const ESTIMATE_EVERY_MS = 1_000
/** Different requests whose estimates are shared. */
const MOST_REQUESTS = 100

/**
 * `GET /api/groups/NAME/lag`: how far a group is behind, as one number for scalers, and by range. Query: `leases` and
 * `collection` (`database/collection`) where groups in several places have that name, `limit` (changes that are counted in each
 * range), `pendingDeletes=false` for hosts that do not get them.
 */
export function groupLag({ store, leases, access, clock }: GroupLagOptions): Beside {
  const estimates = new Map<string, () => Promise<FeedEstimate>>()
  const estimateOf = (request: LagRequest): Promise<FeedEstimate> => {
    const key = JSON.stringify(Object.values(request))
    const known = estimates.get(key)
    if (known !== undefined) return known()
    const made = sharedCall(() => estimate(request, { store, leases }), {
      clock,
      freshMs: ESTIMATE_EVERY_MS,
    })
    estimates.set(key, made)
    const [oldest] = estimates.keys()
    if (estimates.size > MOST_REQUESTS && oldest !== undefined) estimates.delete(oldest)
    return made()
  }
  return async (request) => {
    const { pathname, searchParams } = new URL(request.url)
    const [, name] = PATH.exec(pathname) ?? []
    if (name === undefined) return undefined
    const refused = await access(request)
    if (refused !== undefined) return refused
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      const message = 'A lag is asked by GET or HEAD.'
      return problemAnswer(405, { code: 'ERR_METHOD_NOT_ALLOWED', message }, { allow: 'GET, HEAD' })
    }
    try {
      return jsonAnswer(shown(await estimateOf(lagRequest(name, searchParams))))
    } catch (error) {
      const status = statusOf(error)
      if (status === undefined || !(error instanceof Error)) throw error
      return problemAnswer(status, {
        code: errorCode(error) ?? '',
        message: hideCredentials(error.message),
      })
    }
  }
}

/** Where it is, and how far. Rejects with ERR_NOT_FOUND, with ERR_INVALID_OPTION when it is in several places. */
async function estimate(request: LagRequest, where: Where): Promise<FeedEstimate> {
  const { group, limit, pendingDeletes } = request
  const { store } = where
  const { location, feed } = await find(request, where)
  await using leases = await openLeases(location, { store, missing: 'fail' })
  const options = { feed: feed.collection, leases: leases.store, group, pendingDeletes }
  await using estimator = new ChangeFeedEstimator(options)
  return await estimator.estimate({ limit })
}

interface FoundGroup {
  readonly location: string
  readonly feed: NamedCollection
}

async function find(
  { group, leases: place, collection }: LagRequest,
  where: Where,
): Promise<FoundGroup> {
  const { store } = where
  const collections = await collectionsByRid(store)
  const found: FoundGroup[] = []
  for (const location of place === undefined ? await places(where) : [place]) {
    await using leases = await openLeases(location, { store, missing: 'fail' })
    if (!(await leases.store.listGroups()).includes(group)) continue
    const follows = await followedBy(leases.store, group)
    const feed = followedCollection(collections, follows) ?? namesakeOf(collections, follows)
    const isMeant = collection === undefined || collection === feed?.name
    if (feed !== undefined && isMeant) found.push({ location, feed })
  }
  const [first, second] = found
  if (first === undefined) throw new ResourceNotFoundError('group', group)
  if (second === undefined) return first
  throw new InvalidOptionError(
    `there are groups ${JSON.stringify(group)} in ${found.map(({ location }) => location).join(' and ')}; ` +
      `choose one with ?leases= or ?collection=`,
  )
}

async function places({ store, leases }: Where): Promise<readonly string[]> {
  const inStore = await leaseLocations(undefined, store)
  return leases === undefined ? inStore : [...new Set([leases, ...inStore])]
}

/** @throws ERR_INVALID_OPTION */
function lagRequest(name: string, query: URLSearchParams): LagRequest {
  for (const parameter of new Set(query.keys())) {
    const isKnown = PARAMETERS.includes(parameter)
    if (isKnown && query.getAll(parameter).length === 1) continue
    throw new InvalidOptionError(
      `the query may have ${PARAMETERS.join(', ')}, each once, not ${JSON.stringify(parameter)}`,
    )
  }
  const place = (parameter: 'leases' | 'collection'): string | undefined => {
    const value = query.get(parameter) ?? undefined
    // Anything else would be an address that this server connects to.
    if (value === undefined || /^[^/]+\/[^/]+$/.test(value)) return value
    throw new InvalidOptionError(`${parameter} must look like database/collection`)
  }
  const limit = query.get('limit') ?? String(DEFAULT_LIMIT)
  if (!/^[1-9]\d{0,5}$/.test(limit) || Number(limit) > MOST_CHANGES) {
    throw new InvalidOptionError(`limit must be a whole number from 1 to ${MOST_CHANGES}`)
  }
  const pendingDeletes = query.get('pendingDeletes')
  if (pendingDeletes !== null && pendingDeletes !== 'true' && pendingDeletes !== 'false') {
    throw new InvalidOptionError('pendingDeletes must be true or false')
  }
  return {
    group: decoded(name),
    leases: place('leases'),
    collection: place('collection'),
    limit: Number(limit),
    pendingDeletes: pendingDeletes === null ? undefined : pendingDeletes === 'true',
  }
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    throw new InvalidOptionError('the percent-encoding of the path is broken')
  }
}

/** What is not known is null. */
function shown({ group, atMs, paused, hosts, leases, ...total }: FeedEstimate): object {
  return {
    group,
    atMs,
    totalLag: total.remainingChanges,
    isExact: total.isExact,
    oldestMs: total.oldestChangeAgeMs ?? null,
    paused,
    hosts: hosts.length,
    ranges: leases.map((lease) => ({
      range: lease.leaseId,
      lag: lease.remainingChanges,
      isExact: lease.isExact,
      oldestMs: lease.oldestChangeAgeMs ?? null,
      state: lease.state,
      owner: lease.owner ?? null,
      problem: lease.problem ?? null,
    })),
  }
}

/** Undefined: it is the server's fault. */
function statusOf(error: unknown): number | undefined {
  const code = errorCode(error)
  if (code === 'ERR_NOT_FOUND') return 404
  if (code === 'ERR_INVALID_OPTION' || code === 'ERR_LEASE_STORAGE') return 400
  return error instanceof CodedError && error.retryable ? 503 : undefined
}
