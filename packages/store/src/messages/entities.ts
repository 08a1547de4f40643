import { StoreDamagedError } from '@tidemark/contracts'

/** A dead-letter queue is an entity of its own: it has a counter, and nothing else that its owner does not give it. */
export type EntityKind = 'queue' | 'topic' | 'subscription' | 'deadLetter'

/** A disabled direction refuses with ERR_ENTITY_DISABLED. Settling and peeking stay possible. */
export type EntityStatus = 'Active' | 'Disabled' | 'SendDisabled' | 'ReceiveDisabled'

/** What the broker needs of an entity's options, with every default applied. Times in ms; undefined: never, or off. */
export interface EntitySettings {
  readonly lockDurationMs: number
  readonly maxDeliveryCount: number
  readonly defaultTtlMs: number | undefined
  readonly deadLettersExpired: boolean
  /** What has expired leaves although nobody listens (EXP-33). Absent: it does not, as in stores of earlier versions. */
  readonly expiresAlways?: boolean | undefined
  readonly deadLettersFilterErrors: boolean
  readonly requiresSession: boolean
  readonly duplicateWindowMs: number | undefined
  readonly autoDeleteOnIdleMs: number | undefined
  /** Path of a queue or topic. */
  readonly forwardTo: string | undefined
  readonly forwardDeadLettersTo: string | undefined
  readonly maxBytes: number
  readonly maxMessageBytes: number
  readonly status: EntityStatus
  readonly userMetadata: string
  /**
   * Texts that an administration gives back as they were given, by names of its own. Nothing else reads them. Absent: none,
   * as in stores of earlier versions.
   */
  readonly shown?: Readonly<Record<string, string>> | undefined
}

/** Exact, case-sensitive comparison of each property that it names, joined by AND (TOP-04). */
export interface CorrelationFilter {
  readonly correlationId?: string | undefined
  readonly messageId?: string | undefined
  readonly to?: string | undefined
  readonly replyTo?: string | undefined
  readonly subject?: string | undefined
  readonly sessionId?: string | undefined
  readonly replyToSessionId?: string | undefined
  readonly contentType?: string | undefined
  /** Values in the form of `StoredValue`. */
  readonly applicationProperties?: Readonly<Record<string, StoredValue>> | undefined
}

/** A condition, or an action. */
export interface SqlText {
  readonly expression: string
  /** What `@name` in it stands for. */
  readonly parameters?: Readonly<Record<string, StoredValue>> | undefined
}

export type RuleFilter =
  | { readonly kind: 'correlation'; readonly filter: CorrelationFilter }
  | ({ readonly kind: 'sql' } & SqlText)
  | { readonly kind: 'true' }
  | { readonly kind: 'false' }

/** A rule of a subscription (TOP-02, TOP-03). Names are unique in it without regard to case. */
export interface RuleRecord {
  readonly name: string
  readonly filter: RuleFilter
  /** A SQL action, such as `SET sys.Label = 'x'`. */
  readonly action: string | undefined
  readonly actionParameters?: SqlText['parameters']
  readonly createdMs: number
}

/** Undefined: the rule changes nothing. */
export function actionOf({
  action,
  actionParameters,
}: Pick<RuleRecord, 'action' | 'actionParameters'>): SqlText | undefined {
  return action === undefined ? undefined : { expression: action, parameters: actionParameters }
}

/**
 * A property's value as JSON: a string, a double, a boolean or null stands for itself. Every other type is an object
 * with one member, which names the type: `{ "date": epoch ms }`, `{ "long": "9007199254740993" }`, `{ "bytes": base64 }`,
 * or another name that a front for a protocol defines. The engine never looks inside.
 */
export type StoredValue = string | number | boolean | null | Readonly<Record<string, unknown>>

export interface EntityDefinition {
  readonly settings: EntitySettings
  /** Of a subscription. */
  readonly rules: readonly RuleRecord[]
}

/** Reads the text that an engine has kept of one. @throws ERR_STORE_DAMAGED */
export function parseDefinition(entity: number, text: string): EntityDefinition {
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Only engines write this text.
    return JSON.parse(text) as EntityDefinition
  } catch (cause) {
    throw new StoreDamagedError(`the definition of entity ${entity} is damaged`, { cause })
  }
}

export interface EntityRecord extends EntityDefinition {
  /** Never used again. A parent's number is lower than its children's, which is the order in which counters are locked. */
  readonly number: number
  readonly kind: EntityKind
  /**
   * As it was created: `orders`, `news/Subscriptions/all`, and of dead-letter queues `orders/$DeadLetterQueue`. Unique
   * without regard to case.
   */
  readonly path: string
  /** The topic of a subscription; the owner of a dead-letter queue. */
  readonly parent: number | undefined
  /**
   * Rises with each change of this record. That of a topic also rises when its subscriptions change, come or go: so who
   * has judged rules by a topic's version has judged all of them.
   */
  readonly version: number
  readonly createdMs: number
  readonly updatedMs: number
  /** The last activity that a broker has stamped, by the lock clock (see `MessageTime`); see TMP-05 to TMP-10. */
  readonly accessedMs: number
}

export interface NewEntity extends EntityDefinition {
  readonly kind: 'queue' | 'topic' | 'subscription'
  readonly path: string
  /** Path of the topic of a subscription. */
  readonly topic?: string | undefined
}

/** Every entity of a database, those that are being deleted excepted. */
export interface MessageCatalog {
  readonly entities: readonly EntityRecord[]
}
