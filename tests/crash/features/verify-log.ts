import { singleEpkRange } from '@tidemark/store/engine'
import type { Collection } from '@tidemark/store'
import { epkOfLane } from './feature-lane.ts'
import { LOG_RETENTION_SECONDS, keyOf, type FeatureDocument } from './feature-store.ts'
import { readFeed } from './read-feeds.ts'

const MAX_ITEMS = 200

interface LoggedEntry {
  readonly lane: string
  readonly lsn: number
  readonly crts: number
}

/** What the log of all versions had, read once each by a reader that outlives the kills. */
export class LogMemory {
  readonly #entries = new Map<string, LoggedEntry>()
  #continuation: string | undefined
  /** Entries that were seen to be trimmed. */
  trimmed = 0

  /** The entries since the last call: none twice, none left out over splits and merges. */
  async readOn(
    documents: Collection<FeatureDocument>,
    faults: string[],
  ): Promise<Awaited<ReturnType<typeof readFeed>>['versions']> {
    const from =
      this.#continuation === undefined ? 'beginning' : { continuation: this.#continuation }
    const read = await readFeed(documents, { from, mode: 'allVersions' })
    faults.push(...read.faults)
    this.#continuation = read.continuation
    for (const entry of read.versions) {
      const lane = String(entry.partitionKey)
      const name = `${keyOf({ lane, id: entry.id })}@${entry.lsn}`
      if (this.#entries.has(name)) faults.push(`${name}: the log's reader got it twice`)
      this.#entries.set(name, { lane, lsn: entry.lsn, crts: entry.crts })
    }
    return read.versions
  }

  /** The log from its beginning has all that is above its horizon and younger than its retention. */
  async verifyWhole(documents: Collection<FeatureDocument>, faults: string[]): Promise<void> {
    const read = await readFeed(documents, {
      from: 'beginning',
      mode: 'allVersions',
      maxItemCount: MAX_ITEMS,
    })
    const nowMs = Date.now()
    faults.push(...read.faults)
    const names = new Set<string>()
    for (const { partitionKey, id, lsn } of read.versions) {
      const name = `${keyOf({ lane: String(partitionKey), id })}@${lsn}`
      if (names.has(name)) faults.push(`${name} is in the log twice`)
      if (!this.#entries.has(name)) faults.push(`${name}: only a reader from the beginning got it`)
      names.add(name)
    }
    const horizons = new Map<string, number>()
    for (const [name, { lane, lsn, crts }] of this.#entries) {
      if (names.has(name)) continue
      const horizon = horizons.get(lane) ?? (await logHorizon(documents, lane))
      horizons.set(lane, horizon)
      if (lsn > horizon) faults.push(`${name} is not in the log, whose horizon is ${horizon}`)
      if (crts > nowMs - LOG_RETENTION_SECONDS * 1000) {
        faults.push(`${name} was trimmed after ${nowMs - crts} ms, the horizon is ${horizon}`)
      }
      this.#entries.delete(name)
      this.trimmed++
    }
  }
}

/** Up to which LSN the log of a lane's keys was trimmed. */
async function logHorizon(documents: Collection<FeatureDocument>, lane: string): Promise<number> {
  const { engine, record: collection } = await documents.open()
  const { horizon } = await engine.resolveStart({
    collection,
    range: singleEpkRange(epkOfLane(lane)),
    start: { kind: 'beginning' },
    mode: 'allVersions',
  })
  return horizon
}
