import type { Collection } from '@tidemark/store'
import { keyOf, type FeatureDocument } from './feature-store.ts'
import type { Ledger } from './ledger.ts'
import { readFeed, scanVersions } from './read-feeds.ts'
import type { TtlTimeline } from './ttl-timeline.ts'

/** Page sizes that reading from the beginning is done with: all must give the same. */
const PAGE_SIZES = [1000, 17]

/** The documents by key, the feed from its beginning and the count, against the ledger. */
export async function verifyDocuments(
  documents: Collection<FeatureDocument>,
  { ledger, timeline }: { readonly ledger: Ledger; readonly timeline: TtlTimeline },
): Promise<void> {
  const beganMs = Date.now()
  const scan = await scanVersions(documents)
  const endedMs = Date.now()
  for (const [key, document] of ledger.documents) {
    const found = scan.get(key)
    if (found === undefined) {
      if (timeline.judge(document, endedMs) === 'live') {
        ledger.lost.push(`${key} is absent, acknowledged was ${document.version}`)
      }
    } else if (found !== document.version) {
      ledger.lost.push(`${key} is ${found}, acknowledged was ${document.version}`)
    } else if (timeline.judge(document, beganMs) === 'expired') {
      ledger.faults.push(`${key} is there, and has expired`)
    }
  }
  for (const key of scan.keys()) {
    if (!ledger.documents.has(key)) ledger.faults.push(`${key} is there, nobody wrote it`)
  }
  await verifyFeed(documents, { ledger, timeline, scan })
}

/** The scan is older than the feeds, so that they have the same, except for what expired in between. */
async function verifyFeed(
  documents: Collection<FeatureDocument>,
  {
    ledger,
    timeline,
    scan,
  }: {
    readonly ledger: Ledger
    readonly timeline: TtlTimeline
    readonly scan: ReadonlyMap<string, string>
  },
): Promise<void> {
  const { faults } = ledger
  const liveKeys = (): readonly string[] => {
    const nowMs = Date.now()
    return [...scan.keys()].filter((key) => {
      const document = ledger.documents.get(key)
      return document !== undefined && timeline.judge(document, nowMs) === 'live'
    })
  }
  for (const maxItemCount of PAGE_SIZES) {
    const feed = await readFeed(documents, { from: 'beginning', maxItemCount })
    const seen = new Set<string>()
    faults.push(...feed.faults)
    for (const { document } of feed.documents) {
      const key = keyOf(document)
      if (seen.has(key)) faults.push(`${key} is in the feed twice`)
      if (scan.get(key) !== document.version) {
        faults.push(`${key} is ${document.version} in the feed, ${scan.get(key)} by key`)
      }
      seen.add(key)
    }
    for (const key of liveKeys()) {
      if (!seen.has(key)) faults.push(`${key} is there by key, and not in the feed`)
    }
  }
  const count = await documents.count()
  const least = liveKeys().length
  if (count > scan.size || count < least) {
    faults.push(`count is ${count}, there are ${least} to ${scan.size} documents`)
  }
}
