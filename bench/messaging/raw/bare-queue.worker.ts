import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import { configureConnection } from '../../raw/prototype-schema.ts'
import { BareQueueTables, type BareCommand, type BareMessage } from './bare-queue-commands.ts'

export interface BareRequest {
  readonly ticket: number
  readonly command: BareCommand
}

export interface BareReply {
  readonly ticket: number
  readonly messages: readonly BareMessage[]
}

// Only `bare-queue.ts` starts this worker, with the path of the file.
const database = new DatabaseSync(workerData as string)
configureConnection(database)
const tables = new BareQueueTables(database)
let waiting: BareRequest[] = []

function commitWaiting(): void {
  const group = waiting
  waiting = []
  database.exec('BEGIN IMMEDIATE')
  const replies = group.map(({ ticket, command }): BareReply => ({
    ticket,
    messages: tables.perform(command),
  }))
  database.exec('COMMIT')
  parentPort?.postMessage(replies)
}

parentPort?.on('message', (requests: readonly BareRequest[] | 'close') => {
  if (requests === 'close') {
    database.close()
    parentPort?.close()
    return
  }
  if (waiting.length === 0) setImmediate(commitWaiting)
  waiting.push(...requests)
})
