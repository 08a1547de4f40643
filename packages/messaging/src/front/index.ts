export {
  AccessPolicies,
  ALL_RIGHTS,
  EMULATOR_ACCESS_KEY,
  permits,
  type AccessClaims,
  type AccessPolicy,
  type AccessRight,
} from '../access/access-policies.ts'
export { resourcePath } from '../access/shared-access-signature.ts'
export {
  MessageFront,
  type AcceptLinkOptions,
  type FrontPeekOptions,
  type SessionLink,
} from '../broker/message-front.ts'
export type { HeldSession } from '../broker/held-session.ts'
export type { DeferredOptions, LinkReceiveOptions, ReceiverLink } from '../broker/receiver-link.ts'
export type { LockEnd, Received } from '../broker/received.ts'
export { amqpCondition } from '../errors/conditions.ts'
export { headOf, type MessageHead } from '../messages/message-codec.ts'
export {
  ACTIVE,
  DEFERRED,
  SCHEDULED,
  type EntityRecord,
  type MessageChanges,
  type NewMessage,
  type Outcome,
  type ReceiveMode,
  type StoredMessage,
  type StoredValue,
} from '@tidemark/store/messages'
