import type { MigrationProgress } from 'tidemark'
import type { City } from './city.ts'
import { DemoProcess } from './child-process.ts'
import type { DemoPlan } from './demo-plan.ts'
import type { ChildMessage } from './messages.ts'
import { Takeovers } from './takeovers.ts'

/** For what never comes: a machine that is busy may take long to start a process. */
const READY_LIMIT_MS = 120_000

/** The demo's processes: workers that come and go, and the writer. */
export class Crew implements AsyncDisposable {
  readonly #plan: DemoPlan
  readonly #processes = new Map<string, DemoProcess>()
  readonly #statuses = new Map<string, string>()
  readonly #departed = new Set<string>()
  readonly #takeovers = new Takeovers()
  readonly #ready = new Map<string, () => void>()
  readonly #failures: string[] = []
  readonly #retries = new Map<string, number>()
  readonly #ledger = Promise.withResolvers<readonly City[]>()
  #writes = 0

  constructor(plan: DemoPlan) {
    this.#plan = plan
  }

  /** Writes that were acknowledged so far. */
  get writes(): number {
    return this.#writes
  }

  get takeovers(): number {
    return this.#takeovers.count
  }

  /** How often each kind of failure was reported and retried. */
  get retries(): ReadonlyMap<string, number> {
    return this.#retries
  }

  /** What workers reported, the last few. */
  get failures(): readonly string[] {
    return this.#failures
  }

  get workers(): readonly { readonly name: string; readonly status: string }[] {
    return [...this.#statuses].map(([name, status]) => ({ name, status }))
  }

  async startWorker(name: string): Promise<void> {
    this.#statuses.set(name, 'starting')
    await this.#start(new URL('./worker.ts', import.meta.url), name)
    this.#statuses.set(name, 'running')
  }

  async startWriter(): Promise<void> {
    await this.#start(new URL('./writer.ts', import.meta.url), WRITER)
  }

  /** Ends the writer and hands its ledger over. */
  async stopWriter(): Promise<readonly City[]> {
    const writer = this.#process(WRITER)
    writer.tell({ kind: 'stop' })
    const ended = writer.ended().then((how) => {
      throw new Error(`the writer ended (${how}) without its ledger: ${writer.errors}`)
    })
    const ledger = await Promise.race([this.#ledger.promise, ended])
    ended.catch(() => {})
    return ledger
  }

  kill(name: string, seen: MigrationProgress): void {
    this.#depart(name, seen)
    this.#statuses.set(name, 'SIGKILL')
    this.#process(name).kill('SIGKILL')
  }

  /** Resolves when the worker has handed its ranges over and ended by itself. */
  async terminate(name: string, seen: MigrationProgress): Promise<void> {
    this.#depart(name, seen)
    this.#statuses.set(name, 'SIGTERM')
    const worker = this.#process(name)
    worker.kill('SIGTERM')
    const how = await worker.ended()
    if (how !== 0) throw new Error(`${name} ended with ${how} after SIGTERM: ${worker.errors}`)
    this.#statuses.set(name, 'left')
  }

  /** Fails when a process ended that nobody ended. */
  check(): void {
    for (const [name, child] of this.#processes) {
      if (!child.running && !this.#departed.has(name) && name !== WRITER) {
        throw new Error(`${name} ended by itself: ${child.errors}`)
      }
    }
  }

  /** Owners as the leases have them: a worker that was killed may not have told all its turns. */
  observe({ ranges }: MigrationProgress): void {
    for (const { leaseId, epoch, owner } of ranges) {
      if (owner !== undefined) this.#takeovers.saw({ leaseId, epoch, worker: owner })
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#processes.values()) {
      if (child.running) child.kill('SIGKILL')
      await child.ended()
    }
  }

  async #start(module: URL, name: string): Promise<void> {
    const { promise: ready, resolve } = Promise.withResolvers<void>()
    this.#ready.set(name, resolve)
    const child = new DemoProcess(module, name, this.#plan, (message) => this.#hear(message, name))
    this.#processes.set(name, child)
    const late = setTimeout(() => child.kill('SIGKILL'), READY_LIMIT_MS)
    try {
      const ended = child.ended().then((how) => {
        throw new Error(`${name} did not start (${how}): ${child.errors}`)
      })
      await Promise.race([ready, ended])
      ended.catch(() => {})
    } finally {
      clearTimeout(late)
    }
  }

  #hear(message: ChildMessage, from: string): void {
    switch (message.kind) {
      case 'ready':
        this.#ready.get(from)?.()
        break
      case 'rangeAcquired':
        this.#takeovers.saw({ ...message, worker: from })
        break
      case 'failure':
        this.#retries.set(message.what, (this.#retries.get(message.what) ?? 0) + 1)
        this.#failures.push(`${from}: ${message.what}: ${message.message}`)
        if (this.#failures.length > 20) this.#failures.shift()
        break
      case 'written':
        this.#writes = message.writes
        break
      case 'ledger':
        this.#writes = message.writes
        this.#ledger.resolve(message.cities)
        break
    }
  }

  #depart(worker: string, { ranges }: MigrationProgress): void {
    this.#departed.add(worker)
    for (const { leaseId, epoch, owner } of ranges) {
      if (owner === worker) this.#takeovers.cutShort({ leaseId, epoch, worker })
    }
  }

  #process(name: string): DemoProcess {
    const child = this.#processes.get(name)
    if (child === undefined) throw new Error(`there is no process ${name}`)
    return child
  }
}

const WRITER = 'writer'
