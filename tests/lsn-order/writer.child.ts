import { closeSync, openSync, writeSync } from 'node:fs'
import { errorCode } from '@tidemark/contracts'
import { generator } from '../crash/lane.ts'
import { endWithParent, tellLast } from './child-end.ts'
import { acknowledgementLine } from './logs.ts'
import { openFeed } from './open-feed.ts'
import type { OrderWriterMessage, OrderWriterTask } from './order-tasks.ts'
import type { WrittenRow } from './ordered-feed.ts'

/* Writes in several lanes at once, one transaction after the other in each, until it is told to stop. */

/** Groups of a lane: so that ranges can be split between them. */
const GROUPS = 8
const HOT_SHARE = 0.2
const BATCH_SHARE = 0.25
const MAX_BATCH = 5

endWithParent()
// The run is the only caller.
const task = JSON.parse(process.argv[2] ?? '') as OrderWriterTask
const log = openSync(task.log, 'a')
let isStopping = false
let unknownOutcomes = 0
{
  await using feed = await openFeed(task)
  process.once('message', () => {
    isStopping = true
  })
  process.send?.({ kind: 'started' } satisfies OrderWriterMessage)
  await Promise.all(task.lanes.map((lane) => writeLane(lane, (rows) => feed.write(rows))))
}
closeSync(log)
await tellLast({ kind: 'written', unknownOutcomes } satisfies OrderWriterMessage)

async function writeLane(
  lane: number,
  write: (rows: readonly WrittenRow[]) => Promise<number>,
): Promise<void> {
  const chance = generator(task.seed * 1_009 + lane)
  const hotVersions = new Map<string, number>()
  for (let index = 0; !isStopping; index++) {
    const rows = nextRows({ lane, index, chance, hotVersions })
    try {
      const lsn = await write(rows)
      // One write(2): in the system's hands before anything else happens.
      writeSync(log, acknowledgementLine(lsn, rows))
    } catch (error) {
      // The only thing that a server may do to a writer: the write may have happened, or not.
      if (errorCode(error) !== 'ERR_STORE_UNAVAILABLE') throw error
      unknownOutcomes++
    }
  }
}

/** Mostly rows of their own, which no later version hides; some with a version above the last one. */
function nextRows({
  lane,
  index,
  chance,
  hotVersions,
}: {
  readonly lane: number
  readonly index: number
  readonly chance: () => number
  readonly hotVersions: Map<string, number>
}): readonly WrittenRow[] {
  const group = `lane-${lane}-${Math.floor(chance() * GROUPS)}`
  if (chance() < HOT_SHARE) {
    const version = (hotVersions.get(group) ?? 1) + 1
    hotVersions.set(group, version)
    return [{ group, id: 'hot', version }]
  }
  const count = chance() < BATCH_SHARE ? 2 + Math.floor(chance() * (MAX_BATCH - 1)) : 1
  return Array.from({ length: count }, (_, part) => {
    return { group, id: `r${index}-${part}`, version: 1 }
  })
}
