import type { MessageBroker } from '@tidemark/messaging'
import type { AccessRight, MessageFront, SessionLink } from '@tidemark/messaging/front'
import type { ConnectionClaims } from '../access/connection-claims.ts'
import type { RheaLink, RheaSession } from '../rhea/rhea-internals.ts'
import type { Transactions } from '../transactions/transactions.ts'

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
  /** Called after our attach was sent. */
  begin(): void
  /** Ends the link. Resolves when it holds nothing and nothing of it is running. */
  end(): Promise<void>
}

/** What links see of their connection. */
export interface LinkHost {
  readonly broker: MessageBroker
  readonly front: MessageFront
  readonly claims: ConnectionClaims
  readonly links: HostedLinks
  readonly transactions: Transactions
  /** The client has shown another token. */
  claimed(): void
  /** Resolves when the client has taken enough of what was written. */
  writable(): Promise<void>
  /** Waits a moment for what is on its way to the client. */
  pause(): Promise<void>
  /** Bytes of a transfer are no longer held. */
  release(bytes: number): void
  /** Reports an error that is ours. */
  report(place: string, error: unknown): void
}

/** Takes answers to requests. */
export interface AnswerTaker {
  send(answer: Buffer): void
}

/** What a link sees of the others. */
export interface HostedLinks {
  /** Closes one with an error, which is also reported if it is ours. */
  close(link: RheaLink, error: unknown): void
  /** The one that takes the answers of a node: by its name, or by its target, that of the request's session before others. */
  answerLink(
    path: string,
    replyTo: string | undefined,
    session: RheaSession,
  ): AnswerTaker | undefined
  /** @throws ERR_SESSION_LOCK_LOST when none of them holds it */
  heldSession(path: string, sessionId: string, linkName: string | undefined): SessionLink
}

/** What a batch, or a request, adds to the messages in it. */
export const ENVELOPE_BYTES: number = 64 * 1024

/** Any of these opens the management node of an entity: each operation needs its own. */
export const NODE_RIGHTS: readonly AccessRight[] = ['Listen', 'Send', 'Manage']
