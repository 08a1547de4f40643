import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FaultProcess, type FaultProcessTask, type FaultProgram } from '../fault-process.ts'
import {
  openExpiringStore,
  type ExpiringStore,
  type ExpiringStoreOptions,
} from './expiring-store.ts'

/** A store, and the processes that use it at once. */
export class ExpiryStage implements AsyncDisposable {
  readonly #folder: string
  readonly #postgresUrl: string | undefined
  readonly #processes: FaultProcess<FaultProcessTask>[] = []
  #started = 0

  private constructor(folder: string, postgresUrl: string | undefined) {
    this.#folder = folder
    this.#postgresUrl = postgresUrl
  }

  /** `postgresUrl`: of an empty database for the store. Without it, the store is in the folder. */
  static async open({
    postgresUrl,
  }: { readonly postgresUrl?: string | undefined } = {}): Promise<ExpiryStage> {
    return new ExpiryStage(await mkdtemp(join(tmpdir(), 'tidemark-expiry-')), postgresUrl)
  }

  /** The store in this process, which leaves background work to others. */
  openStore(clockOffsetMs = 0): Promise<ExpiringStore> {
    const place = { folder: this.#folder, postgresUrl: this.#postgresUrl }
    return openExpiringStore({ ...place, clockOffsetMs, maintenance: 'manual' })
  }

  async start(
    program: FaultProgram,
    options: Partial<ExpiringStoreOptions> & Readonly<Record<string, unknown>> = {},
  ): Promise<FaultProcess<FaultProcessTask>> {
    const historyFile = join(this.#folder, `history-${this.#started++}.jsonl`)
    const task = {
      folder: this.#folder,
      postgresUrl: this.#postgresUrl,
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
