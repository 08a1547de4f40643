import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { CampaignProcess } from '../../campaign/campaign-process.ts'
import { generator } from '../lane.ts'
import { beginKeeping, buildShim, losePower } from './power-loss.ts'
import { openPowerStore, type PowerStore } from './power-store.ts'

export interface PowerTask {
  readonly folder: string
  readonly bootId: string
  readonly seed: number
  readonly round: number
  readonly share: number
  /** Of commits that wait for the disk. */
  readonly syncShare: number
  readonly log: string
}

export interface PowerRunResult {
  readonly faults: readonly string[]
  /** Commits that were acknowledged without a sync and are gone, as they may be. */
  readonly lost: number
  readonly summary: string
}

const SYNC_SHARES = [0, 0.02, 0.3]
const MIN_WRITING_MS = 150
const MAX_WRITING_MS = 600

interface Noted {
  readonly done: readonly {
    readonly id: string
    readonly lsn: number
    readonly isSynced: boolean
    readonly isFlushed: boolean
  }[]
  readonly continuation: string | undefined
}

/**
 * Processes write with and without waiting for the disk, are killed, and the machine with them: files keep what was
 * synced, and in every other round any of the blocks that were written since. Rejects when no commit was lost: then it
 * shows nothing.
 */
export async function runPower({
  folder,
  seed,
  rounds,
  report,
}: {
  readonly folder: string
  readonly seed: number
  readonly rounds: number
  readonly report: (line: string) => void
}): Promise<PowerRunResult> {
  const [shim, kept, store] = ['power-loss.so', 'kept', 'store'].map((name) => join(folder, name))
  if (shim === undefined || kept === undefined || store === undefined) throw new Error('no paths')
  await buildShim(shim)
  await (await openPowerStore({ folder: store, bootId: 'boot-0' })).store.close()
  const faults: string[] = []
  const total = { synced: 0, flushed: 0, lost: 0, readers: 0 }
  let highest = 0
  const isShown = (): boolean => Object.values(total).every((count) => count > 0)
  // When a kill takes nothing away is a matter of chance.
  let round = 0
  for (; round < rounds || (!isShown() && round < 5 * rounds); round++) {
    const chance = generator(seed * 7_919 + round)
    beginKeeping(store, kept)
    const logs = await writeAndDie({ folder, shim, kept, store, seed, round, chance })
    losePower(store, { kept, chance: round % 2 === 1 ? chance : undefined })
    const noted = logs.map(readNotes)
    await using reopened = await openPowerStore({ folder: store, bootId: `boot-${round + 1}` })
    const verdict = await verify(reopened, { round, noted, highest })
    for (const fault of verdict.faults) report(`  ${fault}`)
    faults.push(...verdict.faults)
    highest = verdict.highest
    const done = noted.flatMap((each) => each.done)
    total.synced += done.filter(({ isSynced }) => isSynced).length
    total.flushed += done.filter(({ isFlushed }) => isFlushed).length
    total.readers += noted.filter(({ continuation }) => continuation !== undefined).length
    total.lost += verdict.lost
    report(`round ${round + 1}: ${done.length} acknowledged, ${verdict.lost} lost without a sync`)
  }
  for (const [what, count] of Object.entries(total)) {
    if (count === 0) throw new Error(`nothing was shown: 0 ${what}`)
  }
  const { synced, flushed, lost } = total
  const summary = `${round} losses of power, ${synced} synced and ${flushed} flushed commits, ${lost} lost that were neither, ${faults.length} faults`
  return { faults, lost, summary }
}

async function writeAndDie(run: {
  readonly folder: string
  readonly shim: string
  readonly kept: string
  readonly store: string
  readonly seed: number
  readonly round: number
  readonly chance: () => number
}): Promise<readonly string[]> {
  const { folder, shim, kept, store, seed, round, chance } = run
  const syncShare = SYNC_SHARES[round % SYNC_SHARES.length] ?? 0
  const logs = Array.from({ length: 1 + (round % 4 === 2 ? 1 : 0) }, (_, share) =>
    join(folder, `power-${round}-${share}.log`),
  )
  const env = { LD_PRELOAD: shim, POWER_LOSS_FOLDER: kept }
  const writers = logs.map((log, share) => {
    const bootId = `boot-${round}`
    const task: PowerTask = { folder: store, bootId, seed, round, share, syncShare, log }
    const program = new URL('power.child.ts', import.meta.url)
    return new CampaignProcess<{ readonly kind: 'writing' }>(program, task, { env })
  })
  try {
    await Promise.all(writers.map((writer) => writer.receive('writing')))
    while (!logs.every((log) => existsSync(log))) {
      for (const writer of writers) writer.assertAlive()
      await sleep(2)
    }
    await sleep(MIN_WRITING_MS + chance() * (MAX_WRITING_MS - MIN_WRITING_MS))
    await Promise.all(writers.map((writer) => writer.kill()))
  } finally {
    await Promise.all(writers.map((writer) => writer.end()))
  }
  return logs
}

function readNotes(log: string): Noted {
  const done: { id: string; lsn: number; isSynced: boolean; isFlushed: boolean }[] = []
  let continuation: string | undefined
  const lines = readFileSync(log, 'utf8').split('\n').slice(0, -1)
  for (const [kind = '', first = '', lsn = '', sync = ''] of lines.map((line) => line.split(' '))) {
    if (kind === 'done') {
      done.push({ id: first, lsn: Number(lsn), isSynced: sync === 'synced', isFlushed: false })
    } else if (kind === 'read') continuation = first
    else for (const each of done.slice(0, Number(first))) each.isFlushed = true
  }
  return { done, continuation }
}

async function verify(
  { store, documents }: PowerStore,
  {
    round,
    noted,
    highest,
  }: { readonly round: number; readonly noted: readonly Noted[]; readonly highest: number },
): Promise<{
  readonly faults: readonly string[]
  readonly lost: number
  readonly highest: number
}> {
  const faults = (await store.check()).map((problem) => `check: ${problem}`)
  const done = noted.flatMap((each) => each.done)
  const present = new Map<string, number>()
  for await (const page of documents.changes({ from: 'beginning', follow: false })) {
    for (const change of page.changes) {
      if (change.kind === 'document') present.set(change.document.id, change.lsn)
    }
  }
  const newest = Math.max(0, ...done.filter(({ id }) => present.has(id)).map(({ lsn }) => lsn))
  let lost = 0
  for (const { id, lsn, isSynced, isFlushed } of done) {
    if (lsn <= highest) faults.push(`${id} has LSN ${lsn}, and ${highest} was given out before`)
    const at = present.get(id)
    if (at === lsn) continue
    if (at !== undefined) faults.push(`${id} is at LSN ${at}, acknowledged was ${lsn}`)
    else if (isSynced) faults.push(`${id} was synced and is gone`)
    else if (isFlushed) faults.push(`${id} was flushed and is gone`)
    else if (lsn < newest) faults.push(`${id} at LSN ${lsn} is gone, and ${newest} is there`)
    else lost++
  }
  const known = Math.max(highest, ...done.map(({ lsn }) => lsn))
  const id = `probe.${round}`
  const { lsn: probe } = await documents.create({ id, pk: 'probe', filler: '' })
  if (probe <= known) faults.push(`the next LSN is ${probe}, and ${known} was given out before`)
  for (const { continuation } of noted) {
    if (continuation !== undefined && !(await finds(documents, continuation, id))) {
      faults.push(`a reader from before does not find ${id}`)
    }
  }
  return { faults, lost, highest: probe }
}

async function finds(
  documents: PowerStore['documents'],
  continuation: string,
  id: string,
): Promise<boolean> {
  for await (const page of documents.changes({ from: { continuation }, follow: false })) {
    for (const change of page.changes) {
      if (change.kind === 'document' && change.document.id === id) return true
    }
  }
  return false
}
