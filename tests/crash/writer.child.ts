import type { Collection } from '@tidemark/store'
import { AcknowledgementLog } from './acknowledgements.ts'
import { openCrashStore, type CrashDocument } from './crash-store.ts'
import { Lane, partitionKeyOfLane, versionOf, type LaneOperation } from './lane.ts'
import type { WriterMessage, WriterTask } from './messages.ts'

/* Writes until it is killed. */

// Only the crash command starts this file, with a task.
const task = JSON.parse(process.argv[2] ?? '') as WriterTask
const { documents } = await openCrashStore(task)
const log = new AcknowledgementLog(task.log)
await Promise.all(task.lanes.map((lane) => writeForEver(lane)))

async function writeForEver(number: number): Promise<void> {
  const partitionKey = partitionKeyOfLane(number)
  const present = await documents.readPartition(partitionKey)
  const before = new Map(present.documents.map(({ id, version }) => [id, version]))
  const lane = new Lane({ ...task, lane: number }, before)
  if (number === task.lanes.at(-1)) process.send?.({ kind: 'writing' } satisfies WriterMessage)
  for (;;) {
    const operation = lane.next()
    const lsn = await carryOut(documents, partitionKey, operation)
    log.note({ lane: number, index: operation.index, lsn })
  }
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
