import type { ModelPlace } from './environment.ts'

/** What a child of a model run is started with. */
export interface RunTask {
  readonly place: ModelPlace
  /** Queues and topics instead of documents. */
  readonly messaging: boolean
  readonly seed: number
  readonly maxSteps: number
  /** Kinds of steps that are left out. */
  readonly without: readonly string[]
}

/** Parent to child: sequences to run, `until` excluded. */
export interface RunRequest {
  readonly from: number
  readonly until: number
}

export interface FoundDifference {
  readonly sequence: number
  readonly message: string
  /** The program, cut down, as `programText` gives it. */
  readonly program: string
}

/** Child to parent. */
export interface RunAnswer {
  readonly sequences: number
  readonly differences: readonly FoundDifference[]
}
