import fc from 'fast-check'
import { expect, test } from 'vitest'
import { splitJson, type JsonItem } from './split-json.ts'

test('JSON Lines are cut at line ends, and blank lines count but are no items', async () => {
  await expect(split('{"id":"a"}\n\n  \n{"id":"b"}\r\n{"id":"c"}')).resolves.toEqual([
    { text: '{"id":"a"}', line: 1 },
    { text: '{"id":"b"}\r', line: 4 },
    { text: '{"id":"c"}', line: 5 },
  ])
})

test('an array is cut at the commas between its elements only', async () => {
  const items = await split('\uFEFF\n[\n {"a":"x,]}\\"{", "b":[1,{"c":2}]} ,\n\n 7,"t"\n]\n')
  expect(items).toEqual([
    { text: '{"a":"x,]}\\"{", "b":[1,{"c":2}]}', line: 3 },
    { text: '7', line: 5 },
    { text: '"t"', line: 5 },
  ])
})

test('an empty input, an empty array and an array of nothing have no items', async () => {
  await expect(split('')).resolves.toEqual([])
  await expect(split(' \n ')).resolves.toEqual([])
  await expect(split('[]')).resolves.toEqual([])
  await expect(split(' [ \n ] ')).resolves.toEqual([])
})

test('an object as it is printed for people takes several lines', async () => {
  const documents = [{ id: 'a', k: { n: 1 }, list: [{}, {}] }, { id: 'b' }, { id: 'c' }]
  const [a, b, c] = documents.map((document) => JSON.stringify(document, undefined, 2))
  for (const pieceLength of [1, 7, 1_000]) {
    const items = await split(`${a}\n\n${b}\r\n{"id":"x"}\n${c}`, pieceLength)
    expect(items.map(parsed)).toEqual([documents[0], documents[1], { id: 'x' }, documents[2]])
    expect(items.map(({ line }) => line)).toEqual([1, 12, 15, 16])
  }
})

test('one that does not end is an item that is no JSON, up to the limit', async () => {
  const open = '{"id":"x"}\n{\n  "id": "a"\n{"id":"b"}\n'
  const items = await split(open)
  expect(items.map(({ line }) => line)).toEqual([1, 2])
  await expect(split(`{\n${'  "a": 1,\n'.repeat(20)}`, 10, 50)).rejects.toMatchObject({
    code: 'ERR_INPUT',
  })
})

test('a missing element is an item without text, which is no JSON', async () => {
  await expect(split('[1,,2]')).resolves.toEqual([
    { text: '1', line: 1 },
    { text: '', line: 1 },
    { text: '2', line: 1 },
  ])
})

test('an array that does not end, and one that is followed by something, are errors that name the line', async () => {
  await expect(split('[1,\n2')).rejects.toThrow(/ends inside the array, on line 2/)
  await expect(split('[1]\nx')).rejects.toThrow(/follows the array, on line 2/)
})

test('an item beyond the limit ends the reading instead of filling the memory', async () => {
  const endless = `[{"id":"${'x'.repeat(100)}`
  await expect(split(endless, 10, 50)).rejects.toMatchObject({ code: 'ERR_INPUT' })
  await expect(split('x'.repeat(100), 10, 50)).rejects.toMatchObject({ code: 'ERR_INPUT' })
})

test('what comes out does not depend on how the stream is cut into pieces', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.jsonValue(), { maxLength: 8 }),
      fc.integer({ min: 1, max: 7 }),
      fc.constantFrom(0, 2),
      async (values, pieceLength, indent) => {
        const array = JSON.stringify(values, null, indent)
        const elements = await split(array, pieceLength)
        expect(elements.map(parsed)).toEqual(JSON.parse(array))
        const lines = values.map((value) => JSON.stringify(value)).join('\n')
        if (lines.startsWith('[')) return
        const items = await split(lines, pieceLength)
        expect(items).toEqual(await split(lines))
        expect(items.map(parsed)).toEqual(JSON.parse(array))
        for (const [index, { line }] of items.entries()) expect(line).toBe(index + 1)
      },
    ),
  )
})

async function split(
  text: string,
  pieceLength = Math.max(1, text.length),
  maxItemChars?: number,
): Promise<JsonItem[]> {
  async function* pieces(): AsyncGenerator<string> {
    for (let at = 0; at < text.length; at += pieceLength) yield text.slice(at, at + pieceLength)
  }
  const items: JsonItem[] = []
  for await (const item of splitJson(pieces(), { maxItemChars })) items.push(item)
  return items
}

function parsed({ text }: JsonItem): unknown {
  return JSON.parse(text)
}
