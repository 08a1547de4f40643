import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { FaultProcess } from '../fault-process.ts'
import { entriesOf, type HistoryEntry } from '../history.ts'
import { until } from '../until.ts'
import {
  GROUP,
  KEYS,
  openPoisonStore,
  PER_KEY,
  POISON,
  writeOrders,
  type PoisonHostTask,
} from './poison-store.ts'

const MAIN = fileURLToPath(new URL('../../../packages/tidemark/src/cli/main.ts', import.meta.url))
const BATCH = 100

/** Runs the command in a process of its own. */
async function dlq(folder: string, ...args: readonly string[]): Promise<string> {
  const command = ['--conditions=@tidemark/source', MAIN, 'dlq', ...args]
  const where = ['--store', join(folder, 'store')]
  const { stdout } = await promisify(execFile)(process.execPath, [...command, ...where])
  return stdout
}

/** First completions of each document, in the order in which they came, by key; and how many came again. */
function completions(history: readonly HistoryEntry[]): {
  readonly byKey: ReadonlyMap<string, readonly number[]>
  readonly repeated: number
} {
  const byKey = new Map<string, number[]>()
  const seen = new Set<string>()
  let repeated = 0
  for (const { ids } of entriesOf(history, 'complete')) {
    for (const id of ids) {
      const [key = '', n] = id.split(':')
      if (seen.has(id)) repeated += 1
      else byKey.set(key, [...(byKey.get(key) ?? []), Number(n)])
      seen.add(id)
    }
  }
  return { byKey, repeated }
}

test('PH-7 one poison document in 10,000, its host killed in the midst of the bisection and of setting it aside: 9,999 processed in order per key, one letter with its cause, and a redrive to the mended observer', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-poison-'))
  const running: FaultProcess<PoisonHostTask>[] = []
  const start = async (
    over: Partial<PoisonHostTask> = {},
  ): Promise<FaultProcess<PoisonHostTask>> => {
    const historyFile = join(folder, `history-${running.length}.jsonl`)
    const task = { historyFile, folder, isMended: false, hangAt: 0, diesAtLetter: false, ...over }
    const host = await FaultProcess.start('dead-letters/poison-host.child.ts', task)
    running.push(host)
    return host
  }
  const history = (): readonly HistoryEntry[] =>
    running.flatMap((host) => host.history).sort((a, b) => a.atMs - b.atMs)
  try {
    await using store = await openPoisonStore(folder)
    await writeOrders(store)

    // Three deaths in the bisection: soon after its begin, near its end, with the change alone in hand.
    const sizes: number[] = []
    for (const hangAt of [BATCH / 2, 6, 1]) {
      const host = await start({ hangAt })
      await until(() => host.events('hanging') > 0, {
        what: `hanging at ${hangAt}`,
      })
      const hanging = host.history.findLast(
        (entry) => entry.kind === 'event' && entry.name === 'hanging',
      )
      sizes.push(hanging?.kind === 'event' ? Number(hanging.detail) : 0)
      await host.kill()
    }
    expect(sizes[0]).toBeGreaterThan(1)
    expect(sizes[0]).toBeLessThan(BATCH)
    expect(sizes[1]).toBeLessThan(sizes[0] ?? 0)
    expect(sizes[2]).toBe(1)
    // And one when the letter is kept, and where the group stands is not.
    const dying = await start({ diesAtLetter: true })
    await until(() => dying.hasEnded, { what: 'death at the letter' })
    expect(dying.events('deadLettered')).toBe(1)

    const survivor = await start()
    const processed = (): number =>
      [...completions(history()).byKey.values()].reduce((sum, ns) => sum + ns.length, 0)
    await until(() => processed() === KEYS * PER_KEY - 1, {
      what: 'all but one processed',
    })
    const { byKey, repeated } = completions(history())
    for (const [key, ns] of byKey) {
      const all = Array.from({ length: PER_KEY }, (_, index) => index)
      expect([key, ns]).toEqual([key, all.filter((n) => `${key}:${n}` !== POISON)])
    }
    // Each death repeats a batch of each of the four ranges at most.
    expect(repeated).toBeLessThanOrEqual(4 * 4 * BATCH)

    const listed = (await dlq(folder, 'ls', 'shop/orders', '--json')).trimEnd().split('\n')
    expect(listed.map((line): unknown => JSON.parse(line))).toMatchObject([
      {
        group: GROUP,
        state: 'kept',
        documentId: POISON,
        error: { name: 'TypeError', message: `cannot process ${POISON}` },
      },
    ])
    await survivor.terminate()

    const mended = await start({ isMended: true })
    expect(await dlq(folder, 'redrive', 'shop/orders', '--all')).toBe('redriven: 1\n')
    await until(() => mended.events('redriven') > 0, { what: 'redriven' })
    const accepted = entriesOf(mended.history, 'complete')
    expect(accepted.map(({ ids }) => ids)).toEqual([[POISON]])
    expect(mended.events('acceptedRedriven')).toBe(1)
    expect(await dlq(folder, 'ls', 'shop/orders')).toBe('no dead letters\n')
    await mended.terminate()
  } finally {
    for (const host of running) await host.end()
    await rm(folder, { recursive: true, force: true })
  }
})
