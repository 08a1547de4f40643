import { afterEach, describe, expect, test } from 'vitest'
import {
  LEASES,
  MONITORED,
  openFollowed,
  PROCESSOR,
  type Followed,
  type PkRange,
  type Seen,
  type V3Lease,
} from './keda.fixture.ts'
import type { WireAnswer, WireRequest } from './signed-request.ts'

/*
 * The calls and the arithmetic of KEDA's built-in scaler `azure-cosmosdb`. source: kedacore/keda,
 * pkg/scalers/azure_cosmosdb_scaler.go, as of KEDA 2.21. Before #8088 it knew leases of version 0 only, and took
 * LeaseToken of each for the id of a pkrange.
 */

let followed: Followed
afterEach(() => followed.interop.close())

interface ScalerOptions {
  /** Before #8088. @default false */
  readonly onlyVersion0?: boolean
  /** As in the trigger's metadata. @default the gateway's */
  readonly endpoint?: string
}

/** One poll: the leases are read once more when one of them is of a range that is gone. */
function scaler(options: ScalerOptions = {}) {
  const look = async (): Promise<Seen & { readonly splitSeen: boolean }> => {
    const once = await estimateOnce(options)
    return once.splitSeen ? estimateOnce(options) : once
  }
  return {
    look,
    /** Without what only the scaler's activity is made of. */
    seen: async (): Promise<Seen> => {
      const { total, busy, leases } = await look()
      return { total, busy, leases }
    },
  }
}

async function estimateOnce({ onlyVersion0 = false, endpoint }: ScalerOptions) {
  const leases = await queryLeases(endpoint ?? followed.interop.gateway.endpoint)
  const needsRanges = !onlyVersion0 && leases.some(({ version }) => version === 1)
  const ranges = needsRanges ? await pkRanges() : []
  const seen = { total: 0, busy: 0, leases: leases.length, splitSeen: false }
  for (const lease of leases) {
    const byToken = onlyVersion0 || lease.version === 0
    const lag = await lagOf(lease, byToken ? { id: lease.LeaseToken } : scopeOf(lease, ranges))
    if (lag === undefined) seen.splitSeen = true
    else if (lag > 0) {
      seen.total += lag
      seen.busy += 1
    }
  }
  return seen
}

/** Undefined: the range is gone. */
async function lagOf(lease: V3Lease, scope: Scope | undefined): Promise<number | undefined> {
  if (scope === undefined) return undefined
  const page = await send({
    path: `${MONITORED}/docs`,
    headers: {
      'x-ms-documentdb-partitionkeyrangeid': scope.id,
      'A-IM': 'Incremental feed',
      'x-ms-max-item-count': '1',
      ...(scope.keys && {
        'x-ms-read-key-type': 'EffectivePartitionKeyRange',
        'x-ms-start-epk': scope.keys.min,
        'x-ms-end-epk': scope.keys.max,
      }),
      'If-None-Match': lease.ContinuationToken,
    },
  })
  if (page.status === 410) {
    expect(page.headers.get('x-ms-substatus')).toBe('1002')
    return undefined
  }
  if (page.status === 304) return 0
  expect(page.status).toBe(200)
  const [first] = (page.json?.['Documents'] ?? []) as readonly { readonly _lsn: number }[]
  if (first === undefined) return 0
  const token = page.headers.get('x-ms-session-token') ?? ''
  const segments = token.slice(token.indexOf(':') + 1).split('#')
  const lag = Number(segments[1] ?? segments[0]) - first._lsn + 1
  // The scaler fails its poll.
  expect(lag).toBeGreaterThanOrEqual(0)
  return lag
}

interface Scope {
  readonly id: string
  readonly keys?: { readonly min: string; readonly max: string } | undefined
}

function scopeOf({ FeedRange }: V3Lease, ranges: readonly PkRange[]): Scope | undefined {
  const { min, max } = FeedRange.Range
  // What it refuses to read.
  expect(`${min}${max}`).toMatch(/^[0-9A-F]*$/)
  expect(min < max && max <= 'FF').toBe(true)
  const [range, ...others] = ranges.filter(
    ({ minInclusive, maxExclusive }) => min < maxExclusive && max > minInclusive,
  )
  if (others.length > 0) return undefined
  expect(range).toBeDefined()
  const { id, minInclusive, maxExclusive } = range!
  expect(min >= minInclusive && max <= maxExclusive).toBe(true)
  const isWhole = min === minInclusive && max === maxExclusive
  return { id, keys: isWhole ? undefined : { min, max } }
}

async function queryLeases(endpoint: string): Promise<readonly V3Lease[]> {
  const { hostname } = new URL(endpoint)
  const prefix = `${PROCESSOR}${hostname.split('.')[0]}.`
  const pages = await allPages('Documents', {
    method: 'POST',
    path: `${LEASES}/docs`,
    headers: {
      'Content-Type': 'application/query+json',
      'x-ms-documentdb-isquery': 'true',
      'x-ms-documentdb-query-enablecrosspartition': 'true',
    },
    body: {
      query: 'SELECT * FROM c WHERE STARTSWITH(c.id, @prefix)',
      parameters: [{ name: '@prefix', value: prefix }],
    },
  })
  pagesOfLeases = pages.length
  return (pages.flat() as readonly V3Lease[]).filter(({ LeaseToken }) => LeaseToken)
}
let pagesOfLeases = 0

async function pkRanges(): Promise<readonly PkRange[]> {
  const pages = await allPages('PartitionKeyRanges', { path: `${MONITORED}/pkranges` })
  return pages.flat() as readonly PkRange[]
}

async function allPages(name: string, request: WireRequest): Promise<readonly unknown[][]> {
  const pages: unknown[][] = []
  let continuation: string | undefined
  do {
    const more = continuation === undefined ? {} : { 'x-ms-continuation': continuation }
    const answer: WireAnswer = await send({ ...request, headers: { ...request.headers, ...more } })
    expect(answer.status).toBe(200)
    pages.push(answer.json?.[name] as unknown[])
    continuation = answer.headers.get('x-ms-continuation') ?? undefined
  } while (continuation !== undefined)
  return pages
}

function send(request: WireRequest): Promise<WireAnswer> {
  const headers = { 'x-ms-version': '2018-12-31', ...request.headers }
  return followed.interop.send({ ...request, headers })
}

describe('KEDA’s built-in scaler', () => {
  test.each([{ onlyVersion0: false }, { onlyVersion0: true }])(
    'the lag is the number of changes that are left, also after a split (%o)',
    async (options) => {
      followed = await openFollowed()
      const { look, seen } = scaler(options)
      await followed.write(20)
      await followed.work(seen)
      expect(await followed.backlog(seen)).toEqual({
        totals: [0, 30, 150, 350],
        busy: [0, 1, 1, 1],
      })
      await followed.orders.split('0')
      // It wakes one replica, which makes the leases of the children.
      expect(await look()).toEqual({ total: 0, busy: 0, leases: 1, splitSeen: true })
      await followed.work(seen)
      expect(await followed.backlog(seen)).toEqual({
        totals: [0, 30, 150, 350],
        busy: [0, 2, 2, 2],
      })
      expect(await look()).toMatchObject({ splitSeen: false })
    },
  )

  test.each([{ onlyVersion0: false }, { onlyVersion0: true }])(
    'the lags of several pages of leases (%o)',
    async (options) => {
      followed = await openFollowed({ throughput: 1_200_000 })
      const { seen } = scaler(options)
      await followed.write(200)
      await followed.work(seen)
      expect(pagesOfLeases).toBeGreaterThan(1)
      const { totals } = await followed.backlog(seen)
      expect(totals).toEqual([0, 30, 150, 350])
    },
  )

  test('a lease that is a part of a pkrange is read by its keys', async () => {
    followed = await openFollowed({ leasesPerRange: 2 })
    const { seen } = scaler()
    await followed.write(20)
    await followed.work(seen)
    await followed.write(1)
    expect(await seen()).toEqual({ total: 1, busy: 1, leases: 2 })
  })

  test('after a merge it wakes one replica, whose leases it reads by their keys until they are joined', async () => {
    followed = await openFollowed({ throughput: 20_000 })
    const { look, seen } = scaler()
    await followed.write(20)
    await followed.work(seen)
    await followed.orders.merge('0', '1')
    expect(await look()).toEqual({ total: 0, busy: 0, leases: 2, splitSeen: true })
    await followed.work(async () => ({ ...(await seen()), leases: 1 }))
    expect(await look()).toMatchObject({ total: 0, splitSeen: false })
    await followed.write(30)
    expect((await seen()).total).toBeGreaterThanOrEqual(30)
  })

  test('leases are found by the endpoint that the scaler has, which compares its name up to the first dot', async () => {
    const endpoint = 'http://tidemark.shop.svc:8081'
    followed = await openFollowed({ endpoint })
    await followed.write(20)
    await followed.work(scaler({ endpoint }).seen)
    await followed.write(30)
    for (const same of [endpoint, 'http://tidemark:8081']) {
      expect(await scaler({ endpoint: same }).seen()).toEqual({ total: 30, busy: 1, leases: 1 })
    }
    const { endpoint: other } = followed.interop.gateway
    expect(await scaler({ endpoint: other }).seen()).toMatchObject({ leases: 0 })
  })
})
