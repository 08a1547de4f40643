import { HistoryWriter, machineMs } from '../history.ts'
import { openExpiringStore } from './expiring-store.ts'
import { POLLED_KEY, type PollerTask, type Sighting } from './expiry-tasks.ts'
import { endWithParent } from '../end-with-parent.ts'

/* Looks at documents over and over, by id, by partition and in the feed, and notes when they were gone. */

const NEVER: Omit<Sighting, 'id'> = {
  looks: 0,
  lastSeenMs: 0,
  firstGoneMs: undefined,
  lastSeenStoreMs: 0,
  firstGoneStoreMs: Number.MAX_SAFE_INTEGER,
  firstSweptMs: undefined,
}
endWithParent()
// The tests of this folder are the only callers.
const task = JSON.parse(process.argv[2] ?? '') as PollerTask
const history = new HistoryWriter(task.historyFile)
const sightings = new Map<string, Sighting>(task.ids.map((id) => [id, { id, ...NEVER }]))
{
  await using opened = await openExpiringStore(task)
  const { documents } = opened
  history.note({ kind: 'event', name: 'started', detail: '' })
  const beganMs = machineMs()
  let storeMs = 0
  while (machineMs() - beganMs < (hasSeenAll() ? task.forMs : task.maxMs)) {
    for (const id of task.ids) {
      await look([id], async () => {
        const { document, serverTimeMs } = await documents.read(id, POLLED_KEY)
        // The answer's time is one after the look, the time of the answer before it one before the look.
        const beforeMs = storeMs
        storeMs = serverTimeMs
        note(id, ({ lastSeenStoreMs, firstGoneStoreMs }) =>
          document === undefined
            ? lastSeenStoreMs > 0 && { firstGoneStoreMs: Math.min(firstGoneStoreMs, serverTimeMs) }
            : { lastSeenStoreMs: beforeMs },
        )
        return document === undefined ? [] : [id]
      })
    }
    await look(task.ids, async () => {
      const partition = await documents.readPartition(POLLED_KEY)
      return partition.documents.map((document) => document.id)
    })
    const swept: string[] = []
    await look(task.ids, async () => {
      const shown: string[] = []
      for await (const page of documents.changes({ from: 'beginning', follow: false })) {
        for (const change of page.changes) {
          ;(change.kind === 'document' ? shown : swept).push(change.id)
        }
      }
      return shown
    })
    for (const id of swept) note(id, ({ firstSweptMs = machineMs() }) => ({ firstSweptMs }))
  }
}
for (const sighting of sightings.values()) {
  history.note({ kind: 'event', name: 'sighting', detail: JSON.stringify(sighting) })
}

function hasSeenAll(): boolean {
  return [...sightings.values()].every(
    ({ firstGoneMs, firstSweptMs }) => firstGoneMs !== undefined && firstSweptMs !== undefined,
  )
}

async function look(
  ids: readonly string[],
  present: () => Promise<readonly string[]>,
): Promise<void> {
  const beganMs = machineMs()
  const shown = new Set(await present())
  const endedMs = machineMs()
  for (const id of ids) {
    note(id, ({ looks, lastSeenMs, firstGoneMs = endedMs }) =>
      shown.has(id)
        ? { looks: looks + 1, lastSeenMs: beganMs }
        : // It may not have been written yet.
          lastSeenMs > 0 && { looks: looks + 1, firstGoneMs },
    )
  }
}

function note(id: string, change: (before: Sighting) => Partial<Sighting> | false): void {
  const before = sightings.get(id)
  if (before !== undefined) sightings.set(id, { ...before, ...change(before) })
}
