import type { Collection } from '@tidemark/store'
import { keyOf, type FeatureDocument } from './feature-store.ts'
import type { Ledger } from './ledger.ts'
import { readFeed } from './read-feeds.ts'
import type { TtlTimeline } from './ttl-timeline.ts'

/** A reader of newest versions whose continuation is from before the kill, splits and merges. */
export class ResumedMirror {
  readonly #versions = new Map<string, string>()
  #continuation: string | undefined

  /** Reads on, and has every live document's newest version then. */
  async verify(
    documents: Collection<FeatureDocument>,
    { ledger, timeline }: { readonly ledger: Ledger; readonly timeline: TtlTimeline },
  ): Promise<void> {
    const from =
      this.#continuation === undefined ? 'beginning' : { continuation: this.#continuation }
    // Without pending deletes: a reader of those may come too late for what was purged.
    const read = await readFeed(documents, { from, pendingDeletes: false, maxItemCount: 100 })
    ledger.faults.push(...read.faults)
    this.#continuation = read.continuation
    for (const { document } of read.documents) {
      const key = keyOf(document)
      if (this.#versions.get(key) === document.version) {
        ledger.faults.push(`${key}: the resumed reader got ${document.version} again`)
      }
      this.#versions.set(key, document.version)
    }
    const nowMs = Date.now()
    for (const [key, document] of ledger.documents) {
      const got = this.#versions.get(key)
      if (got !== document.version && timeline.judge(document, nowMs) === 'live') {
        ledger.lost.push(`${key}: the resumed reader has ${got}, not ${document.version}`)
      }
    }
  }
}
