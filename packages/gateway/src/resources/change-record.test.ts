import { PreconditionFailedError } from '@tidemark/contracts'
import { Store } from '@tidemark/store'
import { openMemoryEngine } from '@tidemark/testing'
import { expect, test } from 'vitest'
import { testGateway } from '../server/running-gateway.fixture.ts'
import { changeRecord } from './change-record.ts'

/** A record that somebody else changes between the first reads and writes, so often as is said. */
function contested(changes: number) {
  const record = { id: 'r', etag: '"0"' }
  const written: string[] = []
  let reads = 0
  return {
    written,
    read: async () => {
      const found = { ...record }
      if (reads++ < changes) record.etag = `"${reads}"`
      return found
    },
    write: async (before: typeof record) => {
      if (before.etag !== record.etag) throw new PreconditionFailedError('r', 'overtaken')
      written.push(before.etag)
      record.etag = '"mine"'
      return { ...record }
    },
  }
}

test('who is overtaken reads again; under a condition that no longer holds nothing is written', async () => {
  const free = contested(2)
  expect(await changeRecord({ ifMatch: undefined, ...free })).toEqual({ id: 'r', etag: '"mine"' })
  expect(free.written).toEqual(['"2"'])
  const bound = contested(1)
  await expect(changeRecord({ ifMatch: '"0"', ...bound })).rejects.toMatchObject({
    code: 'ERR_PRECONDITION_FAILED',
  })
  expect(bound.written).toEqual([])
  const any = contested(1)
  await changeRecord({ ifMatch: '*', ...any })
  expect(any.written).toEqual(['"1"'])
})

test('who is overtaken for ever is told to come again', async () => {
  const lost = contested(1000)
  await expect(changeRecord({ ifMatch: undefined, ...lost })).rejects.toMatchObject({
    code: 'ERR_WRITE_CONFLICT',
  })
})

test('of two replaces of a container that have both read one etag, one wins', async () => {
  const engine = openMemoryEngine()
  await using store = await Store.open({ engine, maintenance: 'manual' })
  await using started = await testGateway({ store })
  const container = await started.container({ id: 'c', partitionKey: '/pk' })
  const { resource } = await container.read()

  // Neither writes before both have read.
  const database = await engine.openDatabase('db')
  const update = database.updateCollection.bind(database)
  let both = Promise.withResolvers<void>()
  let arrived = 0
  database.updateCollection = async (...change) => {
    arrived++
    if (arrived === 2) both.resolve()
    await both.promise
    return update(...change)
  }
  const accessCondition = { type: 'IfMatch', condition: String(resource?._etag) }
  const results = await Promise.allSettled(
    [1, 2].map((n) => container.replace({ ...resource!, defaultTtl: n }, { accessCondition })),
  )
  expect(arrived).toBe(2)
  expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  const lost = results.find((result) => result.status === 'rejected')
  expect(lost?.reason).toMatchObject({ code: 412 })

  // Without a condition both are done, one after the other, and neither undoes the other's offer.
  arrived = 0
  both = Promise.withResolvers<void>()
  const { offer, resource: body } = await container.readOffer()
  const content = { offerThroughput: 700 }
  await Promise.all([
    offer?.replace({ ...body, content } as never),
    container.replace({ ...resource!, defaultTtl: 77 }),
  ])
  expect(arrived).toBe(3)
  expect((await container.readOffer()).resource).toMatchObject({ content })
  expect((await container.read()).resource).toMatchObject({ defaultTtl: 77 })
})
