import { errorCode } from '@tidemark/contracts'
import type { Database } from '@tidemark/store'
import type { ModelCollection, Stage } from './environment.ts'
import type { Model } from './model.ts'
import { SeededRandom } from '@tidemark/testing/simulation'

/** One run of one program: the store, the model, and where the run stands. */
export class Session {
  readonly stage: Stage
  readonly model: Model
  /** For what does not matter to the outcome, such as the sizes of pages that are compared. */
  readonly random = new SeededRandom(1)
  /** Etags of versions by their number: opaque, so that they are learned from what is read. */
  readonly etags = new Map<number, string>()
  /** The present step. */
  commit = 0
  /** Which handle of the store it goes through. */
  via = 0
  #lastNumber = 0

  constructor(stage: Stage, model: Model) {
    this.stage = stage
    this.model = model
  }

  get collection(): ModelCollection {
    return this.stage.collection(this.via)
  }

  get database(): Database {
    return this.stage.database(this.via)
  }

  /** Names a version: none comes twice in a program. */
  nextNumber(): number {
    return ++this.#lastNumber
  }
}

/** What a call came to: what it resolves with, or the code of what it rejects with. */
export type Outcome<Value> =
  | { readonly kind: 'done'; readonly value: Value }
  | { readonly kind: 'failed'; readonly code: string; readonly error: unknown }

/** Throws what is no coded error: that is nothing that a store may answer. */
export async function outcomeOf<Value>(promise: Promise<Value>): Promise<Outcome<Value>> {
  try {
    return { kind: 'done', value: await promise }
  } catch (error) {
    const code = errorCode(error)
    if (code === undefined) throw error
    return { kind: 'failed', code, error }
  }
}

export function outcomeCode(outcome: Outcome<unknown>): string {
  return outcome.kind === 'done' ? 'done' : outcome.code
}
