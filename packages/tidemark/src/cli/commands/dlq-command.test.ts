import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { FULL_RANGE, lsn, type DeadLetter } from '@tidemark/contracts'
import {
  ChangeFeedProcessorHost,
  DocumentLeaseStore,
  openDeadLetters,
  openStore,
  type Store,
} from '../../index.ts'
import { jsonLines, tidemark } from './command-runner.child.ts'

let folder: string
let store: Store

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-dlq-'))
  store = await openStore({
    folder: join(folder, 'data'),
    durability: 'relaxed',
    maintenance: 'manual',
  })
  await store.database('shop').createCollectionIfNotExists({ id: 'orders', partitionKey: '/id' })
})
afterEach(async () => {
  await store.close()
  await rm(folder, { recursive: true, force: true })
})

const dlq = (command: string, ...args: readonly string[]) =>
  tidemark('dlq', command, 'shop/orders', ...args, '--store', join(folder, 'data'))

function letter(n: number, group = 'mirror'): DeadLetter {
  const id = `o${n}`
  return {
    id: `letter-${group}-${n}`,
    group,
    feed: 'f',
    range: FULL_RANGE,
    lsn: lsn(n),
    change: {
      kind: 'document',
      id,
      partitionKey: id,
      lsn: lsn(n),
      committedAtMs: 0,
      document: { id, _rid: 'r', _self: 's', _etag: '"1"', _ts: 1, _lsn: n },
    },
    error: { name: 'TypeError', message: 'poison\nin two lines', stack: 'at somewhere' },
    attempts: 5,
    hostName: 'worker-1',
    failedAtMs: Date.UTC(2026, 0, 31, 9),
  }
}

async function put(...letters: readonly DeadLetter[]): Promise<void> {
  const sink = await openDeadLetters(store.database('shop'), 'orders')
  for (const one of letters) await sink.put(one)
}

const states = async (): Promise<unknown> =>
  jsonLines((await dlq('ls', '--json')).output).map(({ id, state }) => [id, state])

test('PH-7 ls lists letters, show prints one with its change', async () => {
  await put(letter(2), letter(1), letter(3, 'other'))
  const table = await dlq('ls')
  expect(table.code).toBe(0)
  const [heading, ...rows] = table.output.trimEnd().split('\n')
  expect(heading).toMatch(
    /^ID +GROUP +STATE +LSN +KIND +DOCUMENT +KEY +TRIES +SENT BACK +FAILED +ERROR$/,
  )
  expect(rows).toHaveLength(3)
  expect(rows[0]).toMatch(
    /^letter-mirror-1 +mirror +kept +1 +document +o1 +\["o1"\] +5 +0 +2026-01-31T09:00:00.000Z +TypeError: poison in two lines$/,
  )
  const message = `poison ${'x'.repeat(150)} end`
  await put({ ...letter(4, 'third'), error: { name: 'TypeError', message } })
  expect((await dlq('ls', '--group', 'third')).output).toContain(`TypeError: ${message}\n`)
  const only = await dlq('ls', '--group', 'mirror', '--limit', '1')
  expect(only.output).toContain('… and more')
  expect(only.output).not.toContain('letter-mirror-2')
  const shown = await dlq('show', 'letter-mirror-1')
  expect(JSON.parse(shown.output)).toEqual(letter(1))
})

test('redrive sends letters back by id or all, drop removes them, and both name what is not there', async () => {
  await put(letter(1), letter(2), letter(3))
  expect(await dlq('redrive', 'letter-mirror-1')).toEqual({
    code: 0,
    output: 'redriven: 1\n',
    errors: '',
  })
  expect(await states()).toEqual([
    ['letter-mirror-1', 'redriven'],
    ['letter-mirror-2', 'kept'],
    ['letter-mirror-3', 'kept'],
  ])
  const partly = await dlq('redrive', 'letter-mirror-2', 'nothing', '--json')
  expect(partly.code).toBe(1)
  expect(jsonLines(partly.output)).toEqual([
    { redriven: ['letter-mirror-2'], missing: ['nothing'] },
  ])
  expect(partly.errors).toBe('tidemark: ERR_NOT_FOUND: no such letters: nothing\n')
  expect((await dlq('redrive', '--all')).output).toBe('redriven: 3\n')
  const refused = await dlq('drop', 'letter-mirror-1')
  expect(refused).toMatchObject({ code: 2, output: '' })
  expect(refused.errors).toContain('--yes')
  expect((await dlq('drop', 'letter-mirror-1', '--yes')).output).toBe('dropped: 1\n')
  expect((await dlq('drop', '--all', '--yes')).output).toBe('dropped: 2\n')
  expect((await dlq('ls')).output).toBe('no dead letters\n')
})

test('PH-7 from a poison document to the mended observer: one letter, sent back, accepted, gone', async () => {
  const shop = store.database('shop')
  const orders = shop.collection('orders')
  for (const id of ['good', 'poison', 'better']) await orders.upsert({ id })
  let isMended = false
  const done: (readonly [string, boolean])[] = []
  const host = new ChangeFeedProcessorHost({
    hostName: 'worker-1',
    group: 'mirror',
    feed: orders,
    leases: new DocumentLeaseStore(shop.collection('leases')),
    deadLetters: await openDeadLetters(shop, 'orders', { redriveCacheMs: 50 }),
    feedOptions: { startFromBeginning: true },
    hostOptions: {
      failurePolicy: { mode: 'deadLetter', maxAttempts: 2 },
      retryDelayMs: 1,
      redrivePollMs: 50,
    },
  })
  await host.registerObserver({
    processChanges: ({ redriven }, changes) => {
      const isPoisoned = changes.some(({ id }) => id === 'poison')
      if (isPoisoned && !isMended) throw new TypeError('poison')
      done.push(...changes.map(({ id }) => [id, redriven] as const))
    },
  })
  await expect.poll(() => done.map(([id]) => id)).toEqual(['good', 'better'])
  const listed = jsonLines((await dlq('ls', '--json')).output)
  expect(listed).toMatchObject([
    { documentId: 'poison', state: 'kept', error: { name: 'TypeError', message: 'poison' } },
  ])
  isMended = true
  expect((await dlq('redrive', '--all')).code).toBe(0)
  await expect.poll(() => done.at(-1)).toEqual(['poison', true])
  await expect.poll(states).toEqual([])
  await host.unregisterObservers()
  expect(done).toHaveLength(3)
})

test('ls of a collection whose groups never had a dead letter says so; of one that is missing it fails', async () => {
  const data = join(folder, 'data')
  expect(await dlq('ls')).toMatchObject({ code: 0, output: 'no dead letters\n', errors: '' })
  expect(await dlq('ls', '--json')).toMatchObject({ code: 0, output: '' })
  for (const wrong of [
    ['shop/order'],
    ['shop/orders', '--dead-letters', 'shop/letters'],
    ['nothing/orders'],
  ]) {
    const { code, errors } = await tidemark('dlq', 'ls', ...wrong, '--store', data)
    expect({ wrong, code, errors }).toMatchObject({
      code: 1,
      errors: expect.stringMatching(/^tidemark: ERR_NOT_FOUND: /),
    })
  }
  expect(await store.database('shop').listCollections()).toHaveLength(1)
})

test('what is wrong has its code and changes nothing', async () => {
  expect((await dlq('show', 'x')).errors).toMatch(/^tidemark: ERR_NOT_FOUND: .*orders-deadletters/)
  await put(letter(1), letter(2, 'other'))
  const failing: readonly (readonly [readonly string[], string])[] = [
    [['show', 'nothing'], 'ERR_NOT_FOUND'],
    [['redrive', '--all'], 'ERR_INVALID_OPTION'],
    [['drop', '--all', '--yes'], 'ERR_INVALID_OPTION'],
    [['ls', '--dead-letters', 'shop/orders'], 'ERR_INVALID_OPTION'],
  ]
  for (const [[command = '', ...args], code] of failing) {
    const ended = await dlq(command, ...args)
    expect({ command, ...ended }).toMatchObject({ code: 1, output: '' })
    expect(ended.errors).toMatch(new RegExp(`^tidemark: ${code}: [^\\n]+\\n$`))
  }
  for (const [command = '', ...args] of [
    ['redrive'],
    ['drop', 'x', '--all', '--yes'],
    ['show'],
    ['ls', '--limit', '0'],
  ]) {
    expect({ command, ...(await dlq(command, ...args)) }).toMatchObject({ code: 2, output: '' })
  }
  expect(await states()).toEqual([
    ['letter-mirror-1', 'kept'],
    ['letter-other-2', 'kept'],
  ])
  for (const command of ['ls', 'show', 'redrive', 'drop']) {
    const { code, output } = await tidemark('dlq', command, '--help')
    expect(code).toBe(0)
    expect(output).toContain('Examples:')
  }
})
