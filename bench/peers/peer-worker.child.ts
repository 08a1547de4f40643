import { writeFileSync } from 'node:fs'
import { orderIndex, type OrderDocument } from '../data/order-document.ts'
import { serveParent } from '../measuring/child-process.ts'
import { machineMs } from '../measuring/stopwatch.ts'
import type { JoinedWorker, JoinGroup } from './contract/worker.ts'
import { HandledLog } from './judging/handled-log.ts'

export type PeerWorkerRequest =
  /** Loads the peer's worker. */
  | { readonly kind: 'load'; readonly worker: string }
  | {
      readonly kind: 'join'
      readonly place: object
      readonly log: string
      readonly pageSize: number
      readonly worker: number
      readonly workers: number
      readonly takeoverMs: number
    }
  /** Opens the gate. */
  | { readonly kind: 'go' }
  | { readonly kind: 'look' }
  /** The worker sends itself `signal` with the next page at hand. The file `note` then has the machine clock. */
  | { readonly kind: 'end'; readonly signal: NodeJS.Signals; readonly note: string }
  | { readonly kind: 'leave' }

export interface PeerWorkerReply {
  readonly shares: number | undefined
}

let join: JoinGroup<object> | undefined
let joined: JoinedWorker | undefined
let log: HandledLog | undefined
let gate = Promise.withResolvers<void>()
let ending: { readonly signal: NodeJS.Signals; readonly note: string } | undefined
/** Kept, so that nothing is left unread. */
let total = 0

function handle(documents: readonly OrderDocument[]): void {
  if (ending !== undefined && documents.length > 0) endNow(ending)
  const nowMs = machineMs()
  for (const document of documents) {
    total += document.total
    log?.add(orderIndex(document.id), nowMs)
  }
}

/** Goes on after SIGCONT, as if nothing had been. */
function endNow({ signal, note }: { signal: NodeJS.Signals; note: string }): void {
  ending = undefined
  writeFileSync(note, String(machineMs()))
  process.kill(process.pid, signal)
}

serveParent(async (request: PeerWorkerRequest): Promise<PeerWorkerReply> => {
  switch (request.kind) {
    case 'load':
      ;({ join } = (await import(request.worker)) as { readonly join: JoinGroup<object> })
      break
    case 'join':
      if (join === undefined) throw new Error('no worker was loaded')
      log = new HandledLog(request.log)
      gate = Promise.withResolvers()
      joined = await join({ ...request, gate: gate.promise }, handle)
      break
    case 'go':
      gate.resolve()
      break
    case 'look':
      break
    case 'end':
      ending = request
      break
    case 'leave':
      await joined?.[Symbol.asyncDispose]()
      log?.[Symbol.dispose]()
      joined = undefined
      if (Number.isNaN(total)) throw new Error('a document had no total')
  }
  return { shares: joined?.shares }
})
