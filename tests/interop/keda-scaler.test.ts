import type { Collection } from '@tidemark/store'
import {
  CosmosConnection,
  CosmosDocumentCollection,
  openChangeFeed,
  readCosmosLeasePrefix,
} from '@tidemark/gateway/client'
import { ChangeFeedProcessorHost, DocumentLeaseStore } from '@tidemark/processor'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { KEY, openInterop, type Interop } from './interop.fixture.ts'
import type { WireAnswer } from './signed-request.ts'

/*
 * The calls of KEDA's scaler for Cosmos DB. source: CosmosDbMetricProvider of kedacore/external-scaler-azure-cosmos-db,
 * which counts the leases whose EstimatedLag is above 0; ChangeFeedEstimatorIterator,
 * ChangeFeedPartitionKeyResultSetIteratorCore, DocumentServiceLeaseContainerCosmos, PartitionKeyRangeCache and
 * RequestInvokerHandler of azure-cosmos-dotnet-v3, which it asks.
 */

const PROCESSOR = 'orders-worker'
const MONITORED = 'dbs/interop/colls/orders'
const LEASES = 'dbs/interop/colls/leases'

interface Lease {
  readonly LeaseToken: string
  readonly FeedRange: { readonly Range: { readonly min: string; readonly max: string } }
  readonly ContinuationToken: string
}

interface PkRange {
  readonly id: string
  readonly minInclusive: string
  readonly maxExclusive: string
  readonly parents: readonly string[]
}

let interop: Interop
let orders: Collection
let written = 0
beforeEach(async () => {
  interop = await openInterop()
  const { containers } = interop.database
  await containers.create({ id: 'orders', partitionKey: { paths: ['/id'], version: 2 } })
  await containers.create({ id: 'leases', partitionKey: '/partitionKey', throughput: 30_000 })
  orders = interop.store.database('interop').collection('orders')
  written = 0
})
afterEach(() => interop.close())

/** New documents, each a change of its own. */
async function write(count: number): Promise<void> {
  const ids = Array.from({ length: count }, () => `o${written++}`)
  await Promise.all(ids.map((id) => orders.create({ id })))
}

/** Lets a worker process everything, and stops it. */
async function work(): Promise<void> {
  const connection = new CosmosConnection({ endpoint: interop.gateway.endpoint, key: KEY })
  const monitored = { database: 'interop', container: 'orders' }
  const leaseIdPrefix = await readCosmosLeasePrefix(connection, {
    ...monitored,
    processorName: PROCESSOR,
  })
  const leases = new CosmosDocumentCollection(connection, {
    database: 'interop',
    container: 'leases',
  })
  const host = new ChangeFeedProcessorHost({
    hostName: 'w1',
    group: PROCESSOR,
    feed: await openChangeFeed(connection, monitored),
    leases: new DocumentLeaseStore(leases, { leaseIdPrefix }),
    feedOptions: { startFromBeginning: true },
  })
  await host.registerObserver({ processChanges: () => undefined })
  const ranges = (await orders.readFeedRanges()).length
  await expect.poll(estimate, { interval: 50 }).toEqual(Array.from({ length: ranges }, () => 0))
  await host.unregisterObservers()
}

/** EstimatedLag of each lease, as the .NET client comes to it. */
async function estimate(): Promise<readonly number[]> {
  const { _rid: rid } = await read(MONITORED)
  const databaseRid = Buffer.from(String(rid).replaceAll('-', '/'), 'base64')
    .subarray(0, 4)
    .toString('base64')
    .replaceAll('/', '-')
  const { hostname } = new URL(interop.gateway.endpoint)
  const prefix = `${PROCESSOR}${hostname}_${databaseRid}_${String(rid)}..`
  const leases = await query(`SELECT * FROM c WHERE STARTSWITH(c.id, '${prefix}')`)
  const ranges = await pkRanges(databaseRid, String(rid))
  return Promise.all(leases.map((lease) => lagOf(lease, ranges)))
}

async function lagOf(lease: Lease, ranges: readonly PkRange[]): Promise<number> {
  const { min, max } = lease.FeedRange.Range
  const [range, ...others] = ranges.filter(
    ({ minInclusive, maxExclusive }) => minInclusive < max && min < maxExclusive,
  )
  // A lease that was split and has no children yet: the client answers itself with 410, and takes that for work.
  if (range === undefined || others.length > 0) return 1
  const isPart = min !== range.minInclusive || max !== range.maxExclusive
  const page = await interop.send({
    path: `${MONITORED}/docs`,
    headers: {
      'a-im': 'Incremental Feed',
      'x-ms-max-item-count': '1',
      'if-none-match': lease.ContinuationToken,
      'x-ms-documentdb-partitionkeyrangeid': range.id,
      ...(isPart && {
        'x-ms-read-key-type': 'EffectivePartitionKeyRange',
        'x-ms-start-epk': min,
        'x-ms-end-epk': max,
      }),
    },
  })
  expect([200, 304]).toContain(page.status)
  const newest = Number(page.headers.get('x-ms-session-token')?.split(':')[1]?.split('#')[1])
  const documents = (page.json?.['Documents'] ?? []) as readonly { readonly _lsn: number }[]
  const done = documents[0] === undefined ? newest : documents[0]._lsn - 1
  return Math.max(0, newest - done)
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
async function query(text: string): Promise<readonly Lease[]> {
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
  const leases: Lease[] = []
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
      leases.push(...(page.json?.['Documents'] as readonly Lease[]))
      continuation = page.headers.get('x-ms-continuation') ?? undefined
    } while (continuation !== undefined)
  }
  return leases
}

/** What a worker that is stopped has before it as documents come in: of each lease, and in all. */
async function backlog(): Promise<{ readonly sums: number[]; readonly busy: number[] }> {
  const sums: number[] = []
  const busy: number[] = []
  for (const more of [0, 30, 120, 200]) {
    await write(more)
    const lags = await estimate()
    sums.push(lags.reduce((sum, lag) => sum + lag, 0))
    busy.push(lags.filter((lag) => lag > 0).length)
  }
  return { sums, busy }
}

describe('KEDA’s scaler', () => {
  test('the estimated lag is the number of changes that are left, also after a split', async () => {
    await write(20)
    await work()
    expect(await backlog()).toEqual({ sums: [0, 30, 150, 350], busy: [0, 1, 1, 1] })
    await orders.split('0')
    expect(await estimate()).toEqual([1])
    await work()
    expect(await backlog()).toEqual({ sums: [0, 30, 150, 350], busy: [0, 2, 2, 2] })
  })
})
