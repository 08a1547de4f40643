import { setImmediate as nextTurn } from 'node:timers/promises'
import { Pool } from 'pg'
import type { PrototypeWrite } from '../../raw/prototype-schema.ts'
import { WRITE_GROUP } from './prototype-schema.ts'
import { textArray } from './text-array.ts'

const MAX_CONNECTIONS = 10
const MAX_GROUP = 1_000

interface Waiting {
  readonly write: PrototypeWrite
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** Writes in groups, one at a time for each segment: those that come meanwhile are the next group. */
export class PrototypeGroups implements AsyncDisposable {
  readonly #pool: Pool
  readonly #waiting = new Map<number, Waiting[]>()
  readonly #notifies: boolean

  constructor(url: string, { notifies = false }: { readonly notifies?: boolean } = {}) {
    this.#pool = new Pool({ connectionString: url, max: MAX_CONNECTIONS })
    this.#notifies = notifies
  }

  /** Resolves when it is durable. */
  write(write: PrototypeWrite): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiting = this.#waiting.get(write.segment)
    if (waiting !== undefined) waiting.push({ write, resolve, reject })
    else {
      const begun = [{ write, resolve, reject }]
      this.#waiting.set(write.segment, begun)
      void this.#run(write.segment, begun)
    }
    return promise
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.end()
  }

  /** Never rejects. */
  async #run(segment: number, waiting: Waiting[]): Promise<void> {
    while (waiting.length > 0) {
      await nextTurn()
      const group = waiting.splice(0, MAX_GROUP)
      try {
        await this.#commit(segment, group)
        for (const { resolve } of group) resolve()
      } catch (error) {
        for (const { reject } of group) reject(error)
      }
    }
    this.#waiting.delete(segment)
  }

  async #commit(segment: number, group: readonly Waiting[]): Promise<void> {
    // Of one document the newest, as one statement cannot write a row twice.
    const newest = new Map(group.map(({ write }) => [write.id, write]))
    const writes = [...newest.values()]
    await this.#pool.query({
      ...WRITE_GROUP,
      values: [
        segment,
        textArray(writes.map(({ epk }) => epk)),
        textArray(writes.map(({ pk }) => pk)),
        textArray(writes.map(({ id }) => id)),
        textArray(writes.map(({ body }) => body)),
        this.#notifies,
      ],
    })
  }
}
