import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { PostgresProcess } from '@tidemark/testing/servers'
import { startBenchServer } from '../postgres/bench-server.ts'

export type GroundEngine = 'sqlite' | 'postgres'

/** Of everyone's pool: our engine's default. */
export const CONNECTIONS = 10

/** Where one scenario keeps its stores, and those that it compares with: a folder, or a server of its own. */
export class Ground implements AsyncDisposable {
  readonly #folder: string
  readonly #server: PostgresProcess | undefined
  #places = 0

  private constructor(folder: string, server: PostgresProcess | undefined) {
    this.#folder = folder
    this.#server = server
  }

  static async of(engine: GroundEngine, folder: string): Promise<Ground> {
    return new Ground(folder, engine === 'postgres' ? await startBenchServer() : undefined)
  }

  /** For one more store: a folder, or the URL of a database. */
  async newPlace(): Promise<string> {
    if (this.#server !== undefined) return this.#server.createDatabase()
    const place = join(this.#folder, String(++this.#places))
    await mkdir(place)
    return place
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.[Symbol.asyncDispose]()
  }
}
