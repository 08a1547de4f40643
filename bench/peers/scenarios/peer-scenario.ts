import type { PeerEntry, RunningPeer } from '../contract/peer.ts'
import type { SessionWriter } from '../session-writer.ts'

/** A running peer with what its scenarios need. */
export interface PeerSession {
  readonly entry: PeerEntry
  readonly peer: RunningPeer
  readonly options: PeerOptions
  /** What was loaded: 0 to this. */
  readonly documents: number
  /** A folder that nobody used. */
  readonly newFolder: () => Promise<string>
  readonly writer: SessionWriter
}

export interface PeerOptions {
  /** Of one load at 1,000 documents a second. */
  readonly seconds: number
  /** Where workers die: `TAKEOVER_MS`, or less in short runs. */
  readonly takeoverMs: number
}

export interface PeerColumn {
  /** As in the result file, after scenario and peer. */
  readonly name: string
  /** As in the table. */
  readonly heading: string
  readonly unit: string
}

/** Our default, `leaseExpirationIntervalMs`; peers get the same. */
export const TAKEOVER_MS = 8_000

/** Not measured, because the peer has no such thing. */
export const NONE = Number.NaN
/** It did not happen. */
export const NEVER = Number.POSITIVE_INFINITY

export type PeerFigures = Readonly<Record<string, number>>

/** Measures one peer; the runner takes peers in turns. */
export interface PeerScenario {
  readonly name: string
  readonly columns: readonly PeerColumn[]
  /** False: the peer is not in this scenario. @default every peer is */
  readonly includes?: ((entry: PeerEntry) => boolean) | undefined
  open(session: PeerSession): Promise<OpenedPeerScenario>
}

export interface OpenedPeerScenario extends AsyncDisposable {
  /** Not measured: what is slow only the first time. */
  readonly warmUp?: (() => Promise<void>) | undefined
  run(): Promise<PeerFigures>
}
