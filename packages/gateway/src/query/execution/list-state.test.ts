import { expect, test } from 'vitest'
import { MAX_VALUE_CHARS } from '../limits.ts'
import { rowsOf } from '../query-rows.fixture.ts'

const VALUES = [1, '1', null, [1], { a: 1, b: 2 }, undefined, { b: 2, a: 1 }, 1]

test('MAKELIST keeps values of every kind, MAKESET equal ones once', async () => {
  const documents = VALUES.map((v) => ({ v }))
  expect(await rowsOf('SELECT VALUE MAKELIST(c.v) FROM c', documents)).toEqual([
    VALUES.filter((v) => v !== undefined),
  ])
  expect(await rowsOf('SELECT VALUE MAKESET(c.v) FROM c', documents)).toEqual([
    [1, '1', null, [1], { a: 1, b: 2 }],
  ])
})

test('both count the rows of a subquery, anew for each document', async () => {
  const documents = [{ l: [1, 1, 2] }, { l: [] }, {}]
  const text = 'SELECT VALUE (SELECT VALUE MAKESET(x) FROM x IN c.l) FROM c'
  expect(await rowsOf(text, documents)).toEqual([[1, 2], [], []])
})

test.each(['MAKELIST', 'MAKESET'])(
  'a %s beyond the characters of a row is refused',
  async (name) => {
    const documents = [1, 2, 3].map((n) => ({ v: String(n).repeat(MAX_VALUE_CHARS / 2) }))
    await expect(rowsOf(`SELECT VALUE ${name}(c.v) FROM c`, documents)).rejects.toMatchObject({
      code: 'ERR_BAD_QUERY',
      message: expect.stringContaining('MAKESET'),
    })
  },
)
