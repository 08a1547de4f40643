import type { StorePlace } from '../store-place.ts'

export interface FrontTask {
  readonly place: StorePlace
  /** 0: any free one. */
  readonly port: number
}

export type FrontMessage = { readonly kind: 'listening'; readonly port: number }

export interface ClientsTask {
  readonly port: number
  readonly seed: number
  /** Of lanes that pause while the server is away. */
  readonly journal: string
  /** Of the lane that does not: its calls are retried until the server is there again. */
  readonly patientJournal: string
}

/** What the clients are told: each is answered. */
export type ClientsOrder = 'go' | 'pause' | 'finish'

export type ClientsMessage =
  /** Every call of the lanes that pause has ended, and no other one begins. */
  { readonly kind: 'paused' } | { readonly kind: 'going' } | { readonly kind: 'finished' }
