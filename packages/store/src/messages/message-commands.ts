import type { EntityDefinition, EntityRecord, NewEntity, StoredValue } from './entities.ts'
import type { EntityCounts, ListedSession, StoredMessage } from './message-rows.ts'

/** Names that rules and settlements may change (`sys.` in SQL actions). */
export type SystemProperty =
  | 'contentType'
  | 'correlationId'
  | 'messageId'
  | 'replyTo'
  | 'replyToSessionId'
  | 'sessionId'
  | 'subject'
  | 'to'

/** What lies over the properties that the sender gave. */
export interface MessageChanges {
  /** Application properties, set to new values. */
  readonly properties?: Readonly<Record<string, StoredValue>> | undefined
  /** Names of application properties that were removed. */
  readonly removed?: readonly string[] | undefined
  /** Null: removed. */
  readonly system?: Readonly<Partial<Record<SystemProperty, string | null>>> | undefined
  /** When it was dead-lettered, for the last time: by the store's clock, epoch ms. Clients do not see it. */
  readonly diedMs?: number | undefined
}

export interface DeadLetterReason {
  readonly reason: string
  readonly description: string
}

/** A message for a queue, or for a topic's subscriptions. */
export interface NewMessage {
  readonly head: string
  readonly body: Uint8Array
  /** What it counts towards the sizes of messages and entities. */
  readonly bytes: number
  readonly messageId: string
  readonly session: string | undefined
  /** As the sender gave it; the entity's ceiling is applied when it is enqueued. */
  readonly ttlMs: number | undefined
  /** An instant that has passed means now (SCH-06). */
  readonly scheduledMs: number | undefined
  /** For a topic, of a message that is enqueued now: where its rules put it. Judged by the version in the command. */
  readonly copies: readonly MessageCopy[]
  /** For a queue: it goes to the dead-letter queue at once, and has a number there only. @default to the queue itself */
  readonly deadLetter?: DeadLetterReason | undefined
  /** The one that it has while it is scheduled; it was reserved. @default the next one */
  readonly number?: number | undefined
}

export interface MessageCopy {
  readonly subscription: number
  readonly changes: MessageChanges | undefined
  /** What the changes take: they count towards sizes. */
  readonly changedBytes: number
  /** The session after the rule's action. */
  readonly session: string | undefined
  /** A filter failed and the subscription keeps such messages: the copy goes to its dead-letter queue (TOP-08). */
  readonly deadLetter: DeadLetterReason | undefined
}

/** Messages of one call: all of them are sent, or none. */
export interface Parcel {
  readonly messages: readonly NewMessage[]
}

export type ReceiveMode = 'peekLock' | 'receiveAndDelete'

/** What an entity's messages wait for before they may expire (EXP-04, SES-03). */
export type Listening = 'nobody' | 'everything' | { readonly session: string }

/** Why a command was refused as a whole. Nothing was changed. */
export type RefusalReason =
  /** No entity has this number any more. */
  | 'gone'
  /** It has another version: judge again. */
  | 'stale'
  | 'disabled'
  /** Receivers cannot attach to an entity that forwards (SET-13), and nobody sends to a dead-letter queue or subscription. */
  | 'notAllowed'
  /** With sessions where there are none, or without where there are (SES-14). */
  | 'otherSessionUse'
  /** This hold of the session has ended. */
  | 'sessionLockLost'

export interface Refusal {
  readonly kind: 'refused'
  readonly reason: RefusalReason
}

/** A caller's answer within a command of several callers. */
export type ParcelAnswer =
  /** In the parcel's order, where each message is stored. A duplicate has none. */
  | { readonly kind: 'sent'; readonly numbers: readonly (number | undefined)[] }
  | { readonly kind: 'full' }
  | { readonly kind: 'tooLarge' }
  /** More than one transaction may put into subscriptions, one for each; those of scheduled messages count, too. */
  | { readonly kind: 'tooManyCopies' }
  /** A message without a session for an entity that requires one (SES-10). */
  | { readonly kind: 'needsSession' }

/** A message given to a receiver. `lock` is part of its token; see `lockToken`. */
export interface Delivery {
  readonly message: StoredMessage
  /** By the lock clock, also in a session. Undefined in receive-and-delete. */
  readonly lockedUntilMs: number | undefined
}

export type Outcome =
  | { readonly kind: 'complete' }
  | { readonly kind: 'abandon'; readonly changes: MessageChanges | undefined }
  | { readonly kind: 'defer'; readonly changes: MessageChanges | undefined }
  | {
      readonly kind: 'deadLetter'
      readonly changes: MessageChanges | undefined
      readonly reason: string | undefined
      readonly description: string | undefined
    }

  /**
   * Takes the lock off as if the message had never been delivered: no delivery is counted. For messages that were
   * received ahead and that nobody saw. One that has expired meanwhile expires.
   */
  | { readonly kind: 'release' }

export interface Disposition {
  readonly token: string
  readonly outcome: Outcome
}

export type DispositionAnswer =
  | 'settled'
  | 'lockLost'
  | 'sessionLockLost'
  | 'notAllowed'
  /** With its changes the message would be larger than the entity takes. */
  | 'tooLarge'

/** A hold of a session: its name, and the lock that `acceptSession` was given. */
export interface SessionHold {
  readonly session: string
  readonly lock: string
}

interface OnEntity {
  readonly entity: number
  /** Stamp this as activity. Brokers ask for it at most every tenth of the idle period. */
  readonly touch: boolean
}

/** Each command is one transaction. Before it looks, it applies what is due in its entity. */
export type MessageCommand =
  | (OnEntity & {
      readonly kind: 'send'
      readonly version: number
      readonly parcels: readonly Parcel[]
    })
  | (OnEntity & {
      readonly kind: 'receive'
      readonly hold: SessionHold | undefined
      readonly requests: readonly {
        readonly mode: ReceiveMode
        readonly max: number
        readonly maxBytes: number
        /** Of the messages that it gets: 20 hexadecimal digits. In a session, the hold's lock is used. */
        readonly lock: string
      }[]
    })
  | (OnEntity & {
      readonly kind: 'receiveDeferred'
      readonly hold: SessionHold | undefined
      readonly mode: ReceiveMode
      readonly lock: string
      readonly numbers: readonly number[]
      /** One message alone may have more. */
      readonly maxBytes: number
    })
  /** Removes the first messages that nobody holds, of those that were enqueued before an instant of the store's clock. */
  | (OnEntity & {
      readonly kind: 'discard'
      readonly hold: SessionHold | undefined
      readonly max: number
      readonly beforeMs: number
    })
  | (OnEntity & { readonly kind: 'settle'; readonly dispositions: readonly Disposition[] })
  | (OnEntity & { readonly kind: 'renew'; readonly tokens: readonly string[] })
  | (OnEntity & {
      readonly kind: 'peek'
      readonly session: string | undefined
      readonly fromNumber: number
      readonly max: number
      readonly maxBytes: number
    })
  | (OnEntity & { readonly kind: 'cancel'; readonly numbers: readonly number[] })
  /** `next`: some session that is free and has messages, looked for after `after` in the order of names, then from the beginning. */
  | (OnEntity & {
      readonly kind: 'acceptSession'
      readonly lock: string
      readonly session: { readonly named: string } | { readonly after: string }
    })
  | (OnEntity & { readonly kind: 'renewSession'; readonly hold: SessionHold })
  | (OnEntity & { readonly kind: 'releaseSession'; readonly hold: SessionHold })
  | (OnEntity & { readonly kind: 'readSessionState'; readonly hold: SessionHold })
  | (OnEntity & {
      readonly kind: 'setSessionState'
      readonly hold: SessionHold
      readonly state: Uint8Array | undefined
    })
  | (OnEntity & { readonly kind: 'listSessions'; readonly after: string; readonly max: number })
  /** Only applies what is due, a bounded piece of it. */
  | (OnEntity & { readonly kind: 'applyDue'; readonly listening: Listening })
  /** Scheduled messages of a topic whose instant has come, for `activate`. */
  | (OnEntity & { readonly kind: 'readDue'; readonly max: number })
  /** Puts copies of a topic's scheduled messages into its subscriptions (SCH-09). Those that are gone are left out. */
  | (OnEntity & {
      readonly kind: 'activate'
      readonly version: number
      readonly messages: readonly {
        readonly number: number
        readonly copies: readonly MessageCopy[]
      }[]
    })
  /** Messages of an entity that forwards, or of a dead-letter queue that does, for `forward`. */
  | (OnEntity & {
      readonly kind: 'readForwardable'
      readonly afterNumber: number
      readonly max: number
    })
  /** Moves messages to their destination, or to the entity's dead-letter queue. Those that are gone are left out. */
  | (OnEntity & {
      readonly kind: 'forward'
      readonly destination: { readonly entity: number; readonly version: number } | undefined
      readonly messages: readonly {
        readonly number: number
        readonly messageId: string
        /** Its `sessionId`: it may come from an entity whose rows have no session. */
        readonly session: string | undefined
        readonly copies: readonly MessageCopy[]
        /** Why it goes to the dead-letter queue instead. Always given without a destination. */
        readonly deadLetter: DeadLetterReason | undefined
      }[]
    })
  /**
   * Moves messages of a dead-letter queue back to where they died, as new ones: TTL and deliveries count anew, and none is
   * a duplicate. Those that are not waiting, or have no room there, are left out.
   */
  | (OnEntity & {
      readonly kind: 'redrive'
      /** `session`: its `sessionId`, which rows of a dead-letter queue do not have. */
      readonly messages: readonly {
        readonly number: number
        readonly session: string | undefined
      }[]
    })
  /** Numbers for messages that are to be scheduled. */
  | (OnEntity & { readonly kind: 'reserve'; readonly count: number })
  | (OnEntity & { readonly kind: 'count' })
  /** Only stamps activity. */
  | (OnEntity & { readonly kind: 'touch' })
  /** All of them, or none. Queues and subscriptions get their dead-letter queues. */
  | { readonly kind: 'create'; readonly entities: readonly NewEntity[] }
  | {
      readonly kind: 'update'
      readonly entity: number
      readonly version: number
      readonly definition: EntityDefinition
    }
  /** With dead-letter queue and subscriptions. `idle`: only if it is idle now (TMP-05 to TMP-11). */
  | { readonly kind: 'delete'; readonly entity: number; readonly when: 'always' | 'idle' }
  /** Removes rows that deleted entities have left, a bounded piece. */
  | { readonly kind: 'purge' }
  /** All of them, or none (TXN-01). */
  | { readonly kind: 'together'; readonly commands: readonly TogetherCommand[] }

/** What goes together with others in one transaction. Sends come last, in the order of their entities' numbers. */
export type TogetherCommand = CommandOf<'send' | 'settle' | 'cancel' | 'setSessionState'>

export type CommandOf<Kind extends MessageCommand['kind']> = Extract<MessageCommand, { kind: Kind }>

/** More is due than one transaction applies: nothing else was done. Send the same command again. */
export interface Again {
  readonly kind: 'again'
}

/** What each command answers. */
export interface CommandAnswers {
  readonly send:
    | Refusal
    | Again
    | { readonly kind: 'sent'; readonly parcels: readonly ParcelAnswer[] }
  /**
   * In the order of the requests, each possibly empty. When a command has brought many bytes, it leaves out those at the end:
   * ask again for them.
   */
  readonly receive:
    | Refusal
    | Again
    | { readonly kind: 'received'; readonly deliveries: readonly (readonly Delivery[])[] }
  readonly receiveDeferred:
    | Refusal
    | Again
    | { readonly kind: 'received'; readonly deliveries: readonly Delivery[] }
    /** None was given. */
    | { readonly kind: 'notFound'; readonly number: number }
    /** They have so many bytes. None was given. */
    | { readonly kind: 'tooMany'; readonly bytes: number }
  /** Fewer than asked for, also where more are left: ask again until none was removed. */
  readonly discard: Refusal | Again | { readonly kind: 'discarded'; readonly count: number }
  readonly settle:
    | Refusal
    | Again
    | { readonly kind: 'settled'; readonly answers: readonly DispositionAnswer[] }
  /** In the order of the tokens, by the lock clock. */
  readonly renew:
    | Refusal
    | Again
    | {
        readonly kind: 'renewed'
        readonly lockedUntilMs: readonly (number | 'lockLost' | 'sessionLockLost')[]
      }
  readonly peek:
    | Refusal
    | Again
    | {
        readonly kind: 'peeked'
        readonly messages: readonly PeekedMessage[]
        /** A number that no message had before: what is not shown below it is gone. */
        readonly next: number
      }
  readonly cancel:
    | Refusal
    | Again
    | { readonly kind: 'cancelled' }
    /** None was cancelled. */
    | { readonly kind: 'notFound'; readonly number: number }
  readonly acceptSession:
    | Refusal
    | Again
    | { readonly kind: 'accepted'; readonly session: string; readonly lockedUntilMs: number }
    | { readonly kind: 'taken' }
    | { readonly kind: 'none' }
  readonly renewSession:
    | Refusal
    | Again
    | { readonly kind: 'renewed'; readonly lockedUntilMs: number }
  readonly releaseSession: Refusal | Again | { readonly kind: 'released' }
  readonly readSessionState:
    | Refusal
    | Again
    | { readonly kind: 'state'; readonly state: Uint8Array | undefined }
  readonly setSessionState:
    | Refusal
    | Again
    | { readonly kind: 'stored' }
    | { readonly kind: 'full' }
    | { readonly kind: 'tooLarge' }
  readonly listSessions:
    | Refusal
    | Again
    | { readonly kind: 'sessions'; readonly sessions: readonly ListedSession[] }
  readonly applyDue: Refusal | Again | { readonly kind: 'applied' }
  readonly readDue:
    | Refusal
    | Again
    | { readonly kind: 'messages'; readonly messages: readonly StoredMessage[] }
  readonly activate: Refusal | Again | { readonly kind: 'activated' }
  readonly readForwardable:
    | Refusal
    | Again
    | { readonly kind: 'messages'; readonly messages: readonly StoredMessage[] }
  readonly forward:
    | Refusal
    | Again
    /**
     * Messages of a dead-letter queue that stay there: `left`, because the destination is disabled or full; `stuck`, because
     * they cannot go to it as long as it is as it is.
     */
    | { readonly kind: 'forwarded'; readonly left: number; readonly stuck: number }
    /** The destination is gone, or has another version. */
    | { readonly kind: 'destinationChanged' }
  /** Numbers, in the dead-letter queue, of those that were moved. */
  readonly redrive:
    | Refusal
    | Again
    | { readonly kind: 'redriven'; readonly numbers: readonly number[] }
  readonly reserve: Refusal | Again | { readonly kind: 'reserved'; readonly first: number }
  readonly count: Refusal | Again | { readonly kind: 'counted'; readonly counts: EntityCounts }
  readonly touch: Refusal | Again | { readonly kind: 'touched' }
  readonly create:
    | { readonly kind: 'created'; readonly entities: readonly EntityRecord[] }
    | { readonly kind: 'exists'; readonly path: string }
    | { readonly kind: 'missing'; readonly path: string }
  readonly update: Refusal | { readonly kind: 'updated'; readonly entity: EntityRecord }
  readonly delete: Refusal | { readonly kind: 'deleted' } | { readonly kind: 'inUse' }
  readonly purge: { readonly kind: 'purged'; readonly more: boolean }
  readonly together: { readonly kind: 'done' } | NotDone
}

/** A command of several could not be carried out as a whole: none was. */
export interface NotDone {
  readonly kind: 'notDone'
  /** Of the command. */
  readonly index: number
  readonly answer: CommandAnswers[TogetherCommand['kind']]
}

export interface PeekedMessage extends StoredMessage {
  readonly isLocked: boolean
}

/** An answer is also what the transaction changed for others. */
export interface CommandResult<Kind extends MessageCommand['kind'] = MessageCommand['kind']> {
  readonly answer: CommandAnswers[Kind]
  /** Entities in which there may be something new for a listener: ready messages, free sessions, timers, deletions. */
  readonly touched: readonly number[]
}
