import { Worker } from 'node:worker_threads'
import { ResourceNotFoundError } from '@tidemark/contracts'
import { errorFromPortable } from '../connection/sqlite-error.ts'
import type { CheckThreadData, FromChecker } from '../writer/writer-messages.ts'
import { threadFile } from './writer-threads.ts'

/** Checks single files, each in a thread of its own: SQLite's part is one statement, which can take minutes. */
export class FileChecks {
  readonly #file: string
  readonly #databaseId: string
  readonly #threads = new Set<Promise<void>>()

  constructor(file: string, databaseId: string) {
    this.#file = file
    this.#databaseId = databaseId
  }

  /** Rejects with ERR_NOT_FOUND when the database was deleted. */
  async run(): Promise<readonly string[]> {
    const workerData: CheckThreadData = { fileToCheck: this.#file }
    const worker = new Worker(threadFile(), { workerData })
    const found = Promise.withResolvers<FromChecker>()
    const ended = Promise.withResolvers<void>()
    worker.on('message', found.resolve)
    worker.on('error', found.reject)
    worker.on('exit', () => {
      found.reject(new Error('the thread that checks a database ended'))
      ended.resolve()
      this.#threads.delete(ended.promise)
    })
    this.#threads.add(ended.promise)
    const result = await found.promise
    if (result.kind === 'failed') throw errorFromPortable(result.error)
    if (result.kind === 'gone') throw new ResourceNotFoundError('database', this.#databaseId)
    return result.problems
  }

  /** Resolves when no thread is left. */
  async ended(): Promise<void> {
    await Promise.all(this.#threads)
  }
}
