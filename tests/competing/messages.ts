import type { StorePlace } from '../crash/store-place.ts'

export interface ConsumerTask {
  readonly place: StorePlace
  readonly seed: number
  readonly journal: string
}

export type ConsumerMessage = { readonly kind: 'consuming' }
