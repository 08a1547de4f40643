import type { AccessRight, MessageFront, SessionLink } from '@tidemark/messaging/front'
import type { ConnectionClaims } from '../connections/claims.ts'
import type { RheaLink, RheaSender } from '../connections/rhea-internals.ts'

/** A link that a client has opened. */
export interface ClientLink {
  /** Of its entity or node. */
  readonly path: string
  /** The link may stay while the client has one of these. None: no right is needed. */
  readonly rights: readonly AccessRight[]
  /** The session that it holds. */
  readonly session?: SessionLink | undefined
  /** The most bytes of a transfer from the client. */
  readonly maxTransferBytes: number
  /** Our attach is on its way. */
  begin(): void
  /** The link has ended. Resolves when nothing of it is held or runs any more. */
  end(): Promise<void>
}

/** What links see of their connection. */
export interface LinkHost {
  readonly front: MessageFront
  readonly claims: ConnectionClaims
  /** Resolves when the client has taken enough of what was written. */
  writable(): Promise<void>
  /** A short time, for what is on its way. */
  pause(): Promise<void>
  /** Bytes of a transfer are no longer held. */
  release(bytes: number): void
  /** Closes a link with an error, which is also reported if it is ours. */
  close(link: RheaLink, error: unknown): void
  /** Reports an error that is ours. */
  report(place: string, error: unknown): void
  /** The client's link that takes answers of a node: by its name, or by its target. */
  answerLink(path: string, replyTo: string): RheaSender | undefined
}
