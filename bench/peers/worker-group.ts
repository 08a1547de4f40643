import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { BenchChild } from '../measuring/child-process.ts'
import { machineMs } from '../measuring/stopwatch.ts'
import type { PeerEntry } from './contract/peer.ts'
import { judgeHandled } from './judging/judge-handled.ts'
import { countHandled, readHandled, type Handled } from './judging/handled-log.ts'
import type { PeerWorkerReply, PeerWorkerRequest } from './peer-worker.child.ts'

export type WorkerProcess = BenchChild<PeerWorkerRequest, PeerWorkerReply>

const LOOK_MS = 5
const SHARE_LIMIT_MS = 30_000

/** Types are taken off our sources once, not in each worker and thread: users run JavaScript. */
const COMPILE_CACHE = fileURLToPath(
  new URL('../../node_modules/.cache/compile-cache', import.meta.url),
)

/** Starts a process that has loaded a peer's worker, and belongs to no group yet. */
export async function startWorker(
  { worker }: PeerEntry,
  { env }: { readonly env?: NodeJS.ProcessEnv | undefined } = {},
): Promise<WorkerProcess> {
  const file = new URL('peer-worker.child.ts', import.meta.url)
  const child = await BenchChild.start<PeerWorkerRequest, PeerWorkerReply>(file, {
    env: { NODE_COMPILE_CACHE: COMPILE_CACHE, ...env },
  })
  await child.call({ kind: 'load', worker: worker.href })
  return child
}

export interface GroupOptions {
  readonly entry: PeerEntry
  /** From `RunningPeer.newGroup`. */
  readonly place: object
  readonly pageSize: number
  readonly takeoverMs: number
  /** For logs; anew for each group. */
  readonly folder: string
}

/** Worker processes that belong to one group; what they handle is in their logs. */
export class WorkerGroup {
  readonly workers: readonly WorkerProcess[]
  readonly #logs: readonly string[]
  readonly #entry: PeerEntry

  private constructor(
    workers: readonly WorkerProcess[],
    logs: readonly string[],
    entry: PeerEntry,
  ) {
    this.workers = workers
    this.#logs = logs
    this.#entry = entry
  }

  /** Lets the workers join one after the other; they take nothing before `go`. */
  static async join(
    workers: readonly WorkerProcess[],
    { entry, place, pageSize, takeoverMs, folder }: GroupOptions,
  ): Promise<WorkerGroup> {
    const logs = workers.map((_, index) => join(folder, `handled-${index}`))
    for (const [worker, child] of workers.entries()) {
      await child.call({
        kind: 'join',
        place,
        log: logs[worker]!,
        pageSize,
        worker,
        workers: workers.length,
        takeoverMs,
      })
    }
    return new WorkerGroup(workers, logs, entry)
  }

  /** Where one worker stands by, that is the last one. */
  async go(): Promise<void> {
    for (const worker of this.workers) {
      await worker.call({ kind: 'go' })
      if (this.#entry.sharing === 'standby') await this.shared()
    }
  }

  /** Resolves when the workers share as their peer does. */
  async shared(): Promise<void> {
    const deadline = machineMs() + SHARE_LIMIT_MS
    for (;;) {
      const replies = await Promise.all(this.workers.map((worker) => worker.call({ kind: 'look' })))
      if (isShared(replies, this.#entry)) return
      if (machineMs() > deadline) throw new Error(`no even shares: ${JSON.stringify(replies)}`)
      await sleep(LOOK_MS)
    }
  }

  /** Resolves when so many documents were handled, or when there was nothing new for `patienceMs`. */
  async untilHandled(count: number, patienceMs: number): Promise<void> {
    let newest = 0
    let repeats = 0
    let deadline = machineMs() + patienceMs
    while (machineMs() < deadline) {
      const entries = this.#logs.reduce((sum, log) => sum + countHandled(log), 0)
      if (entries > newest) deadline = machineMs() + patienceMs
      newest = entries
      // Logs are read only when they could be complete.
      if (entries - repeats >= count) repeats = judgeHandled(this.handled()).repeats
      if (entries - repeats >= count) return
      await sleep(LOOK_MS)
    }
  }

  /** Of each worker. */
  handled(): readonly (readonly Handled[])[] {
    return this.#logs.map((log) => readHandled(log))
  }

  async leave(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.call({ kind: 'leave' })))
  }
}

function isShared(replies: readonly PeerWorkerReply[], { parts, sharing }: PeerEntry): boolean {
  if (parts === undefined) return true
  const shares = replies.map((reply) => reply.shares ?? 0)
  const sum = shares.reduce((total, each) => total + each, 0)
  return sum === parts && (sharing === 'standby' || shares.every((each) => each === shares[0]))
}
