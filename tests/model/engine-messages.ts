import type { FeedRange } from '@tidemark/contracts'

/** Parent to child: one call of its engine, at a time of the program's clock. */
export interface EngineCall {
  readonly number: number
  readonly nowMs: number
  /** Monotonic. */
  readonly passedMs: number
  /** Whose method it is: this database's; undefined = the store's. */
  readonly database: string | undefined
  readonly method: string
  /** As structured clone takes them. */
  readonly args: readonly unknown[]
}

/** Child to parent: what a call came to. */
export interface EngineAnswer {
  readonly number: number
  readonly value?: unknown
  readonly error?: EngineError
  /** The store's clock as that database knows it after the call. */
  readonly storeMs: number
}

/** Structured clone keeps neither the class nor the properties of an error. */
export interface EngineError {
  /** Undefined when it is nothing that an engine throws on purpose. */
  readonly code: `ERR_${string}` | undefined
  readonly message: string
  /** Of a range that is gone. */
  readonly successors: readonly FeedRange[] | undefined
}
