import { ChangeFeedStartFrom, type Container } from '@azure/cosmos'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { drain, openInterop, refusal, type Interop } from './interop.fixture.ts'

let interop: Interop
beforeAll(async () => {
  interop = await openInterop()
})
afterAll(() => interop.close())

const isThere = async (container: Container, id: string): Promise<boolean> =>
  (await container.item(id, 'x').read()).statusCode === 200

describe('Time to live', () => {
  test.each([
    [undefined, 5, 'never'],
    [undefined, undefined, 'never'],
    [-1, undefined, 'never'],
    [-1, -1, 'never'],
    [-1, 5, 'after its own time'],
    [5, undefined, "after the container's time"],
    [5, -1, 'never'],
    [3600, 5, 'after its own time'],
    [5, 3600, 'not before its own time'],
  ])('TTL-3 with defaultTtl %s a document of ttl %s expires %s', async (defaultTtl, ttl, when) => {
    const container = await interop.container(defaultTtl === undefined ? {} : { defaultTtl })
    await container.items.create({ id: 'a', pk: 'x', ...(ttl !== undefined && { ttl }) })
    interop.clock.step(4_000)
    expect(await isThere(container, 'a')).toBe(true)
    interop.clock.step(3_000)
    expect(await isThere(container, 'a')).toBe(!when.startsWith('after'))
  })

  test('TTL-4 what has expired is in no read, query, feed, list or batch', async () => {
    const container = await interop.container({ defaultTtl: -1 })
    await container.items.create({ id: 'a', pk: 'x', ttl: 5 })
    await container.items.create({ id: 'b', pk: 'x' })
    interop.clock.step(6_000)
    const ids = (items: readonly { id?: string }[]) => items.map(({ id }) => id)
    expect((await container.item('a', 'x').read()).statusCode).toBe(404)
    expect(
      ids((await container.items.query('SELECT * FROM c WHERE true').fetchAll()).resources),
    ).toEqual(['b'])
    expect(
      (await container.items.query('SELECT VALUE COUNT(1) FROM c').fetchAll()).resources,
    ).toEqual([1])
    expect(ids((await container.items.readAll().fetchAll()).resources)).toEqual(['b'])
    const feed = container.items.getChangeFeedIterator<{ id: string }>({
      changeFeedStartFrom: ChangeFeedStartFrom.Beginning(),
    })
    expect(ids(await drain(feed))).toEqual(['b'])
    const { result } = await container.items.batch([{ operationType: 'Read', id: 'a' }], 'x')
    expect(result?.[0]?.statusCode).toBe(404)
  })

  test('an upsert over an expired document is a create', async () => {
    const container = await interop.container({ defaultTtl: 5 })
    await container.items.create({ id: 'a', pk: 'x' })
    interop.clock.step(6_000)
    expect((await container.items.upsert({ id: 'a', pk: 'x' })).statusCode).toBe(201)
  })

  test.each([0, -2, 1.5, '5', null, true, 2_147_483_648])(
    'TTL-9 a ttl of %j is 400 while the container has a defaultTtl',
    async (ttl) => {
      const container = await interop.container({ defaultTtl: -1 })
      const error = await refusal(container.items.create({ id: 'a', pk: 'x', ttl: ttl as number }))
      expect(error.code).toBe(400)
      expect(error.message).toContain('ttl')
    },
  )

  // The service's message for such values, in reports of users (MicrosoftDocs/azure-docs 107151 and others), does not
  // depend on the container; its documentation allows -1 and 1 to 2147483647.
  test.each([-10, 0, 1.5, 'x', null, 2_147_483_648])(
    'a ttl of %j is 400 without a defaultTtl, too, in every kind of write',
    async (ttl) => {
      const container = await interop.container()
      const odd = { id: 'odd', pk: 'x', ttl: ttl as number }
      await container.items.create({ id: 'a', pk: 'x', ttl: 5 })
      const item = container.item('a', 'x')
      for (const call of [
        () => container.items.create(odd),
        () => container.items.upsert({ ...odd, id: 'a' }),
        () => item.replace({ ...odd, id: 'a' }),
        () => item.patch([{ op: 'set', path: '/ttl', value: ttl }]),
        () =>
          item.patch([
            { op: 'set', path: '/ttl', value: 7 },
            { op: 'set', path: '/ttl', value: ttl },
          ]),
      ]) {
        const error = await refusal(call())
        expect(error.code).toBe(400)
        expect(error.message).toContain('ttl')
      }
      const good = { operationType: 'Create', resourceBody: { id: 'good', pk: 'x' } } as const
      const bad = { operationType: 'Create', resourceBody: odd } as const
      const batch = await container.items.batch([good, bad], 'x')
      expect(batch.result?.map(({ statusCode }) => statusCode)).toEqual([424, 400])
      const bulk = await container.items.bulk([good, bad])
      expect(bulk.map(({ statusCode }) => statusCode)).toEqual([201, 400])
      expect(await isThere(container, 'odd')).toBe(false)
      expect((await item.read<{ ttl: number }>()).resource?.ttl).toBe(5)
    },
  )

  test('ttl comes back as it was written, and is in the feed', async () => {
    const container = await interop.container({ defaultTtl: -1 })
    await container.items.create({ id: 'a', pk: 'x', ttl: 60 })
    expect((await container.item('a', 'x').read()).resource).toMatchObject({ ttl: 60 })
    const feed = container.items.getChangeFeedIterator({
      changeFeedStartFrom: ChangeFeedStartFrom.Beginning(),
    })
    expect(await drain(feed)).toMatchObject([{ id: 'a', ttl: 60 }])
  })

  test('TTL-13 a plain client sees no pending deletes, before or after the sweep', async () => {
    const container = await interop.container({ defaultTtl: 5 })
    await container.items.create({ id: 'a', pk: 'x' })
    const feed = container.items.getChangeFeedIterator({
      changeFeedStartFrom: ChangeFeedStartFrom.Beginning(),
    })
    expect(await drain(feed)).toHaveLength(1)
    interop.clock.step(6_000)
    await interop.store.runMaintenance()
    expect(await drain(feed)).toEqual([])
  })
})
