import type { AnswerHeader } from '@tidemark/contracts/internal'
import { expect, test } from 'vitest'
import { readInPages, type PartitionPage } from './read-partition.ts'

const page = (second: number, ...versions: readonly string[]): PartitionPage => {
  const header: AnswerHeader = (name) =>
    name === 'date' ? `Fri, 02 Jan 2026 03:04:0${second} GMT` : undefined
  return { items: versions.map((_etag, n) => ({ id: `${second}${n}`, _etag })), header }
}

/** What one read after the other finds, page by page. */
async function read(...finds: readonly (readonly PartitionPage[])[]) {
  let reads = 0
  const pages = () => {
    const found = finds[Math.min(reads++, finds.length - 1)] ?? []
    return (async function* () {
      yield* found
    })()
  }
  const { documents, serverTimeMs } = await readInPages('leases', pages)
  return { reads, etags: documents.map(({ _etag }) => _etag), serverTimeMs }
}

test('one page is a snapshot, several are one when two reads in a row found the same', async () => {
  expect(await read([page(0, 'a', 'b')])).toMatchObject({ reads: 1, etags: ['a', 'b'] })
  const torn = [page(0, 'a'), page(1, 'b')]
  const moved = [page(0, 'c'), page(1, 'b')]
  expect(await read(torn, moved, moved)).toMatchObject({ reads: 3, etags: ['c', 'b'] })
  const always = Array.from({ length: 20 }, (_, n) => [page(0, `${n}`), page(1, 'b')])
  await expect(read(...always)).rejects.toMatchObject({ code: 'ERR_STORE_UNAVAILABLE' })
})

test('the time of a snapshot is that of its first page: no document is taken for older than it is', async () => {
  const found = [page(3, 'a'), page(5, 'b')]
  expect((await read(found, found)).serverTimeMs).toBe(Date.UTC(2026, 0, 2, 3, 4, 3))
})
