import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Interop } from './interop.fixture.ts'
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
import type { WireAnswer } from './signed-request.ts'

/*
 * The calls of KEDA's external scaler for Cosmos DB. source: CosmosDbMetricProvider of
 * kedacore/external-scaler-azure-cosmos-db 1.1.0, which counts the leases whose EstimatedLag is above 0;
 * ChangeFeedEstimatorIterator, ChangeFeedPartitionKeyResultSetIteratorCore, DocumentServiceLeaseContainerCosmos,
 * PartitionKeyRangeCache and RequestInvokerHandler of azure-cosmos-dotnet-v3, which it asks.
 */

let followed: Followed
let interop: Interop
beforeEach(async () => {
  followed = await openFollowed()
  interop = followed.interop
})
afterEach(() => interop.close())

/** EstimatedLag of each lease, as the .NET client comes to it. */
async function estimate(): Promise<Seen> {
  const { _rid: rid } = await read(MONITORED)
  const databaseRid = Buffer.from(String(rid).replaceAll('-', '/'), 'base64')
    .subarray(0, 4)
    .toString('base64')
    .replaceAll('/', '-')
  const { hostname } = new URL(interop.gateway.endpoint)
  const prefix = `${PROCESSOR}${hostname}_${databaseRid}_${String(rid)}..`
  const leases = await query(`SELECT * FROM c WHERE STARTSWITH(c.id, '${prefix}')`)
  const ranges = await pkRanges(databaseRid, String(rid))
  const lags = await Promise.all(leases.map((lease) => lagOf(lease, ranges)))
  const total = lags.reduce((sum, lag) => sum + lag, 0)
  return { total, busy: lags.filter((lag) => lag > 0).length, leases: lags.length }
}

async function lagOf(lease: V3Lease, ranges: readonly PkRange[]): Promise<number> {
  const scope = lease.version === 0 ? { id: lease.LeaseToken, keys: {} } : scopeOf(lease, ranges)
  // A lease that was split and has no children yet: the client answers itself with 410, and takes that for work.
  if (scope === undefined) return 1
  const page = await interop.send({
    path: `${MONITORED}/docs`,
    headers: {
      'a-im': 'Incremental Feed',
      'x-ms-max-item-count': '1',
      'if-none-match': lease.ContinuationToken,
      'x-ms-documentdb-partitionkeyrangeid': scope.id,
      ...scope.keys,
    },
  })
  if (page.status === 410) {
    expect(page.headers.get('x-ms-substatus')).toBe('1002')
    return 1
  }
  expect([200, 304]).toContain(page.status)
  const newest = Number(page.headers.get('x-ms-session-token')?.split(':')[1]?.split('#')[1])
  const documents = (page.json?.['Documents'] ?? []) as readonly { readonly _lsn: number }[]
  const done = documents[0] === undefined ? newest : documents[0]._lsn - 1
  return Math.max(0, newest - done)
}

/** Undefined when the keys of the lease are in several ranges by now. */
function scopeOf(
  { FeedRange }: V3Lease,
  ranges: readonly PkRange[],
): { readonly id: string; readonly keys: Readonly<Record<string, string>> } | undefined {
  const { min, max } = FeedRange.Range
  const [range, ...others] = ranges.filter(
    ({ minInclusive, maxExclusive }) => minInclusive < max && min < maxExclusive,
  )
  if (range === undefined || others.length > 0) return undefined
  const isPart = min !== range.minInclusive || max !== range.maxExclusive
  if (!isPart) return { id: range.id, keys: {} }
  const keys = {
    'x-ms-read-key-type': 'EffectivePartitionKeyRange',
    'x-ms-start-epk': min,
    'x-ms-end-epk': max,
  }
  return { id: range.id, keys }
}

async function read(path: string): Promise<Readonly<Record<string, unknown>>> {
  const { status, json } = await interop.send({ path })
  expect(status).toBe(200)
  return json ?? {}
}

/** By `_rid`, page after page until nothing is new, without those that have split. */
async function pkRanges(databaseRid: string, rid: string): Promise<readonly PkRange[]> {
  const ranges: PkRange[] = []
  let etag: string | undefined
  for (;;) {
    const answer: WireAnswer = await interop.send({
      path: `dbs/${databaseRid}/colls/${rid}/pkranges`,
      signedLink: rid.toLowerCase(),
      headers: {
        'a-im': 'Incremental feed',
        'x-ms-max-item-count': '-1',
        ...(etag !== undefined && { 'if-none-match': etag }),
      },
    })
    if (answer.status === 304) break
    expect(answer.status).toBe(200)
    etag = answer.headers.get('etag') ?? ''
    ranges.push(...(answer.json?.['PartitionKeyRanges'] as readonly PkRange[]))
  }
  const gone = new Set(ranges.flatMap(({ parents }) => parents))
  return ranges.filter(({ id }) => !gone.has(id))
}

/**
 * A query of the lease container, as the .NET client runs one that leaves nothing to merge: the plan says so, and the query
 * as it is goes to each pkrange that the plan names, in pages.
 */
async function query(text: string): Promise<readonly V3Lease[]> {
  const path = `${LEASES}/docs`
  const headers = {
    'content-type': 'application/query+json',
    'x-ms-documentdb-query-enablecrosspartition': 'True',
  }
  const body = { query: text }
  const plan = await interop.send({
    method: 'POST',
    path,
    headers: {
      ...headers,
      'x-ms-cosmos-is-query-plan-request': 'True',
      'x-ms-cosmos-supported-query-features': 'Aggregate, Distinct, MultipleOrderBy, OrderBy, Top',
      'x-ms-cosmos-query-version': '1.0',
    },
    body,
  })
  expect(plan.json?.['queryInfo']).toMatchObject({ orderBy: [], aggregates: [], top: null })
  const queryRanges = (plan.json?.['queryRanges'] ?? []) as readonly { min: string; max: string }[]
  expect(queryRanges).toHaveLength(1)
  const { min, max } = queryRanges[0]!
  const { PartitionKeyRanges: ranges } = await read(`${LEASES}/pkranges`)
  const leases: V3Lease[] = []
  for (const { id, minInclusive, maxExclusive } of ranges as readonly PkRange[]) {
    if (minInclusive >= max || min >= maxExclusive) continue
    let continuation: string | undefined
    do {
      const page: WireAnswer = await interop.send({
        method: 'POST',
        path,
        headers: {
          ...headers,
          'x-ms-documentdb-isquery': 'True',
          'x-ms-documentdb-partitionkeyrangeid': id,
          ...(continuation !== undefined && { 'x-ms-continuation': continuation }),
        },
        body,
      })
      expect(page.status).toBe(200)
      leases.push(...(page.json?.['Documents'] as readonly V3Lease[]))
      continuation = page.headers.get('x-ms-continuation') ?? undefined
    } while (continuation !== undefined)
  }
  return leases
}

describe('KEDA’s external scaler', () => {
  test('the estimated lag is the number of changes that are left, also after a split', async () => {
    await followed.write(20)
    await followed.work(estimate)
    expect(await followed.backlog(estimate)).toEqual({
      totals: [0, 30, 150, 350],
      busy: [0, 1, 1, 1],
    })
    await followed.orders.split('0')
    expect(await estimate()).toEqual({ total: 1, busy: 1, leases: 1 })
    await followed.work(estimate)
    expect(await followed.backlog(estimate)).toEqual({
      totals: [0, 30, 150, 350],
      busy: [0, 2, 2, 2],
    })
  })

  test('a lease that is a part of a pkrange is read by its keys', async () => {
    await interop.close()
    followed = await openFollowed({ leasesPerRange: 2 })
    interop = followed.interop
    await followed.write(20)
    await followed.work(estimate)
    await followed.write(1)
    expect(await estimate()).toEqual({ total: 1, busy: 1, leases: 2 })
  })
})
