/**
 * Queues and topics as storage engines see them: commands, procedures and rules.
 *
 * @packageDocumentation
 * @internal
 */

export type { CommitSends, NotSent } from './commit-sends.ts'
export {
  actionOf,
  parseDefinition,
  type CorrelationFilter,
  type EntityDefinition,
  type EntityKind,
  type EntityRecord,
  type EntitySettings,
  type EntityStatus,
  type MessageCatalog,
  type NewEntity,
  type RuleFilter,
  type RuleRecord,
  type SqlText,
  type StoredValue,
} from './entities.ts'
export { lockToken, LOCK_DIGITS, parseLockToken } from './lock-token.ts'
export type {
  Again,
  CommandAnswers,
  CommandOf,
  CommandResult,
  DeadLetterReason,
  Delivery,
  Disposition,
  DispositionAnswer,
  Listening,
  MessageChanges,
  MessageCommand,
  MessageCopy,
  NewMessage,
  NotDone,
  Outcome,
  Parcel,
  ParcelAnswer,
  PeekedMessage,
  ReceiveMode,
  Refusal,
  RefusalReason,
  SessionHold,
  SystemProperty,
  TogetherCommand,
} from './message-commands.ts'
export type { MessageEngine } from './message-engine.ts'
export type { OutgoingMessages, PreparedSend } from './outgoing-messages.ts'
export {
  ACTIVE,
  ask,
  DEFERRED,
  runProcedure,
  runProcedureAsync,
  SCHEDULED,
  type AsyncRowRequests,
  type EntityCounts,
  type EntityLook,
  type EntityPlace,
  type ListedSession,
  type MessageRow,
  type MessageState,
  type NewMessageRow,
  type Procedure,
  type RowRequest,
  type RowRequests,
  type SessionLook,
  type SessionRow,
  type StoredMessage,
} from './message-rows.ts'
export { messageTime, type CallerTime, type ClockPair, type MessageTime } from './message-time.ts'
export { performCommand } from './procedures/perform-command.ts'
export { sendTogether, type SentTogether } from './procedures/send-together.ts'
export { COPY_BYTES, CopyBudget, MAX_ADDED_BYTES } from './rules/copy-budget.ts'
export { MAX_FORWARD_HOPS } from './rules/dead-letter-reasons.ts'
export { deadLetterPath } from './rules/dead-letter-queue.ts'
export { idleAtMs } from './rules/idle-entity.ts'
export { changesSize, readChanges } from './rules/message-changes.ts'
