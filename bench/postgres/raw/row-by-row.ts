import { Pool } from 'pg'
import type { PrototypeWrite } from '../../raw/prototype-schema.ts'
import { WRITE_GROUP } from './prototype-schema.ts'
import { textArray } from './text-array.ts'

/**
 * A commit for each document, of as many connections as there are writers: the prototype's own function with one
 * document in it, so that a writer holds the range's lock for one round trip's work and one sync.
 */
export class RowByRow implements AsyncDisposable {
  readonly #pool: Pool

  constructor(url: string, writers: number) {
    this.#pool = new Pool({ connectionString: url, max: writers })
  }

  /** Resolves when it is durable. */
  async write({ segment, epk, pk, id, body }: PrototypeWrite): Promise<void> {
    const values = [segment, textArray([epk]), textArray([pk]), textArray([id]), textArray([body])]
    await this.#pool.query({ ...WRITE_GROUP, values: [...values, false] })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.end()
  }
}
