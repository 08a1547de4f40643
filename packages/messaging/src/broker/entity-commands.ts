import { assertNever, type Clock } from '@tidemark/contracts'
import type {
  Again,
  CommandAnswers,
  CommandOf,
  Disposition,
  DispositionAnswer,
  EntityRecord,
  MessageCommand,
  MessageTime,
  Refusal,
  RefusalReason,
} from '@tidemark/store/messages'
import {
  MessagingEntityDisabledError,
  MessagingEntityNotFoundError,
} from '../errors/messaging-entity-errors.ts'
import { MessagingNotAllowedError } from '../errors/messaging-not-allowed-error.ts'
import { SessionLockLostError } from '../errors/session-lock-errors.ts'
import { bringMessages, type BringContext } from './bring-messages.ts'
import { GroupedCalls } from './grouped-calls.ts'

/** What commands need of their broker. */
export interface CommandsContext extends BringContext {
  readonly clock: Clock
}

/** Commands on an entity. */
export type EntityCommandKind = Extract<MessageCommand, { readonly touch: boolean }>['kind']

export type CommandFields<Kind extends EntityCommandKind> = Omit<
  CommandOf<Kind>,
  'kind' | 'entity' | 'touch'
>

export interface Performed<Kind extends EntityCommandKind> {
  readonly answer: Exclude<CommandAnswers[Kind], Refusal | Again>
  readonly time: MessageTime
}

/** These are the broker's own: no activity of a client (TMP-05). */
const OWN_WORK: ReadonlySet<EntityCommandKind> = new Set([
  'applyDue',
  'count',
  'listSessions',
  'readDue',
  'activate',
  'readForwardable',
  'forward',
])

/** Before these look, everything has to be there that comes to the entity by itself. */
const LOOKING: ReadonlySet<EntityCommandKind> = new Set([
  'acceptSession',
  'applyDue',
  'count',
  'listSessions',
  'peek',
  'receive',
  'receiveDeferred',
])

/** These may put something into an entity from which it forwards. */
const MOVING: ReadonlySet<EntityCommandKind> = new Set(['applyDue', 'redrive', 'send', 'settle'])

/** Catalogs that are read again for one call, before it gives up: each time, somebody else changed the entity. */
const MAX_STALE = 20

/** The commands of this broker on one entity, which is found by its path at each of them. */
export class EntityCommands {
  /** As it was given. */
  readonly path: string
  readonly #context: CommandsContext
  readonly #settles: GroupedCalls<Disposition, DispositionAnswer>
  /** When it was last stamped, by the monotonic clock. */
  #touched: { readonly entity: number; readonly atMs: number } | undefined

  constructor(context: CommandsContext, path: string) {
    this.#context = context
    this.path = path
    this.#settles = new GroupedCalls(async (dispositions) => {
      const { answer } = await this.perform('settle', { dispositions })
      return answer.answers
    })
  }

  /** Rejects with ERR_MESSAGING_ENTITY_NOT_FOUND. */
  record(): Promise<EntityRecord> {
    return this.#context.directory.find(this.path)
  }

  /**
   * Performs a command, piece by piece if need be. `fields` that depend on the entity are judged again when it has changed.
   * Rejects with the coded error of a refusal.
   */
  async perform<Kind extends EntityCommandKind>(
    kind: Kind,
    fields: CommandFields<Kind> | ((record: EntityRecord) => CommandFields<Kind>),
  ): Promise<Performed<Kind>> {
    for (let stale = 0; ;) {
      const record = await this.record()
      if (LOOKING.has(kind)) await bringMessages(this.#context, record)
      const { answer, time } = await this.#context.perform<Kind>(
        this.#command(kind, record, typeof fields === 'function' ? fields(record) : fields),
      )
      if (!isRefusal(answer)) {
        if (MOVING.has(kind)) this.#context.forwardOnward(record)
        if (!isAgain(answer)) return performed<Kind>({ answer, time })
      } else if (answer.reason === 'gone' || answer.reason === 'stale') {
        stale += 1
        if (stale > MAX_STALE) throw new MessagingEntityNotFoundError(this.path)
        await this.#context.directory.refresh()
      } else {
        throw this.#refused(answer.reason, record)
      }
    }
  }

  /** Those that are asked for while some are on their way go together. */
  settle(disposition: Disposition): Promise<DispositionAnswer> {
    return this.#settles.call(disposition)
  }

  #command<Kind extends EntityCommandKind>(
    kind: Kind,
    record: EntityRecord,
    fields: CommandFields<Kind>,
  ): CommandOf<Kind> {
    const command: unknown = {
      ...fields,
      kind,
      entity: record.number,
      touch: this.#takesTouch(kind, record),
    }
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The fields are those of this kind, which the compiler cannot join again.
    return command as CommandOf<Kind>
  }

  /** At most every tenth of the idle period. */
  #takesTouch(kind: EntityCommandKind, record: EntityRecord): boolean {
    if (OWN_WORK.has(kind)) return false
    const idleMs = this.#context.directory.idlePeriodOf(record)
    if (idleMs === undefined) return false
    const nowMs = this.#context.clock.monotonicMs()
    const touched = this.#touched
    if (touched?.entity === record.number && nowMs - touched.atMs < idleMs / 10) return false
    this.#touched = { entity: record.number, atMs: nowMs }
    return true
  }

  #refused(
    reason: Exclude<RefusalReason, 'gone' | 'stale'>,
    { path, settings: { requiresSession } }: EntityRecord,
  ): Error {
    switch (reason) {
      case 'disabled':
        return new MessagingEntityDisabledError(path)
      case 'notAllowed':
        return new MessagingNotAllowedError(`'${path}' does not allow this operation`)
      case 'otherSessionUse':
        return new MessagingNotAllowedError(
          requiresSession ? `'${path}' requires sessions` : `'${path}' has no sessions`,
        )
      case 'sessionLockLost':
        return new SessionLockLostError(undefined)
      default:
        return assertNever(reason)
    }
  }
}

function isRefusal(answer: { readonly kind: string }): answer is Refusal {
  return answer.kind === 'refused'
}

function isAgain(answer: { readonly kind: string }): answer is Again {
  return answer.kind === 'again'
}

function performed<Kind extends EntityCommandKind>(result: unknown): Performed<Kind> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- It was found to be neither a refusal nor `again`.
  return result as Performed<Kind>
}
