import type { MessageBroker } from '@tidemark/messaging'
import type { AccessRight, MessageFront, SessionLink } from '@tidemark/messaging/front'
import type { Typed } from 'rhea'
import type { Transaction } from '../transactions/transaction.ts'
import type { RequestFields } from './request-fields.ts'

/** What an operation sees of the `$management` node that it was sent to, and of its connection. */
export interface ManagementContext {
  readonly broker: MessageBroker
  readonly front: MessageFront
  /** Of the entity, without `/$management`; also that of a dead-letter queue. */
  readonly path: string
  /** It is a transfer dead-letter queue. */
  readonly isEmpty: boolean
  /** @throws ERR_UNAUTHORIZED_ACCESS */
  assertRight(right: AccessRight): void
  /** The session as a link of this connection holds it. @throws ERR_SESSION_LOCK_LOST */
  heldSession(sessionId: string, linkName: string | undefined): SessionLink
  /** Of an operation, for a log: it is not the client's fault. */
  reportFailure(error: unknown): void
}

export interface ManagementRequest {
  /** Such as `com.microsoft:renew-lock`. */
  readonly operation: string
  /** Name of the client's link that the operation belongs to: `associated-link-name`. */
  readonly linkName: string | undefined
  readonly body: Typed | undefined
  /** To which the request belongs. Throws ERR_TRANSACTION. */
  readonly transaction?: (() => Transaction) | undefined
}

export interface ManagementAnswer {
  /** 200, 204 when there is nothing, or that of the error. */
  readonly statusCode: number
  readonly statusDescription: string
  /** Always given with an error. */
  readonly errorCondition: string | undefined
  /** For rhea to encode as the value of the body. */
  readonly body: unknown
}

/** A request whose sender has the right to make it. */
export interface ManagementCall {
  readonly fields: RequestFields
  readonly linkName: string | undefined
  readonly context: ManagementContext
  /** What is to be changed is gathered there. */
  readonly transaction: Transaction | undefined
}

/** Resolves with the body of the answer; undefined: there is nothing. */
export type PerformCall = (call: ManagementCall) => Promise<object | undefined>
