import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import { createPrototype, PrototypeWriter, type PrototypeWrite } from './prototype-schema.ts'

interface Request {
  readonly ticket: number
  readonly batch: readonly PrototypeWrite[]
}

// Only `prototype-group-commit.ts` starts this worker, with the path of the file.
const database = new DatabaseSync(workerData as string)
createPrototype(database)
const writer = new PrototypeWriter(database)
let waiting: Request[] = []

function commitWaiting(): void {
  const group = waiting
  waiting = []
  database.exec('BEGIN IMMEDIATE')
  for (const { batch } of group) writer.write(batch)
  database.exec('COMMIT')
  parentPort?.postMessage(group.map(({ ticket }) => ticket))
}

parentPort?.on('message', (requests: readonly Request[] | 'close') => {
  if (requests === 'close') {
    database.close()
    parentPort?.close()
    return
  }
  if (waiting.length === 0) setImmediate(commitWaiting)
  waiting.push(...requests)
})
