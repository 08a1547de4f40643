import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { COMMAND } from './command-program.child.ts'
import { openStore } from '../open-store.ts'
import { jsonLines, tidemarkReading } from './commands/command-runner.child.ts'

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url))

let folder: string
let store: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-cli-'))
  store = join(folder, 'data')
})
afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

interface Ended {
  readonly code: number | null
  readonly output: string
  readonly errors: string
}

function start(args: readonly string[]) {
  const child = spawn(process.execPath, [...COMMAND, ...args], {
    cwd: folder,
    stdio: 'pipe',
  })
  let output = ''
  let errors = ''
  const waiting = new Set<() => void>()
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
    for (const wake of waiting) wake()
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  child.stdin.end()
  const closed = once(child, 'close')
  return {
    child,
    async printed(text: string): Promise<void> {
      while (!output.includes(text)) {
        if (child.exitCode !== null) throw new Error(`it ended: ${errors}`)
        const more = new Promise<void>((resolve) => {
          waiting.add(resolve)
        })
        await Promise.race([more, closed])
      }
    },
    async ended(): Promise<Ended> {
      await closed
      return { code: child.exitCode, output, errors }
    },
  }
}

/** In this process; what only a process can show is started as one. */
function tidemark(args: readonly string[], input = ''): Promise<Ended> {
  return tidemarkReading(Readable.from([input]), ...args)
}

/** As a machine on which `node` is an older one. */
async function tidemarkOnNode20(): Promise<Ended> {
  const versions = '{ value: { ...process.versions, node: "20.20.2" } }'
  const pretend = `Object.defineProperty(process, 'versions', ${versions})`
  const flags = ['--conditions=@tidemark/source', '--no-experimental-sqlite']
  const older = ['--import', `data:text/javascript,${encodeURIComponent(pretend)}`]
  const child = spawn(process.execPath, [...flags, ...older, MAIN, '--version'])
  const errors = child.stderr.setEncoding('utf8').toArray()
  const output = child.stdout.setEncoding('utf8').toArray()
  await once(child, 'close')
  return { code: child.exitCode, output: (await output).join(''), errors: (await errors).join('') }
}

const ORDERS = Array.from({ length: 1_200 }, (_, n) => ({
  id: `o${n}`,
  customerId: `c${n % 7}`,
  itemId: `i${n % 11}`,
}))

async function importOrders(): Promise<void> {
  const lines = ORDERS.map((order) => JSON.stringify(order)).join('\n')
  const { code } = await tidemark(
    [
      'import',
      '-',
      '--store',
      store,
      '--collection',
      'shop/orders',
      '--partition-key',
      '/customerId',
    ],
    lines,
  )
  expect(code).toBe(0)
}

describe('tidemark', () => {
  test('--help shows every command and the exit codes, and is no failure', async () => {
    const { code, output, errors } = await tidemark(['--help'])
    expect(code).toBe(0)
    expect(errors).toBe('')
    for (const word of [
      'serve',
      'dev',
      'migrate',
      'leases',
      'lag',
      'dlq',
      'tail',
      'import',
      'ttl',
      'versions',
      'archive',
      'ranges',
      'Exit codes',
    ]) {
      expect(output).toContain(word)
    }
    for (const command of [
      ['serve'],
      ['migrate'],
      ['leases', 'ls'],
      ['tail'],
      ['import'],
      ['versions'],
      ['versions', 'set'],
      ['archive'],
    ]) {
      const help = await tidemark([...command, '--help'])
      expect(help.code).toBe(0)
      expect(help.output).toContain('Examples:')
    }
  })

  test('wrong arguments: one line and exit code 2, and nothing is done', async () => {
    const wrong = [
      ['migrate', '--store', store],
      ['migrate', '--store', store, '--source', 'orders', '--target', 'shop/x'],
      ['tail', 'shop/orders', '--store', store, '--from', 'yesterday-ish'],
      ['leases', 'ls'],
      ['tail', 'shop/orders', '--store', store, '--mode', 'deletes'],
      ['migrate', '--store', store, '--source', 'a/b', '--target', 'a/c', '--expiry', 'no'],
      ['migrate', '--store', store, '--source', 'a/b', '--target', 'a/c', '--verify'],
      ['import', 'x', '--store', store, '--collection', 'a/b', '--create', '--upsert'],
      ['nonsense'],
    ]
    for (const args of wrong) {
      const { code, errors, output } = await tidemark(args)
      expect({ args, code, output }).toEqual({ args, code: 2, output: '' })
      expect(errors).toMatch(/^tidemark: ERR_USAGE: /)
    }
    await expect(openFolder()).rejects.toMatchObject({ code: 'ENOENT' })
  })

  test('failures: one line with the code and exit code 1', async () => {
    const missing = await tidemark(['tail', 'shop/orders', '--store', store])
    expect(missing).toMatchObject({ code: 1, output: '' })
    expect(missing.errors).toMatch(
      /^tidemark: ERR_INPUT: .*no such folder: [^\n]*`tidemark init`\n$/,
    )
    await importOrders()
    const unknown = await tidemark(['tail', 'shop/nothing', '--store', store])
    expect(unknown.code).toBe(1)
    expect(unknown.errors).toMatch(/^tidemark: ERR_NOT_FOUND: [^\n]+\n$/)
    const token = await tidemark(['tail', 'shop/orders', '--store', store, '--from', 'tm1;bad'])
    expect(token.code).toBe(1)
    expect(token.errors).toMatch(/^tidemark: ERR_INVALID_CONTINUATION: [^\n]+\n$/)
    const redis = await tidemark(['leases', 'ls', '--leases', 'redis://127.0.0.1:1'])
    expect(redis.code).toBe(1)
    expect(redis.errors).toMatch(
      /^tidemark: ERR_LEASE_STORE_UNAVAILABLE: .*127\.0\.0\.1:1[^\n]+\n$/,
    )
  })
})

test('an older Node gets one line that says which one is needed, not what that Node lacks', async () => {
  const { code, output, errors } = await tidemarkOnNode20()
  expect([code, output]).toEqual([1, ''])
  expect(errors).toMatch(/^tidemark: ERR_NODE_UNSUPPORTED: .*Node\.js 22\.18.*20\.20\.2\n$/)
})

test('a command whose reader goes away ends, as in "tail … | head"', async () => {
  await importOrders()
  // It would follow for ever.
  const running = start(['tail', 'shop/orders', '--store', store, '--from', 'beginning'])
  const { stdout } = running.child
  stdout.once('data', () => stdout.destroy())
  expect(await running.ended()).toMatchObject({ code: 0 })
})

describe('tidemark import', () => {
  test('JSON Lines from a file: bad lines are named by number, the others are imported', async () => {
    const file = join(folder, 'orders.jsonl')
    const lines = [
      '{"id":"a","k":"1"}',
      '{broken',
      '{"id":"b","k":"1"}',
      '',
      '{"k":"1"}',
      '{"id":"x/y","k":"1"}',
      '[1]',
    ]
    await writeFile(file, lines.join('\n'))
    const args = ['import', file, '--store', store, '--collection', 'd/c', '--partition-key', '/k']
    const { code, output, errors } = await tidemark(args)
    expect(code).toBe(1)
    expect(output).toBe('imported 2 documents, 4 bad\n')
    const named = errors.split('\n').flatMap((line) => /^line (\d+): /.exec(line)?.[1] ?? [])
    expect(named.sort()).toEqual(['2', '5', '6', '7'])
    expect(errors).toContain('line 5: its "id" is missing, or is not a string\n')
    expect(errors).toContain('line 7: it is an array, not a JSON object\n')
  })

  test('a JSON array from the standard input; --create refuses what is there and names its line', async () => {
    const target = ['--store', store, '--collection', 'd/c', '--partition-key', '/k']
    const first = await tidemark(
      ['import', '-', ...target],
      '[{"id":"a","k":1},\n{"id":"b","k":2}]',
    )
    expect(first).toMatchObject({ code: 0, output: 'imported 2 documents, 0 bad\n' })
    const again = await tidemark(
      ['import', '-', '--create', '--json', ...target],
      '[{"id":"c","k":1},\n{"id":"b","k":2,"new":true}]',
    )
    expect(again.code).toBe(1)
    expect(jsonLines(again.output)).toEqual([{ event: 'imported', imported: 1, bad: 1 }])
    expect(jsonLines(again.errors)).toMatchObject([{ event: 'bad', line: 2 }])
    await using opened = await openStore(store)
    const { document } = await opened
      .database('d')
      .collection<{ id: string; new?: true }>('c')
      .read('b', 2)
    expect(document?.new).toBeUndefined()
  })

  test('of two versions of one document the later one stays', async () => {
    const versions = Array.from({ length: 3_000 }, (_, n) => ({ id: `d${n % 5}`, k: 'x', n }))
    const { code } = await tidemark(
      ['import', '-', '--store', store, '--collection', 'd/c', '--partition-key', '/k'],
      versions.map((version) => JSON.stringify(version)).join('\n'),
    )
    expect(code).toBe(0)
    await using opened = await openStore(store)
    const { documents } = await opened
      .database('d')
      .collection<{ id: string; n: number }>('c')
      .readPartition('x')
    expect(documents.map(({ n }) => n)).toEqual([2995, 2996, 2997, 2998, 2999])
  })

  test('a missing file, a missing collection and another partition key are failures with a code', async () => {
    const target = ['--store', store, '--collection', 'd/c', '--partition-key', '/k']
    const gone = await tidemark(['import', join(folder, 'gone.jsonl'), ...target])
    expect(gone).toMatchObject({
      code: 1,
      errors: expect.stringMatching(/ERR_INPUT: .*gone\.jsonl/),
    })
    const unknown = await tidemark(
      ['import', '-', '--store', store, '--collection', 'd/other'],
      '{}',
    )
    expect(unknown).toMatchObject({ code: 1, errors: expect.stringContaining('ERR_NOT_FOUND') })
    const other = await tidemark(
      ['import', '-', '--store', store, '--collection', 'd/c', '--partition-key', '/other'],
      '{}',
    )
    expect(other).toMatchObject({
      code: 1,
      errors: expect.stringContaining('ERR_COLLECTION_MISMATCH'),
    })
  })
})

describe('tidemark tail', () => {
  test('--no-follow prints everything as JSON lines, and the continuation on the error output', async () => {
    await importOrders()
    const args = ['tail', 'shop/orders', '--store', store, '--no-follow']
    const { code, output, errors } = await tidemark([...args, '--from', 'beginning', '--documents'])
    expect(code).toBe(0)
    const ids = jsonLines(output).map(({ id }) => String(id))
    expect(ids.toSorted()).toEqual(ORDERS.map(({ id }) => id).toSorted())
    expect(errors).toMatch(/^tm1;\S+\n$/)
    const rest = await tidemark([...args, '--from', errors.trim()])
    expect(rest).toMatchObject({ code: 0, output: '' })
  })

  test('prints changes as they come; SIGINT ends it with 130 and a continuation that goes on right there', async () => {
    await importOrders()
    const running = start(['tail', 'shop/orders', '--store', store, '--from', 'beginning'])
    await running.printed('"o1199"')
    await using opened = await openStore(store)
    const orders = opened.database('shop').collection<{ id: string; customerId: string }>('orders')
    await orders.upsert({ id: 'late', customerId: 'c1' })
    await running.printed('"id":"late"')
    running.child.kill('SIGINT')
    const { code, errors } = await running.ended()
    expect(code).toBe(130)
    await orders.upsert({ id: 'later', customerId: 'c1' })
    const rest = await tidemark([
      'tail',
      'shop/orders',
      '--store',
      store,
      '--no-follow',
      '--from',
      errors.trim(),
    ])
    expect(jsonLines(rest.output).map(({ id }) => id)).toEqual(['later'])
  })
})

describe('tidemark migrate and leases', () => {
  const MIGRATE = ['migrate', '--source', 'shop/orders', '--target', 'shop/byItem']

  test('JB-1 copies, cuts over, verifies and ends with 0; run again it goes on', async () => {
    await importOrders()
    const args = [...MIGRATE, '--store', store, '--target-partition-key', '/itemId', '--cut-over']
    const { code, output } = await tidemark([...args, '--verify', '--json'])
    expect(code).toBe(0)
    const events = jsonLines(output)
    expect(events.slice(0, 2)).toMatchObject([
      { event: 'deletesUnseen', source: 'shop/orders', isLogKept: false },
      { event: 'started', job: 'shop.orders-shop.byItem' },
    ])
    expect(events.find(({ event }) => event === 'cutOver')).toMatchObject({
      documents: 1_200,
      lag: 0,
    })
    expect(events.at(-1)).toMatchObject({
      event: 'verified',
      same: true,
      missing: { count: 0 },
      different: { count: 0 },
      extra: { count: 0 },
    })
    const again = await tidemark([...args, '--verify'])
    expect(again.code).toBe(0)
    expect(again.errors).toContain('lag is zero: 1,200 documents copied, 0 updates followed')

    const leases = await tidemark(['leases', 'ls', '--store', store, '--json'])
    expect(jsonLines(leases.output)).toMatchObject([
      { group: 'migration-shop.orders-shop.byItem', collection: 'shop/orders', lag: 0 },
    ])
    const table = await tidemark(['leases', 'ls', '--store', store])
    expect(table.output).toMatch(/^GROUP +COLLECTION +FROM +OWNER +EPOCH +LSN +LAG +AGE s\n/)
  })

  test('--verify that finds differences ends with 3 and names them', async () => {
    await importOrders()
    await writeFile(
      join(folder, 'map.mjs'),
      // Says something else each time, which a map must not do.
      'let n = 0\nexport const mapDocument = (order) => ({ ...order, n: n++ })\n',
    )
    const args = [
      ...MIGRATE,
      '--store',
      store,
      '--target-partition-key',
      '/itemId',
      '--map',
      join(folder, 'map.mjs'),
    ]
    const { code, errors } = await tidemark([...args, '--cut-over', '--verify'])
    expect(code).toBe(3)
    expect(errors).toMatch(/verified 1,200 documents: 0 missing, 1,200 different/)
    expect(errors).toMatch(/different: \["i\d+"\] o\d+/)
  })

  test('without --cut-over it follows until SIGTERM, then hands over and ends with 143', async () => {
    await importOrders()
    const args = [...MIGRATE, '--store', store, '--target-partition-key', '/itemId', '--json']
    const running = start(args)
    await running.printed('"event":"applied"')
    running.child.kill('SIGTERM')
    const { code, output } = await running.ended()
    expect(code).toBe(143)
    expect(jsonLines(output).at(-1)).toMatchObject({ event: 'rangeReleased' })
    const { output: leases } = await tidemark(['leases', 'ls', '--store', store, '--json'])
    expect(jsonLines(leases).every(({ owner }) => owner === undefined)).toBe(true)
  })

  test('a target without partition key that does not exist, and a bad map, are failures with a code', async () => {
    await importOrders()
    const missing = await tidemark([...MIGRATE, '--store', store, '--cut-over'])
    expect(missing).toMatchObject({
      code: 1,
      errors: expect.stringContaining('ERR_MIGRATION_TARGET'),
    })
    await writeFile(join(folder, 'nothing.mjs'), 'export const other = 1\n')
    const bad = await tidemark([
      ...MIGRATE,
      '--store',
      store,
      '--map',
      join(folder, 'nothing.mjs'),
      '--cut-over',
    ])
    expect(bad).toMatchObject({ code: 1, errors: expect.stringContaining('ERR_INPUT') })
  })
})

async function openFolder(): Promise<unknown> {
  const { readdir } = await import('node:fs/promises')
  return readdir(store)
}
