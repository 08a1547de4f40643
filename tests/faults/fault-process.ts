import { CampaignProcess } from '../campaign/campaign-process.ts'
import { HistoryReader, type HistoryEntry } from './history.ts'
import { until } from './until.ts'

/** What every program is started with. */
export interface FaultProcessTask {
  /** Its own, appended to. It notes the event `started` there when it has. */
  readonly historyFile: string
}

export type FaultProgram =
  | 'gateway/gateway.child.ts'
  | 'gateway/remote-host.child.ts'
  | 'ranges/range-host.child.ts'
  | 'ranges/range-changer.child.ts'
  | 'expiry/poller.child.ts'
  | 'expiry/sweeper.child.ts'
  | 'expiry/catch-up.child.ts'
  | '../soak/soak-host.child.ts'
  | 'campaign/worker.child.ts'
  | 'campaign/large-writer.child.ts'
  | 'campaign/log-reader.child.ts'
  | 'dead-letters/poison-host.child.ts'
  | 'rivals/counter.child.ts'
  | 'rivals/fenced-writer.child.ts'
  | 'host.child.ts'

/** One process that is going to be killed, and its history. */
export class FaultProcess<Task extends FaultProcessTask> extends CampaignProcess {
  readonly #history: HistoryReader

  protected constructor(program: FaultProgram, task: Task) {
    super(new URL(program, import.meta.url), task)
    this.#history = new HistoryReader(task.historyFile)
  }

  /** Resolves when it says that it has started. */
  static async start<Task extends FaultProcessTask>(
    program: FaultProgram,
    task: Task,
  ): Promise<FaultProcess<Task>> {
    const started = new FaultProcess(program, task)
    await started.untilNoted(program, 'started')
    return started
  }

  get history(): readonly HistoryEntry[] {
    return this.#history.entries()
  }

  /** How often an event was noted. */
  events(name: string): number {
    return this.history.filter((entry) => entry.kind === 'event' && entry.name === name).length
  }

  /** Resolves when it has noted an event. Hosts that wait for leases of a killed one start late. */
  protected async untilNoted(what: string, event: string): Promise<void> {
    try {
      await until(() => this.events(event) > 0 || this.hasEnded, { what: `${what} ${event}` })
    } catch (error) {
      await this.end()
      throw error
    }
    this.assertAlive()
  }
}
