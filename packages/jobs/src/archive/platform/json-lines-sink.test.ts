import { appendFile, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { FULL_RANGE, lsn, type DocumentBody, type FeedRange } from '@tidemark/contracts'
import type { SinkContext } from '../../sync/sink.ts'
import type { ArchivedDocument } from '../archived-document.ts'
import { jsonLinesSink } from './json-lines-sink.ts'
import { readJsonLines } from './read-json-lines.ts'

interface Note extends DocumentBody {
  readonly text: string
}

let folder: string

beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), 'tidemark-jsonl-')), 'not', 'there', 'yet')
})
afterEach(async () => {
  await rm(join(folder, '..', '..', '..'), { recursive: true, force: true })
})

function note(n: number, text = `note ${n}`): ArchivedDocument<Note> {
  const system = { _rid: `rid${n}`, _self: '', _etag: '', _ts: 1, _lsn: n }
  return {
    collectionRid: 'coll',
    id: `n${n}`,
    partitionKey: 'p',
    lsn: lsn(n),
    reason: 'expired',
    expiredAtMs: 5,
    document: { id: `n${n}`, text, ...system },
  }
}

function context(epoch: number, range: FeedRange = FULL_RANGE): SinkContext {
  const fence = { generation: 'g', epoch, lsn: 0 }
  return { source: 'db/notes', job: 'archive', range, fence, signal: new AbortController().signal }
}

async function readAll(): Promise<readonly ArchivedDocument<Note>[]> {
  const all: ArchivedDocument<Note>[] = []
  for await (const archived of readJsonLines<Note>(folder)) all.push(archived)
  return all
}

async function files(): Promise<readonly string[]> {
  return (await readdir(folder)).toSorted()
}

async function lastFile(): Promise<string> {
  return join(folder, (await files()).at(-1) ?? '')
}

describe('jsonLinesSink', () => {
  test('makes its folder, and what it wrote is read back in order, whatever is in it', async () => {
    const sink = jsonLinesSink({ folder })
    const texts = ['plain', 'line\nfeed', 'sep\u2028\u2029arators', '"quotes" \\', '日本', '\u0000']
    const notes = texts.map((text, n) => note(n + 1, text))
    await sink.write(notes.slice(0, 2), context(1))
    await sink.write(notes.slice(2), context(1))
    expect(await readAll()).toEqual(notes)
    expect(await files()).toHaveLength(1)
  })

  test.runIf(process.platform !== 'win32')(
    'what it writes is for its owner only, or for a group, whatever the umask is',
    async () => {
      const umask = process.umask()
      const modes = async (): Promise<readonly number[]> =>
        Promise.all([folder, await lastFile()].map(async (path) => (await stat(path)).mode & 0o777))
      try {
        process.umask(0)
        await jsonLinesSink({ folder }).write([note(1)], context(1))
        expect(await modes()).toEqual([0o700, 0o600])
        process.umask(0o077)
        folder = join(folder, '..', 'shared')
        await jsonLinesSink({ folder, access: 'group' }).write([note(1)], context(1))
        expect(await modes()).toEqual([0o770, 0o640])
      } finally {
        process.umask(umask)
      }
    },
  )

  test('what comes twice is read once, from the same file or another worker’s', async () => {
    const first = jsonLinesSink({ folder })
    await first.write([note(1), note(2)], context(1))
    await first.write([note(2), note(3)], context(1))
    await jsonLinesSink({ folder }).write([note(1), note(3), note(4)], context(2))
    expect((await readAll()).map(({ id }) => id)).toEqual(['n1', 'n2', 'n3', 'n4'])
  })

  test('two versions of one document are two documents', async () => {
    const again = { ...note(1, 'again'), lsn: lsn(9) }
    await jsonLinesSink({ folder }).write([note(1), again], context(1))
    expect((await readAll()).map(({ document }) => document.text)).toEqual(['note 1', 'again'])
  })

  test('each range, owner and process has a file of its own', async () => {
    const low = { minInclusive: '', maxExclusive: '80' }
    const high = { minInclusive: '80', maxExclusive: 'FF' }
    const sink = jsonLinesSink({ folder })
    await Promise.all([
      sink.write([note(1)], context(1, low)),
      sink.write([note(2)], context(1, high)),
      jsonLinesSink({ folder }).write([note(3)], context(1, high)),
    ])
    await sink.write([note(4)], context(2, high))
    await sink.write([note(5)], context(2, high))
    expect(await files()).toHaveLength(4)
    expect((await readAll()).map(({ id }) => id).toSorted()).toEqual(['n1', 'n2', 'n3', 'n4', 'n5'])
  })

  test('a file that is full is followed by another one', async () => {
    const sink = jsonLinesSink({ folder, maxFileBytes: 400 })
    for (let n = 1; n <= 10; n += 1) await sink.write([note(n)], context(1))
    expect((await files()).length).toBeGreaterThan(2)
    expect((await readAll()).map(({ id }) => id)).toEqual(
      Array.from({ length: 10 }, (_, n) => `n${n + 1}`),
    )
  })

  test('torn anywhere by a crash, only what was not acknowledged is missing, and writing goes on', async () => {
    const whole = jsonLinesSink({ folder })
    await whole.write([note(1), note(2)], context(1))
    const path = await lastFile()
    const acknowledged = await readFile(path, 'utf8')
    const unacknowledged = `${JSON.stringify(note(3))}\n`
    await fc.assert(
      fc.asyncProperty(fc.nat(unacknowledged.length), async (length) => {
        await writeFile(path, acknowledged + unacknowledged.slice(0, length))
        const ids = (await readAll()).map(({ id }) => id)
        expect(ids.slice(0, 2)).toEqual(['n1', 'n2'])
        expect(ids.length).toBe(length >= unacknowledged.length - 1 ? 3 : 2)
      }),
    )
    await writeFile(path, acknowledged + unacknowledged.slice(0, 30))
    // Another process, and the one whose file is not as it left it.
    await jsonLinesSink({ folder }).write([note(3)], context(2))
    await whole.write([note(4)], context(1))
    expect((await readAll()).map(({ id }) => id).toSorted()).toEqual(['n1', 'n2', 'n3', 'n4'])
    expect(await files()).toHaveLength(3)
  })

  test('a line that is none, in the middle, is ERR_ARCHIVE_DAMAGED and names file and line', async () => {
    await jsonLinesSink({ folder }).write([note(1)], context(1))
    await appendFile(await lastFile(), '{"broken\n{"id":"x"}\n')
    await expect(readAll()).rejects.toMatchObject({
      code: 'ERR_ARCHIVE_DAMAGED',
      message: expect.stringMatching(/\.jsonl:2 /),
    })
  })

  test('other files of the folder are left alone', async () => {
    await jsonLinesSink({ folder }).write([note(1)], context(1))
    await writeFile(join(folder, 'README.txt'), 'mine')
    expect(await readAll()).toHaveLength(1)
  })

  test('verify finds what was written as it was given, and nothing else', async () => {
    const sink = jsonLinesSink({ folder })
    await sink.write([note(1), note(2)], context(1))
    expect(await sink.verify([note(1), note(2), note(3)], context(1))).toEqual([true, true, false])
    expect(await sink.verify([note(1, 'other')], context(1))).toEqual([false])
    const path = await lastFile()
    await writeFile(path, (await readFile(path, 'utf8')).replace('note 2', 'note X'))
    expect(await sink.verify([note(1), note(2)], context(1))).toEqual([true, false])
  })

  test('a write that is aborted before it begins writes nothing', async () => {
    const signal = AbortSignal.abort(new Error('lost'))
    const sink = jsonLinesSink({ folder })
    await expect(sink.write([note(1)], { ...context(1), signal })).rejects.toThrow('lost')
    await sink.write([note(2)], context(1))
    expect((await readAll()).map(({ id }) => id)).toEqual(['n2'])
  })

  test('a folder that cannot be made is an error each time, and no more once it can', async () => {
    await mkdirFile(join(folder, '..', '..'))
    const sink = jsonLinesSink({ folder })
    await expect(sink.write([note(1)], context(1))).rejects.toMatchObject({ code: 'ENOTDIR' })
    await rm(join(folder, '..', '..'))
    await sink.write([note(1)], context(1))
    expect(await readAll()).toHaveLength(1)
  })

  test.runIf(process.platform === 'linux')(
    'a folder that the system has no room for is an error',
    async () => {
      const sink = jsonLinesSink({ folder: '/proc/tidemark/archive' })
      await expect(sink.write([note(1)], context(1))).rejects.toMatchObject({ code: 'ENOENT' })
    },
  )

  test('options that cannot be are ERR_INVALID_OPTION', () => {
    for (const options of [{ folder: '' }, { folder, maxFileBytes: 0 }]) {
      expect(() => jsonLinesSink(options)).toThrow(
        expect.objectContaining({ code: 'ERR_INVALID_OPTION' }),
      )
    }
  })
})

/** A file where a folder should be. */
async function mkdirFile(path: string): Promise<void> {
  await writeFile(path, '')
}
