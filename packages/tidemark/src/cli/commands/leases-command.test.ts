import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  ChangeFeedProcessorHost,
  DocumentLeaseStore,
  openStore,
  type IChangeFeedObserver,
  type Store,
} from '../../index.ts'
import { runCommand } from '../run-command.ts'
import { jsonLines, tidemark } from './command-runner.child.ts'

const DOCUMENTS = 40

let folder: string
let store: Store

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-leases-'))
  store = await openStore({
    folder: join(folder, 'data'),
    durability: 'relaxed',
    maintenance: 'manual',
  })
  const orders = await store
    .database('shop')
    .createCollectionIfNotExists({ id: 'orders', partitionKey: '/id', partitionCount: 2 })
  for (let n = 0; n < DOCUMENTS; n += 1) await orders.upsert({ id: `o${n}` })
})
afterEach(async () => {
  await store.close()
  await rm(folder, { recursive: true, force: true })
})

const leases = (...args: readonly string[]) =>
  tidemark('leases', ...args, '--store', join(folder, 'data'))

const mirror = (command: string, ...args: readonly string[]) =>
  leases(command, ...args, '--group', 'mirror')

function newHost(observer: IChangeFeedObserver): {
  readonly host: ChangeFeedProcessorHost
  readonly start: () => Promise<void>
} {
  const shop = store.database('shop')
  const host = new ChangeFeedProcessorHost({
    hostName: 'worker-1',
    group: 'mirror',
    feed: shop.collection('orders'),
    leases: new DocumentLeaseStore(shop.collection('leases')),
    feedOptions: { startFromBeginning: true },
  })
  return { host, start: () => host.registerObserver(observer) }
}

/** A host that has seen `times` documents, or is told so by `seen`. */
async function processed(times = DOCUMENTS): Promise<{
  readonly ids: readonly string[]
  readonly until: (count: number) => Promise<void>
  readonly stop: () => Promise<unknown>
}> {
  const ids: string[] = []
  const waiting = new Set<() => void>()
  const { host, start } = newHost({
    processChanges: (_, changes) => {
      ids.push(...changes.map(({ id }) => id))
      for (const wake of waiting) wake()
    },
  })
  await start()
  const until = async (count: number): Promise<void> => {
    while (ids.length < count) {
      await new Promise<void>((resolve) => {
        waiting.add(resolve)
      })
    }
  }
  await until(times)
  return { ids, until, stop: () => host.unregisterObservers() }
}

async function lines(): Promise<readonly Record<string, unknown>[]> {
  return jsonLines((await leases('ls', '--json')).output)
}

const lsns = async (): Promise<readonly number[]> => (await lines()).map(({ lsn }) => Number(lsn))

test('pause --wait ends when no host works any more, ls shows it, and resume lets them go on', async () => {
  const { ids, until, stop } = await processed()
  expect(await mirror('pause', '--wait', '30')).toEqual({
    code: 0,
    output: 'paused\nno host has a lease\n',
    errors: '',
  })
  expect((await mirror('pause')).output).toBe('it was paused already\n')
  expect((await leases('ls')).output).toContain('group mirror is paused\n')
  expect(await lines()).toMatchObject(Array(2).fill({ paused: true, lag: 0 }))
  await store.database('shop').collection('orders').upsert({ id: 'late' })
  expect(ids).toHaveLength(DOCUMENTS)
  expect(await mirror('resume')).toMatchObject({ code: 0, output: 'resumed\n' })
  expect((await mirror('resume')).output).toBe('it was not paused\n')
  await until(DOCUMENTS + 1)
  await stop()
  expect(ids).toHaveLength(DOCUMENTS + 1)
})

test('reset, while a host runs: everything comes once more', async () => {
  const { ids, until, stop } = await processed()
  const { code, output } = await mirror('reset', '--json')
  expect(code).toBe(0)
  expect(jsonLines(output)).toMatchObject(Array(2).fill({ toLsn: 0 }))
  await until(2 * DOCUMENTS)
  await stop()
  expect(new Set(ids.slice(DOCUMENTS)).size).toBe(DOCUMENTS)
})

test('ls shows keys whose lease somebody deleted, and where the group stood there', async () => {
  const { stop } = await processed()
  await stop()
  const documents = store
    .database('shop')
    .collection<{ id: string; partitionKey: string }>('leases')
  const found = (await documents.readDocuments()).documents.filter((one) => 'leaseId' in one)
  expect(found).toHaveLength(2)
  await documents.delete(found[0]!.id, found[0]!.partitionKey)
  expect((await leases('ls')).output).toMatch(/mirror .* MISSING /)
  const shown = await lines()
  expect(shown.filter(({ isMissing }) => isMissing)).toHaveLength(1)
  expect(shown).toHaveLength(2)
  const missing = shown.find(({ isMissing }) => isMissing)
  expect(missing).toMatchObject({ collection: 'shop/orders', lag: 0 })
  expect(Number(missing?.['lsn'])).toBeGreaterThan(0)
})

test('LE-17 a collection that was created again gets nothing of the old group; ls and lag say why, and reset starts it', async () => {
  const { stop } = await processed()
  await stop()
  const shop = store.database('shop')
  await shop.deleteCollection('orders')
  const orders = await shop.createCollectionIfNotExists({
    id: 'orders',
    partitionKey: '/id',
    partitionCount: 2,
  })
  for (let n = 0; n < 10; n += 1) await orders.upsert({ id: `new${n}` })
  const refused = /group "mirror" follows an earlier shop\/orders .*which was dropped.*leases reset/
  await expect(processed()).rejects.toThrow(refused)
  // Nothing of the old one counts as read: pending deletes wait for the group.
  expect(await orders.positions.read('mirror')).toEqual([])
  expect((await leases('ls')).output).toMatch(/follows a collection shop\/orders that is not in/)
  const where = ['--group', 'mirror', '--store', join(folder, 'data')]
  const lagged = await tidemark('lag', 'shop/orders', ...where)
  expect(lagged).toMatchObject({ code: 3, errors: expect.stringMatching(refused) })
  expect(await mirror('seek', '--to', 'beginning', '--range', '0')).toMatchObject({ code: 1 })
  const preview = await mirror('reset', '--dry-run')
  expect(preview).toMatchObject({ code: 0, errors: '' })
  expect(await mirror('reset')).toMatchObject({ code: 0, errors: '' })
  const again = await processed(10)
  await again.stop()
  expect(new Set(again.ids).size).toBe(10)
  expect(await lines()).toMatchObject(Array(2).fill({ isGone: false, lag: 0 }))
})

test('reset gives a group leases again of which somebody deleted all', async () => {
  const { stop } = await processed()
  await stop()
  const documents = store
    .database('shop')
    .collection<{ id: string; partitionKey: string }>('leases')
  for (const one of (await documents.readDocuments()).documents) {
    if ('leaseId' in one) await documents.delete(one.id, one.partitionKey)
  }
  expect(await mirror('reset')).toMatchObject({ code: 0, errors: '' })
  const again = await processed()
  await again.stop()
  expect(new Set(again.ids).size).toBe(DOCUMENTS)
})

test('what skips changes has to be confirmed; --dry-run tells and does nothing', async () => {
  const { stop } = await processed()
  await stop()
  await mirror('reset')
  expect(await lsns()).toEqual([0, 0])
  const dry = await mirror('seek', '--to', 'now', '--dry-run')
  expect(dry.code).toBe(0)
  expect(dry.output).toMatch(/^RANGE +FROM LSN +TO LSN +EFFECT\n-[0-9A-F]+ +0 +\d+ +skips\n/)
  const refused = await mirror('seek', '--to', 'now')
  expect(refused).toMatchObject({ code: 2, output: '' })
  expect(refused.errors).toMatch(
    /^tidemark: ERR_USAGE: this skips up to \d+ transactions of group mirror; .*--yes/,
  )
  expect(await lsns()).toEqual([0, 0])
  expect((await mirror('seek', '--to', 'now', '--yes')).code).toBe(0)
  expect(await lines()).toMatchObject(Array(2).fill({ lag: 0 }))
  // Going back skips nothing.
  expect((await mirror('seek', '--to', '2020-01-01T00:00:00Z')).code).toBe(0)
  expect(await lsns()).toEqual([0, 0])
})

test('a person at a terminal is asked', async () => {
  const { stop } = await processed()
  await stop()
  await mirror('reset')
  const ask = async (answer: string) => {
    const input = Object.assign(new PassThrough(), { isTTY: true })
    const errors = new PassThrough()
    const asked: string[] = []
    errors.on('data', (piece) => {
      asked.push(String(piece))
      if (asked.join('').includes('[y/N]')) input.end(answer)
    })
    const args = [
      'leases',
      'seek',
      '--to',
      'now',
      '--group',
      'mirror',
      '--store',
      join(folder, 'data'),
    ]
    const output = new PassThrough().resume()
    const code = await runCommand(args, { input, output, errors, interactive: true })
    return { code, asked: asked.join('') }
  }
  expect(await ask('n\n')).toMatchObject({ code: 1 })
  expect(await ask('')).toMatchObject({ code: 1 })
  expect(await lsns()).toEqual([0, 0])
  const yes = await ask('y\n')
  expect(yes.code).toBe(0)
  expect(yes.asked).toMatch(/skips up to \d+ transactions of group mirror\. Continue\?/)
  expect(Math.min(...(await lsns()))).toBeGreaterThan(0)
})

test('--range takes a pkrange or the keys of a range, several times, and leaves the others alone', async () => {
  const { stop } = await processed()
  await stop()
  const before = await lines()
  expect((await mirror('reset', '--range', '1')).code).toBe(0)
  expect(await lsns()).toEqual([before[0]?.['lsn'], 0])
  expect((await mirror('seek', '--to', 'now', '--yes')).code).toBe(0)
  const first = String(before[0]?.['range'])
  expect((await mirror('reset', '--range', first.toLowerCase(), '--at-once')).code).toBe(0)
  expect((await lsns())[0]).toBe(0)
  expect((await mirror('reset', '--range', '0', '--range', '1')).code).toBe(0)
  expect(await lsns()).toEqual([0, 0])
  expect((await mirror('reset', '--range', '05-0A')).code).toBe(0)
  expect(await lines()).toHaveLength(4)
})

test('PH-9 release takes a lease from an observer that hangs', async () => {
  let hangs = true
  let calls = 0
  const begun = Promise.withResolvers<void>()
  const { host, start } = newHost({
    processChanges: async ({ signal }) => {
      calls += 1
      if (!hangs) return
      if (calls === 2) begun.resolve()
      await new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error))
      })
    },
  })
  await start()
  await begun.promise
  hangs = false
  const { code, output } = await mirror('release', '--range', 'all', '--json')
  expect(code).toBe(0)
  expect(jsonLines(output).map(({ owner }) => owner)).toEqual(['worker-1', 'worker-1'])
  await expect.poll(async () => (await lines()).map(({ lag }) => lag)).toEqual([0, 0])
  await host.unregisterObservers()
})

test('LE-10 a snapshot is restored after a split, and into another group', async () => {
  const { stop } = await processed()
  await stop()
  const { output } = await mirror('snapshot')
  const file = join(folder, 'mirror.json')
  await writeFile(file, output)
  const stood = await lsns()
  await mirror('reset')
  await store.database('shop').collection('orders').split('0')
  const refused = await mirror('restore', file)
  expect(refused.code).toBe(2)
  expect(await lsns()).toEqual([0, 0])
  const restored = await mirror('restore', file, '--yes', '--json')
  expect(restored.code).toBe(0)
  expect(jsonLines(restored.output).map(({ toLsn }) => toLsn)).toEqual([
    stood[0],
    stood[0],
    stood[1],
  ])
  const copied = await leases('restore', file, '--group', 'copy', '--leases', 'shop/leases')
  expect(copied).toMatchObject({ code: 0 })
  expect(copied.output).toContain('new')
  const groups = (await lines()).map(({ group }) => group)
  expect(groups).toEqual(['copy', 'copy', 'copy', 'mirror', 'mirror', 'mirror'])
})

test('what is wrong has its code and changes nothing', async () => {
  const { stop } = await processed()
  await stop()
  await writeFile(join(folder, 'bad.json'), '{"positions":[{}]}')
  const failing: readonly (readonly [readonly string[], string])[] = [
    [['pause', '--group', 'nothing'], 'ERR_INVALID_OPTION'],
    [['reset', '--group', 'mirror', '--range', '9'], 'ERR_INVALID_OPTION'],
    [['restore', join(folder, 'none.json'), '--group', 'mirror'], 'ERR_INPUT'],
    [['restore', join(folder, 'bad.json'), '--group', 'mirror'], 'ERR_INVALID_OPTION'],
    [['seek', '--to', 'tm1;x', '--group', 'mirror'], 'ERR_INVALID_CONTINUATION'],
  ]
  const before = await lines()
  for (const [args, code] of failing) {
    const ended = await leases(...args)
    expect({ args, ...ended }).toMatchObject({ code: 1, output: '' })
    expect(ended.errors).toMatch(new RegExp(`^tidemark: ${code}: [^\\n]+\\n$`))
  }
  for (const args of [
    ['seek', '--group', 'mirror'],
    ['seek', '--group', 'mirror', '--to', 'somewhere'],
    ['reset'],
    ['reset', '--group', 'mirror', '--range', 'xyz'],
    ['release', '--group', 'mirror'],
    ['pause', '--group', 'mirror', '--wait', 'long'],
  ]) {
    expect({ args, ...(await leases(...args)) }).toMatchObject({ code: 2, output: '' })
  }
  expect(await tidemark('leases', 'pause', '--group', 'mirror')).toMatchObject({ code: 2 })
  const after = await lines()
  expect(after.map(({ lsn }) => lsn)).toEqual(before.map(({ lsn }) => lsn))
})

test('--help of each has examples', async () => {
  for (const name of ['ls', 'pause', 'resume', 'seek', 'reset', 'release', 'snapshot', 'restore']) {
    const { code, output } = await tidemark('leases', name, '--help')
    expect(code).toBe(0)
    expect(output).toContain('Examples:')
  }
})
