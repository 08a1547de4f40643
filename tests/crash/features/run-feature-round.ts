import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { logSize } from '../acknowledgements.ts'
import { CampaignProcess } from '../../campaign/campaign-process.ts'
import type { CrashScene, Writing } from '../crash-scene.ts'
import { generator } from '../lane.ts'
import { safely, type StorePlace } from '../store-place.ts'
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
  /** For journals. */
  readonly folder: string
  readonly scene: CrashScene
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

export function archiveFile(folder: string): string {
  return join(folder, 'archive.jsonl')
}

/**
 * Writes and kills, in every fourth round with two writing processes. The waiting group follows
 * meanwhile, except in every fifth round; in every second one it is killed, too.
 */
export async function runFeatureRound(task: FeatureRound): Promise<FeatureRoundFacts> {
  const { folder, seed, round, scene } = task
  const chance = generator(seed * 7_919 + round)
  const { place, shares, description: how } = scene.plan(round)
  const files = Array.from({ length: shares }, (_, share) =>
    join(folder, `journal-${round}-${share}.jsonl`),
  )
  const writers = files.map((journal, share) => {
    const lanes = Array.from({ length: FEATURE_LANES }, (_, lane) => lane)
    return startWriter({
      place,
      seed,
      round,
      lanes: lanes.filter((lane) => lane % shares === share),
      journal,
      changesTtl: share === 0 && round % 3 !== 0,
      maxRangePauseMs: isLong(round) ? LONG_RANGE_PAUSE_MS : RANGE_PAUSE_MS,
    })
  })
  const events = join(folder, `events-${round}.jsonl`)
  const archive = round % 5 === 4 ? undefined : startArchive(folder, { place, events })
  const archiveDies = round % 2 === 1
  const writing: Writing = {
    chance,
    progress: () => files.map((file) => logSize(file)),
    assertAlive: () => {
      for (const child of [...writers, archive]) child?.assertAlive()
    },
  }
  try {
    await Promise.all([
      ...writers.map((writer) => writer.receive('writing')),
      archive?.receive('following'),
    ])
    const maxMs = isLong(round) ? LONG_WRITING_MS : MAX_WRITING_MS
    await sleep(MIN_WRITING_MS + chance() * (maxMs - MIN_WRITING_MS))
    await scene.disturb(round, writing)
    for (const writer of writers) {
      await writer.kill()
      if (shares > 1) await sleep(chance() * MIN_WRITING_MS)
    }
    if (archiveDies) await archive?.kill()
    else await endArchive(archive)
  } finally {
    for (const child of [...writers, archive]) await child?.end()
  }
  const journals = [...files, events].map((file) => readJournal<JournalEntry>(file))
  const follower = archive === undefined ? 'nobody follows' : archiveDies ? 'killed' : 'followed'
  const description = `${how}, ${shares} writing, ${follower}`
  return { journals, description }
}

function startWriter(task: FeatureWriterTask): CampaignProcess<FeatureWriterMessage> {
  return new CampaignProcess(new URL('writer.child.ts', import.meta.url), task)
}

/** `events` is where it notes what it did in the background. */
export function startArchive(
  folder: string,
  { place, events }: { readonly place: StorePlace; readonly events: string },
): CampaignProcess<ArchiveMessage> {
  const task: ArchiveTask = { place: safely(place), journal: archiveFile(folder), events }
  return new CampaignProcess(new URL('archive.child.ts', import.meta.url), task)
}

/** Has it read to the end. */
export async function endArchive(
  archive: CampaignProcess<ArchiveMessage> | undefined,
): Promise<void> {
  archive?.tell('stop')
  await archive?.receive('caughtUp')
  await archive?.finished()
}
