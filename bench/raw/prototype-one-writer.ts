import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { rateOf } from '../measuring/stopwatch.ts'
import { PrototypeData } from './prototype-data.ts'
import { createPrototype, PrototypeWriter, type PrototypeWrite } from './prototype-schema.ts'

/** The prototype written on the caller's own thread, synchronously: nothing is handed over. */
export class PrototypeOneWriter implements Disposable {
  readonly #database: DatabaseSync
  readonly #writer: PrototypeWriter
  readonly #data = new PrototypeData()
  #revision = 1

  constructor(folder: string, file = 'prototype.db') {
    this.#database = new DatabaseSync(join(folder, file))
    createPrototype(this.#database)
    this.#writer = new PrototypeWriter(this.#database)
  }

  /** Loads `count` documents from `first` on, a thousand a commit. */
  load(count: number, first = 0): void {
    for (let from = first; from < first + count; from += 1_000) {
      this.#commit(() => {
        for (let index = from; index < Math.min(from + 1_000, first + count); index++) {
          this.#writer.write([this.#data.write(index, 0)])
        }
      })
    }
  }

  /** Durable updates of one document each, per second. */
  measureSingle(documents: number, seconds: number): number {
    let index = 0
    return rateOf(() => {
      const write = this.#data.write(index++ % documents, this.#revision++)
      this.#commit(() => this.#writer.write([write]))
      return 1
    }, seconds)
  }

  /** Documents per second in durable transactions of `batches`, taken in turn. */
  measureBatches(indexes: readonly (readonly number[])[], seconds: number): number {
    let turn = 0
    return rateOf(() => {
      const batch = indexes[turn++ % indexes.length] ?? []
      const revision = this.#revision++
      const writes: readonly PrototypeWrite[] = batch.map((index) =>
        this.#data.write(index, revision),
      )
      this.#commit(() => this.#writer.write(writes))
      return batch.length
    }, seconds)
  }

  [Symbol.dispose](): void {
    this.#database.close()
  }

  #commit(write: () => void): void {
    this.#database.exec('BEGIN IMMEDIATE')
    write()
    this.#database.exec('COMMIT')
  }
}
