import type { StorePlace } from '../store-place.ts'

export interface WorkerTask {
  readonly place: StorePlace
  readonly seed: number
  readonly round: number
  /** Which of the round's workers. */
  readonly share: number
  readonly journal: string
}

/** Worker to parent, once its lanes have begun. */
export type WorkerMessage = { readonly kind: 'working' }
