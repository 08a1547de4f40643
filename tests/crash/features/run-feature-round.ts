import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { CrashProcess } from '../crash-process.ts'
import { generator } from '../lane.ts'
import type {
  ArchiveMessage,
  ArchiveTask,
  FeatureWriterMessage,
  FeatureWriterTask,
} from './feature-tasks.ts'
import { readJournal, type JournalEntry } from './journal.ts'

export const FEATURE_LANES = 48
const MIN_WRITING_MS = 150
const MAX_WRITING_MS = 900
/** Folding comes last of the background work, and of ranges that stay: some rounds leave time for it. */
const LONG_WRITING_MS = 3_000
const RANGE_PAUSE_MS = 15
const LONG_RANGE_PAUSE_MS = 600

export interface FeatureRound {
  readonly folder: string
  readonly seed: number
  readonly round: number
}

export interface FeatureRoundFacts {
  /** One a writing process. */
  readonly journals: readonly (readonly JournalEntry[])[]
  readonly description: string
}

/** Of these a whole maintenance run follows, too. */
export function isLong(round: number): boolean {
  return round % 4 === 1
}

export function storeFolder(folder: string): string {
  return join(folder, 'store')
}

export function archiveFile(folder: string): string {
  return join(folder, 'archive.jsonl')
}

/**
 * Writes and kills, in every fourth round with two writing processes. The waiting group follows
 * meanwhile, except in every fifth round; in every second one it is killed, too.
 */
export async function runFeatureRound(task: FeatureRound): Promise<FeatureRoundFacts> {
  const { folder, seed, round } = task
  const chance = generator(seed * 7_919 + round)
  const durability = round % 5 === 3 ? 'relaxed' : 'sync'
  const shares = round % 4 === 2 ? 2 : 1
  const files = Array.from({ length: shares }, (_, share) =>
    join(folder, `journal-${round}-${share}.jsonl`),
  )
  const writers = files.map((journal, share) => {
    const lanes = Array.from({ length: FEATURE_LANES }, (_, lane) => lane)
    const writer: FeatureWriterTask = {
      folder: storeFolder(folder),
      durability,
      seed,
      round,
      lanes: lanes.filter((lane) => lane % shares === share),
      journal,
      changesTtl: share === 0 && round % 3 !== 0,
      maxRangePauseMs: isLong(round) ? LONG_RANGE_PAUSE_MS : RANGE_PAUSE_MS,
    }
    return new CrashProcess<FeatureWriterMessage>('features/writer.child.ts', writer)
  })
  const events = join(folder, `events-${round}.jsonl`)
  const archive = round % 5 === 4 ? undefined : startArchive(folder, events)
  const archiveDies = round % 2 === 1
  try {
    await Promise.all([
      ...writers.map((writer) => writer.receive('writing')),
      archive?.receive('following'),
    ])
    const maxMs = isLong(round) ? LONG_WRITING_MS : MAX_WRITING_MS
    await sleep(MIN_WRITING_MS + chance() * (maxMs - MIN_WRITING_MS))
    for (const writer of writers) {
      await writer.kill()
      if (shares > 1) await sleep(chance() * MIN_WRITING_MS)
    }
    if (archiveDies) await archive?.kill()
    else await endArchive(archive)
  } finally {
    for (const child of [...writers, archive]) child?.end()
  }
  const journals = [...files, events].map((file) => readJournal<JournalEntry>(file))
  const follower = archive === undefined ? 'nobody follows' : archiveDies ? 'killed' : 'followed'
  const description = `${durability}, ${shares} writing, ${follower}`
  return { journals, description }
}

/** `events` is where it notes what it did in the background. */
export function startArchive(folder: string, events: string): CrashProcess<ArchiveMessage> {
  return new CrashProcess<ArchiveMessage>('features/archive.child.ts', {
    folder: storeFolder(folder),
    journal: archiveFile(folder),
    events,
  } satisfies ArchiveTask)
}

/** Has it read to the end. */
export async function endArchive(archive: CrashProcess<ArchiveMessage> | undefined): Promise<void> {
  archive?.tell('stop')
  await archive?.receive('caughtUp')
  await archive?.finished()
}
