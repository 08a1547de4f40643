import { FaultProcess } from '../fault-process.ts'
import { entriesOf, machineMs, type HistoryEntry, type HistoryEntryOf } from '../history.ts'
import { until } from '../until.ts'
import type { WorkerOrder, WorkerTask } from './worker-task.ts'

/** One host in a process of its own. */
export class Worker {
  readonly name: string
  readonly process: FaultProcess<WorkerTask>

  private constructor(name: string, process: FaultProcess<WorkerTask>) {
    this.name = name
    this.process = process
  }

  /** Resolves when its host has joined; rejects when the process ended before, with what it said. */
  static async start(task: WorkerTask): Promise<Worker> {
    return new Worker(task.hostName, await FaultProcess.start('campaign/worker.child.ts', task))
  }

  get history(): readonly HistoryEntry[] {
    return this.process.history
  }

  get hasEnded(): boolean {
    return this.process.hasEnded
  }

  entries<Kind extends HistoryEntry['kind']>(kind: Kind): readonly HistoryEntryOf<Kind>[] {
    return entriesOf(this.history, kind)
  }

  events(name: string, sinceMs = 0): readonly HistoryEntryOf<'event'>[] {
    return this.entries('event').filter((entry) => entry.name === name && entry.atMs >= sinceMs)
  }

  /** Leases that it has open, with their epochs. */
  openLeases(): ReadonlyMap<string, number> {
    const open = new Map<string, number>()
    for (const entry of this.history) {
      if (entry.kind === 'open') open.set(entry.lease, entry.epoch)
      if (entry.kind === 'close') open.delete(entry.lease)
    }
    return open
  }

  tell(order: WorkerOrder): void {
    this.process.tell(order)
  }

  async until(name: string, sinceMs: number): Promise<number> {
    await until(() => this.events(name, sinceMs).length > 0, { what: `${name} at ${this.name}` })
    return this.events(name, sinceMs)[0]?.atMs ?? machineMs()
  }

  /** Waits for some work of leases that were opened at any time. */
  async untilWorks(batches: number, sinceMs = 0): Promise<void> {
    const done = (): number => this.entries('complete').filter(({ atMs }) => atMs >= sinceMs).length
    await until(() => done() >= batches, {
      what: `${batches} batches done by ${this.name}`,
    })
  }
}
