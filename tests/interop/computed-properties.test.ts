import type { Container } from '@azure/cosmos'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openInterop, refusal, type Interop } from './interop.fixture.ts'

let interop: Interop
beforeAll(async () => {
  interop = await openInterop()
})
afterAll(() => interop.close())

const NAME = { name: 'lowerName', query: 'SELECT VALUE LOWER(c.name) FROM c' }
const FULL = { name: 'full', query: "SELECT VALUE CONCAT(c.name, ' ', c.surname) FROM c" }

async function filled(): Promise<Container> {
  const container = await interop.container({
    computedProperties: [NAME, FULL],
    throughput: 20_000,
  })
  await container.items.create({ id: 'a', pk: 'a', name: 'ANN', surname: 'Lee' })
  await container.items.create({ id: 'b', pk: 'b', name: 'Bob' })
  return container
}

describe('Queries: computed properties', () => {
  test('are selected, filtered and sorted by, over all ranges', async () => {
    const { items } = await filled()
    const text = 'SELECT c.id, c.lowerName, c.full FROM c ORDER BY c.lowerName DESC'
    expect((await items.query(text).fetchAll()).resources).toEqual([
      { id: 'b', lowerName: 'bob' },
      { id: 'a', lowerName: 'ann', full: 'ANN Lee' },
    ])
    const found = items.query("SELECT VALUE c.id FROM c WHERE c.lowerName = 'ann'")
    expect((await found.fetchAll()).resources).toEqual(['a'])
  })

  test('one named as the partition key narrows no query to what is stored under that name', async () => {
    const container = await interop.container({
      computedProperties: [{ name: 'pk', query: 'SELECT VALUE LOWER(c.name) FROM c' }],
      throughput: 20_000,
    })
    await container.items.create({ id: 'a', pk: 'A', name: 'ANN' })
    const { resources } = await container.items
      .query("SELECT VALUE c.id FROM c WHERE c.pk = 'ann'")
      .fetchAll()
    expect(resources).toEqual(['a'])
  })

  test('are in no document, read or selected as a whole', async () => {
    const container = await filled()
    expect((await container.item('a', 'a').read()).resource).not.toHaveProperty('lowerName')
    const whole = container.items.query('SELECT * FROM c WHERE IS_DEFINED(c.lowerName)')
    const { resources } = await whole.fetchAll()
    expect(resources).toHaveLength(2)
    for (const resource of resources) expect(resource).not.toHaveProperty('lowerName')
  })

  test('change with the definition of the container', async () => {
    const container = await filled()
    const { resource: definition } = await container.read()
    await container.replace({
      ...definition!,
      computedProperties: [{ name: 'lowerName', query: 'SELECT VALUE LENGTH(c.name) FROM c' }],
    })
    const query = container.items.query('SELECT c.lowerName, c.full FROM c WHERE c.id = "a"')
    expect((await query.fetchAll()).resources).toEqual([{ lowerName: 3 }])
  })

  test('one that is not supported is 400 with its name, where a query asks for it', async () => {
    const { items } = await interop.container({
      computedProperties: [{ name: 'bad', query: 'SELECT VALUE RegexMatch(c.a, "x") FROM c' }],
    })
    await items.create({ id: 'a', pk: 'a' })
    const refused = await refusal(items.query('SELECT c.bad FROM c').fetchAll())
    expect(refused.code).toBe(400)
    expect(refused.message).toContain("'bad'")
    expect((await items.query('SELECT VALUE c.id FROM c').fetchAll()).resources).toEqual(['a'])
  })
})
