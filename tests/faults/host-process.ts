import { join } from 'node:path'
import { FaultProcess, type FaultProcessTask } from './fault-process.ts'
import { entriesOf, type HistoryEntry, type HistoryEntryOf } from './history.ts'

export interface HostProcessOptions {
  readonly hostName: string
  readonly group: string
  /** The store's folder; histories are kept beside it. */
  readonly folder: string
  /** Of Redis, or of a proxy in front of it; undefined: leases are documents in the folder. */
  readonly redisPort: number | undefined
  readonly renewMs: number
  readonly expirationMs: number
  readonly maxItemCount: number
  /** How long the observer works on a batch. */
  readonly observerMs: number
  /** Whether the observer asks for a checkpoint itself, too, and notes the answer. */
  readonly checkpointInObserver: boolean
}

/** Short, so that a test is; still four heartbeats in a session. */
export const FAULT_TIMES = { renewMs: 500, expirationMs: 2_000 } as const

/** Changes of a batch of these hosts at most. */
export const MAX_ITEM_COUNT = 20

interface HostTask extends HostProcessOptions, FaultProcessTask {}

/** One host in a process of its own. */
export class HostProcess extends FaultProcess<HostTask> {
  readonly name: string

  private constructor(options: HostProcessOptions, label: string) {
    super('host.child.ts', {
      ...options,
      historyFile: join(options.folder, `history-${label}.jsonl`),
    })
    this.name = label
  }

  /**
   * Starts a host and waits until `registerObserver` resolved.
   *
   * `label` names the process and its history where two processes have one host name.
   */
  static async begin(options: HostProcessOptions, label = options.hostName): Promise<HostProcess> {
    const host = new HostProcess(options, label)
    await host.untilNoted(label, 'registered')
    return host
  }

  entries<Kind extends HistoryEntry['kind']>(kind: Kind): readonly HistoryEntryOf<Kind>[] {
    return entriesOf(this.history, kind)
  }

  eventsNamed(name: string): readonly HistoryEntryOf<'event'>[] {
    return this.entries('event').filter((entry) => entry.name === name)
  }
}
