import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Store } from '@tidemark/store'
import { ShiftedClock } from '@tidemark/testing'
import { openStore } from '../../open-store.ts'
import { jsonLines, tidemark } from './command-runner.child.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-ttl-'))
})
afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

/** A store of `agoMs` ago. */
function openAgo(agoMs: number): Promise<Store> {
  const clock = new ShiftedClock(-agoMs)
  return openStore({ folder, durability: 'relaxed', maintenance: 'manual', clock })
}

async function fill(): Promise<void> {
  await using store = await openAgo(3_600_000)
  const sessions = await store.database('shop').createCollectionIfNotExists({
    id: 'sessions',
    partitionKey: '/id',
    defaultTtl: -1,
    pendingDeletes: { retentionSeconds: 7_200, waitFor: ['archive', 'mirror'] },
  })
  const ttls = [60, 120, 3_600 + 30, 3_600 + 1_800, 2 * 86_400, -1]
  for (const [n, ttl] of ttls.entries()) {
    const document = { id: `s${n}`, ttl }
    await sessions.upsert(document)
  }
  const [range] = await sessions.readFeedRanges()
  if (range === undefined) throw new Error('no range')
  const now = await sessions.resolveStart({ range, start: 'now' })
  await sessions.positions.report([{ group: 'archive', range, lsn: now.lsn }])
}

const ttl = (...args: readonly string[]) => tidemark('ttl', ...args, '--store', folder)

test('TTL-12 shows what expires when, what has, and who is waited for; looking changes nothing', async () => {
  await fill()
  const { output, code, errors } = await ttl('shop/sessions', '--json')
  expect({ code, errors }).toEqual({ code: 0, errors: '' })
  const [shown] = jsonLines(output)
  expect(shown).toMatchObject({
    defaultTtl: -1,
    expiring: [
      { withinSeconds: 60, documents: 1 },
      { withinSeconds: 3_600, documents: 2 },
      { withinSeconds: 86_400, documents: 2 },
      { withinSeconds: 604_800, documents: 3 },
    ],
    withExpiry: 3,
    unswept: 2,
    pendingDeletes: 0,
    retentionSeconds: 7_200,
    waitFor: [
      { group: 'archive', positions: [{ range: '-FF', lsn: 6 }] },
      { group: 'mirror', positions: [] },
    ],
  })
  const text = await ttl('show', 'shop/sessions')
  expect(text.output).toMatch(/^default ttl +-1 \(by their own ttl only\)\n/)
  expect(text.output).toMatch(/\nexpire within 1 hour +2\n/)
  expect(text.output).toMatch(/\nnext expiry +in \d+ seconds\n/)
  expect(text.output).toMatch(/\nunswept +2\n/)
  expect(text.output).toMatch(/\nwaits for +archive, mirror\n/)
  expect(text.output).toMatch(/\narchive +0 +6\n/)
})

test('TTL-13 sweep makes pending deletes of what has expired', async () => {
  await fill()
  const swept = await tidemark('ttl', 'sweep', '--store', folder, '--json')
  expect(jsonLines(swept.output)).toMatchObject([{ swept: 2, purged: 0, heldElsewhere: [] }])
  const [shown] = jsonLines((await ttl('shop/sessions', '--json')).output)
  expect(shown).toMatchObject({ unswept: 0, pendingDeletes: 2 })
  const again = await tidemark('ttl', 'sweep', '--store', folder)
  expect(again.output).toMatch(/^swept 0, purged 0, /)
})

test('TTL-8 TTL-18 set changes the default at once: seconds, -1, off', async () => {
  await fill()
  const off = await ttl('set', 'shop/sessions', 'off')
  expect(off).toMatchObject({ code: 0, output: 'default ttl: off\n' })
  const [set] = jsonLines((await ttl('shop/sessions', '--json')).output)
  expect(set).toMatchObject({ defaultTtl: null, isReindexing: true })
  await tidemark('ttl', 'sweep', '--store', folder)
  const [shown] = jsonLines((await ttl('shop/sessions', '--json')).output)
  // What had expired before is gone; of the rest nothing will expire.
  expect(shown).toMatchObject({ defaultTtl: null, withExpiry: 0, unswept: 0, pendingDeletes: 2 })
  expect((await ttl('set', 'shop/sessions', '3600', '--json')).output).toBe('{"defaultTtl":3600}\n')
  const on = await ttl('set', 'shop/sessions', '-1')
  expect(on).toMatchObject({ code: 0, output: 'default ttl: -1\n', errors: '' })
})

test('TTL-9 values that are none, and missing arguments: exit code 2, nothing changes', async () => {
  await fill()
  for (const value of ['0', '-2', '1.5', 'never', '2147483648']) {
    const ended = await ttl('set', 'shop/sessions', value)
    expect({ value, ...ended }).toMatchObject({ code: 2, output: '' })
    expect(ended.errors).toMatch(/^tidemark: ERR_USAGE: /)
  }
  for (const args of [[], ['sessions'], ['set', 'shop/sessions']]) {
    expect({ args, ...(await ttl(...args)) }).toMatchObject({ code: 2, output: '' })
  }
  expect(await ttl('shop/nothing')).toMatchObject({
    code: 1,
    errors: expect.stringMatching(/^tidemark: ERR_NOT_FOUND: /),
  })
  const [shown] = jsonLines((await ttl('shop/sessions', '--json')).output)
  expect(shown).toMatchObject({ defaultTtl: -1 })
})

test('--help of each has examples', async () => {
  for (const command of [[], ['show'], ['set'], ['sweep']]) {
    const { code, output } = await tidemark('ttl', ...command, '--help')
    expect(code).toBe(0)
    expect(output).toContain('Examples:')
  }
})
