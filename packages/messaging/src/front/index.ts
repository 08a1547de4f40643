/**
 * What servers for other protocols are made of.
 *
 * @packageDocumentation
 * @internal
 */

export {
  AccessPolicies,
  ALL_RIGHTS,
  EMULATOR_ACCESS_KEY,
  includesEmulatorKey,
  permits,
  type AccessClaims,
  type AccessPolicy,
  type AccessRight,
} from '../access/access-policies.ts'
export { resourcePath, withoutSlashes } from '../access/shared-access-signature.ts'
export { assertReceivable } from '../broker/assert-receivable.ts'
export {
  MessageFront,
  type EntityWriter,
  type AcceptLinkOptions,
  type FrontPeekOptions,
  type SessionLink,
} from '../broker/message-front.ts'
export type { TransactionStep } from '../broker/commit-together.ts'
export { assertReasons } from '../broker/settle-refusals.ts'
export { storedState, type HeldSession } from '../broker/held-session.ts'
export type { DeferredOptions, LinkReceiveOptions, ReceiverLink } from '../broker/receiver-link.ts'
export type { LockEnd, Received } from '../broker/received.ts'
export {
  queueProperties,
  receivingRuntimeProperties,
  runtimeProperties,
  subscriptionProperties,
  topicProperties,
} from '../entities/entity-properties.ts'
export { amqpCondition } from '../errors/conditions.ts'
export { encodeChanges, headOf, type MessageHead } from '../messages/message-codec.ts'
export { checkMessageIds } from '../messages/message-id.ts'
export { checkPropertyCount, typedProperties } from '../messages/stored-value.ts'
export {
  ACTIVE,
  actionOf,
  DEFERRED,
  readChanges,
  SCHEDULED,
  type EntityCounts,
  type EntityRecord,
  type ListedSession,
  type MessageChanges,
  type NewMessage,
  type Outcome,
  type ReceiveMode,
  type RuleFilter,
  type RuleRecord,
  type SessionHold,
  type StoredMessage,
  type SqlText,
  type StoredValue,
} from '@tidemark/store/messages'
