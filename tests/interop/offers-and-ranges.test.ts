import type { Container, FeedRange } from '@azure/cosmos'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  openInterop,
  pagesOf,
  pathOf,
  refusal,
  sortedIds,
  type Interop,
} from './interop.fixture.ts'

let interop: Interop
beforeAll(async () => {
  interop = await openInterop()
})
afterAll(() => interop.close())

interface Range {
  readonly id: string
  readonly minInclusive: string
  readonly maxExclusive: string
  readonly parents: readonly string[]
}

async function rangesOf(container: Container): Promise<readonly Range[]> {
  const { resources } = await container.readPartitionKeyRanges().fetchAll()
  return resources as unknown as readonly Range[]
}

interface OfferBody {
  readonly id: string
  readonly content: { readonly offerThroughput: number }
}

/** Replaces the container's throughput. */
async function raise(container: Container, offerThroughput: number): Promise<void> {
  const { offer, resource } = await container.readOffer()
  const body = resource as unknown as OfferBody
  const content = { ...body.content, offerThroughput }
  await offer?.replace({ ...body, content } as never)
}

describe('Offers', () => {
  test('a container has the offer that it was made with', async () => {
    const container = await interop.container({ throughput: 1200 })
    const { resource } = await container.readOffer()
    const { resource: definition } = await container.read()
    expect(resource).toMatchObject({
      offerVersion: 'V2',
      offerType: 'Invalid',
      content: { offerThroughput: 1200 },
      resource: (definition as unknown as { _self: string })._self,
      offerResourceId: (definition as unknown as { _rid: string })._rid,
    })
  })

  test('without a word about throughput it is 400', async () => {
    const { resource } = await (await interop.container()).readOffer()
    expect(resource).toMatchObject({ content: { offerThroughput: 400 } })
  })

  test('an offer is read by its id', async () => {
    const { resource } = await (await interop.container()).readOffer()
    const { id } = resource as unknown as OfferBody
    const read = await interop.client.offer(id).read()
    expect(read.statusCode).toBe(200)
    expect(read.resource).toEqual(resource)
  })

  test('readAll lists the offers of all containers', async () => {
    const containers = [await interop.container(), await interop.container()]
    const own = await Promise.all(containers.map((container) => container.readOffer()))
    const { resources } = await interop.client.offers.readAll().fetchAll()
    const ids = new Set(resources.map(({ id }) => id))
    for (const { resource } of own) {
      expect(ids).toContain((resource as unknown as OfferBody).id)
    }
  })

  test('a query for the offer of one resource finds one', async () => {
    const container = await interop.container()
    const { resource } = await container.read()
    const { _self } = resource as unknown as { _self: string }
    const query = `SELECT * FROM root WHERE root.resource = "${_self}"`
    const { resources } = await interop.client.offers.query({ query }).fetchAll()
    expect(resources).toHaveLength(1)
  })

  test('replace changes the throughput and is read back', async () => {
    const container = await interop.container({ throughput: 400 })
    await raise(container, 900)
    const { resource } = await container.readOffer()
    expect(resource).toMatchObject({ content: { offerThroughput: 900 } })
  })

  test('an offer that is not there is 404, and what can be no id of one is 400', async () => {
    const missing = await refusal(interop.client.offer('0123456789abcdef').read())
    expect(missing.code).toBe(404)
    expect(missing.message).toContain('offer "0123456789abcdef" does not exist')
    expect((await refusal(interop.client.offer('abcd').read())).code).toBe(400)
  })

  test.each([{ _rid: 'NotAllowed' }, { id: 'other' }, { id: null, _rid: null }])(
    'an offer replaced by a body of another one, %j, is 400',
    async (other) => {
      const container = await interop.container()
      const { offer, resource } = await container.readOffer()
      const content = { offerThroughput: 700 }
      const replaced = await interop.send({
        method: 'PUT',
        path: `offers/${offer?.id}`,
        body: { ...resource, content, ...other },
      })
      expect(replaced.status).toBe(400)
      expect((await container.readOffer()).resource).toEqual(resource)
    },
  )

  test.each([100, 450, -400, 0])('throughput %d is 400', async (throughput) => {
    const { status } = await interop.send({
      method: 'POST',
      path: 'dbs/interop/colls',
      headers: { 'x-ms-offer-throughput': String(throughput) },
      body: { id: 'few', partitionKey: { paths: ['/pk'] } },
    })
    expect(status).toBe(400)
  })

  test('an offer addressed by its self link is 400, not 401', async () => {
    const { resource } = await (await interop.container()).readOffer()
    const { _self } = resource as unknown as { _self: string }
    expect((await refusal(interop.client.offer(_self).replace(resource as never))).code).toBe(400)
  })

  test('a database has the offer that it was made with, and none without', async () => {
    const { databases } = interop.client
    const plain = await databases.create({ id: 'offerless' })
    expect((await plain.database.readOffer()).resource).toBeUndefined()
    const given = await databases.create({ id: 'offered', throughput: 500 })
    expect((await given.database.readOffer()).resource).toMatchObject({
      offerVersion: 'V2',
      content: { offerThroughput: 500 },
    })
    const scaled = await databases.create({ id: 'scaled', maxThroughput: 50_000 })
    expect((await scaled.database.readOffer()).resource).toMatchObject({
      content: { offerAutopilotSettings: { maxThroughput: 50_000 } },
    })
  })

  test('the offer of a database is replaced, found and listed, and goes with it', async () => {
    const { database } = await interop.client.databases.create({ id: 'moved', throughput: 400 })
    const { offer, resource } = await database.readOffer()
    const body = resource as unknown as OfferBody
    const content = { ...body.content, offerThroughput: 700 }
    await offer?.replace({ ...body, content } as never)
    const { resource: after } = await database.readOffer()
    expect(after).toMatchObject({ id: body.id, content: { offerThroughput: 700 } })
    expect((await interop.client.offers.readAll().fetchAll()).resources).toContainEqual(after)
    await database.delete()
    expect((await refusal(interop.client.offer(body.id).read())).code).toBe(404)
  })

  test('of two that replace an offer and its container at once neither undoes the other', async () => {
    const container = await interop.container({ throughput: 400 })
    const { resource } = await container.read()
    for (const n of [1, 2, 3]) {
      await Promise.all([
        raise(container, 400 + 100 * n),
        container.replace({ ...resource!, defaultTtl: n, purpose: n } as never),
      ])
      expect((await container.readOffer()).resource).toMatchObject({
        content: { offerThroughput: 400 + 100 * n },
      })
      expect((await container.read()).resource).toMatchObject({ defaultTtl: n, purpose: n })
    }
  })

  test('an offer replaced with an old etag in If-Match is 412', async () => {
    const container = await interop.container({ throughput: 400 })
    const { offer, resource } = await container.readOffer()
    const body = resource as unknown as OfferBody & { readonly _etag: string }
    await raise(container, 500)
    const accessCondition = { type: 'IfMatch', condition: body._etag }
    const late = offer!.replace(body as never, { accessCondition })
    expect((await refusal(late)).code).toBe(412)
    expect((await container.readOffer()).resource).toMatchObject({
      content: { offerThroughput: 500 },
    })
  })

  test('an autoscale offer is made by maxThroughput', async () => {
    const container = await interop.container({ maxThroughput: 4000 })
    const { resource } = await container.readOffer()
    expect(resource).toMatchObject({
      content: { offerAutopilotSettings: { maxThroughput: 4000 } },
    })
  })

  test('the offer of a deleted container is gone', async () => {
    const container = await interop.container()
    const { resource } = await container.readOffer()
    const { id } = resource as unknown as OfferBody
    await container.delete()
    expect((await refusal(interop.client.offer(id).read())).code).toBe(404)
  })
})

describe('Partition key ranges', () => {
  test.each([
    [400, 1],
    [10_000, 1],
    [10_100, 2],
    [11_000, 2],
    [20_000, 2],
    [25_100, 3],
  ])('ST-7 %d RU/s make %d ranges that cover all keys', async (throughput, count) => {
    const ranges = await rangesOf(await interop.container({ throughput }))
    expect(ranges).toHaveLength(count)
    expect(ranges[0]?.minInclusive).toBe('')
    expect(ranges.at(-1)?.maxExclusive).toBe('FF')
    for (const [index, { minInclusive }] of ranges.entries()) {
      if (index > 0) expect(minInclusive).toBe(ranges[index - 1]?.maxExclusive)
    }
  })

  test('autoscale counts its maximum', async () => {
    const container = await interop.container({ maxThroughput: 30_000 })
    expect(await rangesOf(container)).toHaveLength(3)
  })

  test('ST-7 a range has id, bounds, _rid, _etag, _self, _ts, parents and status', async () => {
    const [range] = await rangesOf(await interop.container())
    expect(range).toMatchObject({
      id: '0',
      minInclusive: '',
      maxExclusive: 'FF',
      parents: [],
      status: 'online',
      _rid: expect.any(String),
      _etag: expect.any(String),
      _self: expect.any(String),
      _ts: expect.any(Number),
    })
  })

  test('getFeedRanges gives the intervals of the ranges', async () => {
    const container = await interop.container({ throughput: 20_000 })
    const feedRanges = await container.getFeedRanges()
    const ranges = await rangesOf(container)
    const bounds = ({ minInclusive, maxExclusive }: FeedRange) => [minInclusive, maxExclusive]
    expect(feedRanges.map(bounds)).toEqual(ranges.map((range) => bounds(range as FeedRange)))
  })

  test('the list comes in pages where the client asks for few', async () => {
    const container = await interop.container({ throughput: 30_000 })
    const { items } = await pagesOf(container.readPartitionKeyRanges({ maxItemCount: 1 }))
    expect(items).toHaveLength(3)
  })

  test('read incrementally the list is 304 until a range splits', async () => {
    const container = await interop.container()
    const path = `${pathOf(container)}/pkranges`
    const first = await interop.send({ path, headers: { 'a-im': 'Incremental feed' } })
    const etag = first.headers.get('etag') ?? ''
    expect(etag).not.toBe('')
    const headers = { 'a-im': 'Incremental feed', 'if-none-match': etag }
    expect((await interop.send({ path, headers })).status).toBe(304)
    await interop.split(container, '0')
    const changed = await interop.send({ path, headers })
    expect([changed.status, changed.json?.['_count']]).toEqual([200, 2])
  })

  test('a split gives children with new ids that name their parent', async () => {
    const container = await interop.container()
    await interop.split(container, '0')
    const ranges = await rangesOf(container)
    expect(ranges.map(({ id }) => id)).not.toContain('0')
    for (const { parents } of ranges) expect(parents).toEqual(['0'])
  })

  test('ST-9 raising the offer splits, and every document is still read', async () => {
    const container = await interop.container({ throughput: 400 })
    for (let n = 0; n < 20; n++) await container.items.create({ id: `d${n}`, pk: `p${n}` })
    await raise(container, 20_000)
    expect(await rangesOf(container)).toHaveLength(2)
    for (let n = 0; n < 20; n++) {
      expect((await container.item(`d${n}`, `p${n}`).read()).statusCode).toBe(200)
    }
    const { resources } = await container.items.readAll().fetchAll()
    expect(sortedIds(resources)).toEqual(Array.from({ length: 20 }, (_, n) => `d${n}`).toSorted())
  })

  test('lowering the offer never merges', async () => {
    const container = await interop.container({ throughput: 20_000 })
    await raise(container, 400)
    expect(await rangesOf(container)).toHaveLength(2)
  })

  test('a client that has the old list in its hand goes on after a split', async () => {
    const container = await interop.container()
    for (const pk of ['x', 'y', 'z']) await container.items.create({ id: 'a', pk })
    await container.items.bulk([{ operationType: 'Read', id: 'a', partitionKey: 'x' }])
    await interop.split(container, '0')
    const bulk = await container.items.bulk([
      { operationType: 'Read', id: 'a', partitionKey: 'x' },
      { operationType: 'Create', resourceBody: { id: 'b', pk: 'y' } },
    ])
    expect(bulk.map(({ statusCode }) => statusCode)).toEqual([200, 201])
  })

  test('a range that is gone is 410 with substatus 1002', async () => {
    const container = await interop.container()
    await interop.split(container, '0')
    const { status, headers } = await interop.send({
      path: `${pathOf(container)}/docs`,
      headers: { 'a-im': 'Incremental feed', 'x-ms-documentdb-partitionkeyrangeid': '0' },
    })
    expect([status, headers.get('x-ms-substatus')]).toEqual([410, '1002'])
  })

  test('a range id that never was is 410, one that is no id is 400', async () => {
    const container = await interop.container()
    const statusOf = async (id: string) => {
      const headers = { 'a-im': 'Incremental feed', 'x-ms-documentdb-partitionkeyrangeid': id }
      return (await interop.send({ path: `${pathOf(container)}/docs`, headers })).status
    }
    expect([await statusOf('77'), await statusOf('nonsense')]).toEqual([410, 400])
  })

  test('keys of hash version 1 and 2 lie in the range of their hash', async () => {
    const { json: v2 } = await rangeOfKey({ paths: ['/pk'], version: 2 }, 'a')
    const { json: v1 } = await rangeOfKey({ paths: ['/pk'] }, 'a')
    expect([v2, v1]).toEqual(['3A5381E1114EB8D3FCC90795045B49B7', '05C1D78593652C086200'])
  })
})

/** Narrows a feed to exactly one EPK: found only if the gateway hashes as the service does. */
async function rangeOfKey(
  partitionKey: { readonly paths: string[]; readonly version?: number },
  pk: string,
): Promise<{ readonly json: string | undefined }> {
  const container = await interop.container({ partitionKey })
  await container.items.create({ id: 'a', pk })
  for (const epk of ['3A5381E1114EB8D3FCC90795045B49B7', '05C1D78593652C086200']) {
    const { status } = await interop.send({
      path: `${pathOf(container)}/docs`,
      headers: {
        'a-im': 'Incremental feed',
        'x-ms-documentdb-partitionkeyrangeid': '0',
        'x-ms-read-key-type': 'EffectivePartitionKeyRange',
        'x-ms-start-epk': epk,
        'x-ms-end-epk': `${epk}00`,
      },
    })
    if (status === 200) return { json: epk }
  }
  return { json: undefined }
}
