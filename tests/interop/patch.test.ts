import type { Container, PatchOperation, PatchRequestBody } from '@azure/cosmos'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openInterop, pathOf, refusal, type Interop } from './interop.fixture.ts'

let interop: Interop
let container: Container
beforeAll(async () => {
  interop = await openInterop()
  container = await interop.container()
})
afterAll(() => interop.close())

const START = {
  id: 'a',
  pk: 'x',
  n: 1,
  text: 'word',
  list: [1, 2, 3],
  nested: { deep: { value: true } },
}
beforeEach(async () => {
  await container.items.upsert(START)
})

type Doc = Record<string, unknown>

/** The document after a patch, without the system's properties. */
async function patched(body: PatchRequestBody): Promise<Doc> {
  const { statusCode, resource } = await container.item('a', 'x').patch<Doc>(body)
  expect(statusCode).toBe(200)
  return own(resource)
}

function own(resource: Doc | undefined): Doc {
  return Object.fromEntries(
    Object.entries(resource ?? {}).filter(([name]) => !name.startsWith('_')),
  )
}

/** The refusal of a patch that changed nothing. */
async function refused(body: unknown): Promise<number> {
  const { code } = await refusal(container.item('a', 'x').patch(body as PatchRequestBody))
  const { resource } = await container.item('a', 'x').read<Doc>()
  expect(own(resource)).toEqual(START)
  return Number(code)
}

const op = (operation: object): PatchOperation[] => [operation as PatchOperation]

describe('Patch: operations', () => {
  test('add makes a property', async () => {
    const { extra } = await patched(op({ op: 'add', path: '/extra', value: { x: 1 } }))
    expect(extra).toEqual({ x: 1 })
  })

  test('add replaces a property that is there', async () => {
    expect((await patched(op({ op: 'add', path: '/text', value: 'new' })))['text']).toBe('new')
  })

  test('add inserts into a list at an index, and appends at "-"', async () => {
    const insert = await patched(op({ op: 'add', path: '/list/1', value: 9 }))
    expect(insert['list']).toEqual([1, 9, 2, 3])
    const append = await patched(op({ op: 'add', path: '/list/-', value: 8 }))
    expect(append['list']).toEqual([1, 9, 2, 3, 8])
  })

  test('add at the length of a list appends', async () => {
    expect((await patched(op({ op: 'add', path: '/list/3', value: 4 })))['list']).toEqual([
      1, 2, 3, 4,
    ])
  })

  test('set makes a property, replaces one, and overwrites in a list', async () => {
    const result = await patched([
      { op: 'set', path: '/fresh', value: null },
      { op: 'set', path: '/text', value: 'set' },
      { op: 'set', path: '/list/1', value: 'two' },
    ])
    expect(result).toMatchObject({ fresh: null, text: 'set', list: [1, 'two', 3] })
  })

  test('replace changes a property that is there', async () => {
    const result = await patched(op({ op: 'replace', path: '/nested/deep/value', value: [] }))
    expect(result['nested']).toEqual({ deep: { value: [] } })
  })

  test('remove takes a property away, and closes the gap in a list', async () => {
    const result = await patched([
      { op: 'remove', path: '/text' },
      { op: 'remove', path: '/list/0' },
    ])
    expect(result).not.toHaveProperty('text')
    expect(result['list']).toEqual([2, 3])
  })

  test('incr adds to a number, also a fraction and a negative one', async () => {
    expect((await patched(op({ op: 'incr', path: '/n', value: 5 })))['n']).toBe(6)
    expect((await patched(op({ op: 'incr', path: '/n', value: -2.5 })))['n']).toBe(3.5)
  })

  test('incr makes a property that is not there', async () => {
    expect((await patched(op({ op: 'incr', path: '/counter', value: 3 })))['counter']).toBe(3)
  })

  test('move takes a value to another place', async () => {
    const result = await patched(op({ op: 'move', from: '/nested/deep', path: '/moved' }))
    expect(result).toMatchObject({ nested: {}, moved: { value: true } })
  })

  test('operations work one after the other', async () => {
    const result = await patched([
      { op: 'add', path: '/box', value: {} },
      { op: 'add', path: '/box/inner', value: 1 },
      { op: 'incr', path: '/box/inner', value: 1 },
    ])
    expect(result['box']).toEqual({ inner: 2 })
  })

  test('ten operations are taken', async () => {
    const ten = Array.from({ length: 10 }, () => op({ op: 'incr', path: '/n', value: 1 })[0]!)
    expect((await patched(ten))['n']).toBe(11)
  })

  test('a patch changes the etag, and is in the document that is read', async () => {
    const before = await container.item('a', 'x').read()
    const after = await container.item('a', 'x').patch(op({ op: 'set', path: '/n', value: 2 }))
    expect(after.etag).not.toBe(before.etag)
    expect((await container.item('a', 'x').read()).resource).toEqual(after.resource)
  })
})

describe('Patch: refusals', () => {
  test.each([
    ['replace of what is not there', { op: 'replace', path: '/none', value: 1 }],
    ['remove of what is not there', { op: 'remove', path: '/none' }],
    ['incr of a text', { op: 'incr', path: '/text', value: 1 }],
    ['incr by a text', { op: 'incr', path: '/n', value: '1' }],
    ['move of what is not there', { op: 'move', from: '/none', path: '/x' }],
    ['add below what is not there', { op: 'add', path: '/none/below', value: 1 }],
    ['an index behind the end of a list', { op: 'add', path: '/list/7', value: 1 }],
    ['set behind the end of a list', { op: 'set', path: '/list/7', value: 1 }],
    ['a path without slash', { op: 'set', path: 'n', value: 1 }],
    ['an unknown operation', { op: 'test', path: '/n', value: 1 }],
    ['an operation without path', { op: 'set', value: 1 }],
    ['a change of the id', { op: 'set', path: '/id', value: 'b' }],
    ['a change of the partition key', { op: 'set', path: '/pk', value: 'y' }],
    ['a removal of the partition key', { op: 'remove', path: '/pk' }],
    ['a change of _etag', { op: 'set', path: '/_etag', value: '"x"' }],
    ['a change of _ts', { op: 'set', path: '/_ts', value: 1 }],
    ['a change of _rid', { op: 'replace', path: '/_rid', value: 'x' }],
  ])('%s is 400 and changes nothing', async (_, operation) => {
    expect(await refused([operation])).toBe(400)
  })

  test('one bad operation among good ones undoes all', async () => {
    const body = [
      { op: 'set', path: '/n', value: 100 },
      { op: 'remove', path: '/none' },
    ]
    expect(await refused(body)).toBe(400)
  })

  test('eleven operations are 400', async () => {
    const eleven = Array.from({ length: 11 }, () => ({ op: 'incr', path: '/n', value: 1 }))
    expect(await refused(eleven)).toBe(400)
  })

  test('no operation at all is 400', async () => {
    expect(await refused([])).toBe(400)
  })

  test('a patch of a document that is not there is 404', async () => {
    const call = container.item('none', 'x').patch(op({ op: 'set', path: '/n', value: 1 }))
    expect((await refusal(call)).code).toBe(404)
  })

  test.each([['"text"'], ['{}'], ['{"operations":5}'], ['[5]'], ['{"operations":['], ['']])(
    'the body %s is 400',
    async (body) => {
      const { status } = await interop.send({
        method: 'PATCH',
        path: `${pathOf(container)}/docs/a`,
        headers: { 'x-ms-documentdb-partitionkey': '["x"]' },
        body,
      })
      expect(status).toBe(400)
    },
  )
})

describe('Patch: conditions', () => {
  const operations: PatchOperation[] = [{ op: 'set', path: '/n', value: 50 }]

  test.each([
    'from c where c.n = 1',
    'FROM c WHERE c.n < 5 AND c.text = "word"',
    "from c where c.text IN ('other', 'word')",
    'from root where IS_DEFINED(root.nested.deep)',
    'from c where ARRAY_CONTAINS(c.list, 2)',
    'from c where c.nested.deep.value',
  ])('%s is met', async (condition) => {
    expect((await patched({ condition, operations }))['n']).toBe(50)
  })

  test.each([
    'from c where c.n = 2',
    'from c where NOT IS_DEFINED(c.n)',
    'from c where c.none > 1',
  ])('%s is not met: 412, and nothing changes', async (condition) => {
    expect(await refused({ condition, operations })).toBe(412)
  })

  test.each(['from c where', 'where', 'SELECT', 'from c where c.n ==== 1'])(
    'a condition that cannot be read, %s, is 400',
    async (condition) => {
      expect(await refused({ condition, operations })).toBe(400)
    },
  )

  test('If-Match with an old etag is 412, with the present one 200', async () => {
    const { etag } = await container.item('a', 'x').read()
    const options = (condition: string) => ({ accessCondition: { type: 'IfMatch', condition } })
    const item = container.item('a', 'x')
    expect((await refusal(item.patch(operations, options('"old"')))).code).toBe(412)
    expect((await item.patch(operations, options(etag))).statusCode).toBe(200)
  })
})
