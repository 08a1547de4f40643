import { appendFileSync } from 'node:fs'
import { generator } from '../lane.ts'
import { openPowerStore } from './power-store.ts'
import type { PowerTask } from './run-power.ts'

/* Writes until it is killed, and notes what it was told: each line is one write(2). */

const LANES = 8
const FLUSH_SHARE = 0.005
const READ_SHARE = 0.05

// Only the crash command starts this file, with a task.
const task = JSON.parse(process.argv[2] ?? '') as PowerTask
const { documents } = await openPowerStore(task)
let acknowledged = 0
let continuation: string | undefined
process.send?.({ kind: 'writing' })
await Promise.all(Array.from({ length: LANES }, (_, lane) => writeForEver(lane)))

function note(...words: readonly (string | number)[]): void {
  appendFileSync(task.log, `${words.join(' ')}\n`)
}

async function writeForEver(lane: number): Promise<void> {
  const chance = generator(task.seed * 1_000_003 + task.share * 101 + lane)
  for (let index = 0; ; index++) {
    const id = `${task.round}.${task.share}.${lane}.${index}`
    const sync = chance() < task.syncShare
    const document = { id, pk: `p${lane}`, filler: 'x'.repeat(Math.floor(chance() * 700)) }
    const { lsn = 0 } = await documents.batch(document.pk, [{ kind: 'create', document }], { sync })
    note('done', id, lsn, sync ? 'synced' : 'unsynced')
    acknowledged++
    if (chance() < FLUSH_SHARE) {
      const before = acknowledged
      await documents.flush()
      note('flushed', before)
    }
    if (chance() < READ_SHARE) await readOn()
  }
}

async function readOn(): Promise<void> {
  const from = continuation === undefined ? 'now' : { continuation }
  for await (const page of documents.changes({ from, follow: false })) {
    continuation = page.continuation
  }
  if (continuation !== undefined) note('read', continuation)
}
