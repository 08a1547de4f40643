import type { Holdings } from '../soak-tasks.ts'

export interface FrontTask {
  /** Of the store. */
  readonly folder: string
}

/** What the front holds; it answers each message with it. */
export interface FrontHoldings extends Holdings {
  /** Links that rhea has not let go of, in all connections. */
  readonly rheaLinks: number
}

export type FrontMessage =
  | { readonly kind: 'listening'; readonly port: number }
  | ({ readonly kind: 'holdings' } & FrontHoldings)

export interface LoadTask {
  readonly port: number
}

/** `pause` and `finish` are answered when nobody comes and goes any more; `finish` when everything has arrived, too. */
export type LoadOrder = 'pause' | 'go' | 'finish'

export interface LoadCounts {
  /** Clients of the official library that came, worked and went. */
  readonly visits: number
  /** Connections that broke off while they sent, received or waited. */
  readonly breaks: number
  /** Sockets that broke off in the middle of a frame. */
  readonly tornFrames: number
  readonly sent: number
  readonly completed: number
}

export type LoadMessage =
  | ({ readonly kind: 'paused' | 'going' } & LoadCounts)
  /** Messages that were sent and never came. */
  | ({ readonly kind: 'finished'; readonly missing: number } & LoadCounts)
