import { errorCode } from '@tidemark/contracts'
import type { Collection } from '@tidemark/store'
import { AcknowledgementLog, type Acknowledgement } from './acknowledgements.ts'
import { openCrashStore, type CrashDocument } from './crash-store.ts'
import { Lane, partitionKeyOfLane, sameState, versionOf, type LaneOperation } from './lane.ts'
import type { WriterMessage, WriterTask } from './messages.ts'
import { outageCodes } from './store-place.ts'

/* Writes until it is killed. */

// Only the crash command starts this file, with a task.
const task = JSON.parse(process.argv[2] ?? '') as WriterTask
const { documents } = await openCrashStore(task.place)
const log = new AcknowledgementLog(task.log)
const outages = outageCodes(task.place)
await Promise.all(task.lanes.map((lane) => writeForEver(lane)))

async function writeForEver(number: number): Promise<void> {
  const partitionKey = partitionKeyOfLane(number)
  const present = await documents.readPartition(partitionKey)
  const start = new Map(present.documents.map(({ id, version }) => [id, version]))
  const lane = new Lane({ ...task, lane: number }, start)
  if (number === task.lanes.at(-1)) process.send?.({ kind: 'writing' } satisfies WriterMessage)
  for (;;) {
    const before = lane.state
    const operation = lane.next()
    for (let lsn: number | undefined; lsn === undefined;) {
      try {
        lsn = await carryOut(documents, partitionKey, operation)
      } catch (error) {
        if (!outages.includes(errorCode(error) ?? '')) throw error
        lsn = await lookWhetherDone(partitionKey, { before, after: lane.state, operation })
      }
      if (lsn === undefined) continue
      log.note({ lane: number, index: operation.index, lsn } satisfies Acknowledgement)
    }
  }
}

/**
 * After an unknown outcome: nobody else writes to the lane, so that what is there says whether it happened; then its
 * LSN, 0 if nothing of it can be read. And what was read is a promise like any other: it must not be lost either.
 */
async function lookWhetherDone(
  partitionKey: string,
  {
    before,
    after,
    operation,
  }: {
    readonly before: Lane['state']
    readonly after: Lane['state']
    readonly operation: LaneOperation
  },
): Promise<number | undefined> {
  const { documents: found } = await documents.readPartition(partitionKey)
  const present = new Map(found.map(({ id, version }) => [id, version]))
  if (sameState(present, before)) return undefined
  if (!sameState(present, after))
    throw new Error(`${partitionKey}: an acknowledged write is lost, or half of one is there`)
  const version = versionOf(task.round, operation.index)
  return found.find((document) => document.version === version)?._lsn ?? 0
}

async function carryOut(
  collection: Collection<CrashDocument>,
  partitionKey: string,
  { index, operations }: LaneOperation,
): Promise<number> {
  const documentOf = (id: string): CrashDocument => ({
    id,
    lane: partitionKey,
    version: versionOf(task.round, index),
    filler: 'x'.repeat((index * 37) % 700),
  })
  const [first, ...others] = operations
  if (first === undefined) throw new Error('a lane always does something')
  if (others.length > 0) {
    const { lsn } = await collection.batch(
      partitionKey,
      operations.map(({ kind, id }) =>
        kind === 'delete' ? { kind, id } : { kind, document: documentOf(id) },
      ),
    )
    return lsn ?? -1
  }
  if (first.kind === 'delete') return (await collection.delete(first.id, partitionKey)).lsn
  return (await collection[first.kind](documentOf(first.id))).lsn
}
