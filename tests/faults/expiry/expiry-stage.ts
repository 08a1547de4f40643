import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FaultProcess, type FaultProcessTask, type FaultProgram } from '../fault-process.ts'
import {
  openExpiringStore,
  type ExpiringStore,
  type ExpiringStoreOptions,
} from './expiring-store.ts'

/** A folder, and the processes that use it at once. */
export class ExpiryStage implements AsyncDisposable {
  readonly #folder: string
  readonly #processes: FaultProcess<FaultProcessTask>[] = []
  #started = 0

  private constructor(folder: string) {
    this.#folder = folder
  }

  static async open(): Promise<ExpiryStage> {
    return new ExpiryStage(await mkdtemp(join(tmpdir(), 'tidemark-expiry-')))
  }

  /** The store in this process, which leaves background work to others. */
  openStore(clockOffsetMs = 0): Promise<ExpiringStore> {
    return openExpiringStore({ folder: this.#folder, clockOffsetMs, maintenance: 'manual' })
  }

  async start(
    program: FaultProgram,
    options: Partial<ExpiringStoreOptions> & Readonly<Record<string, unknown>> = {},
  ): Promise<FaultProcess<FaultProcessTask>> {
    const historyFile = join(this.#folder, `history-${this.#started++}.jsonl`)
    const task = {
      folder: this.#folder,
      clockOffsetMs: 0,
      maintenance: 'manual',
      ...options,
      historyFile,
    }
    const started = await FaultProcess.start(program, task)
    this.#processes.push(started)
    return started
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#processes.map((process) => process.end()))
    await rm(this.#folder, { recursive: true, force: true })
  }
}
