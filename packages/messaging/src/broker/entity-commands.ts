import { type Clock } from '@tidemark/contracts'
import { assertNever } from '@tidemark/contracts/internal'
import {
  CopyBudget,
  type Again,
  type CommandAnswers,
  type CommandOf,
  type Disposition,
  type DispositionAnswer,
  type EntityRecord,
  type MessageCommand,
  type MessageTime,
  type NewMessage,
  type Parcel,
  type ParcelAnswer,
  type Refusal,
  type RefusalReason,
  type TogetherCommand,
} from '@tidemark/store/messages'
import { MessagingEntityDisabledError } from '../errors/messaging-entity-errors.ts'
import { MessagingNotAllowedError } from '../errors/messaging-not-allowed-error.ts'
import { ServiceTimeoutError } from '../errors/service-timeout-error.ts'
import { SessionLockLostError } from '../errors/session-lock-errors.ts'
import { parseHead } from '../messages/message-codec.ts'
import type { BringContext } from './bring-context.ts'
import { bringMessages } from './bring-messages.ts'
import { CommandLane } from './command-lane.ts'
import { judgeArrival, judgePiece } from './fan-out.ts'

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

/** Ends of locks in the order of their tokens, by the lock clock, or why there is none. */
export interface Renewed {
  readonly lockedUntilMs: Performed<'renew'>['answer']['lockedUntilMs']
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
  'discard',
  'listSessions',
  'peek',
  'receive',
  'receiveDeferred',
])

/** These may put something into an entity from which it forwards. */
const MOVING: ReadonlySet<EntityCommandKind> = new Set(['applyDue', 'redrive', 'send', 'settle'])

/** Catalogs that are read again for one call, before it gives up: each time, somebody else changed the entity. */
const MAX_STALE = 20

/** In place of the idle period of an entity that has none: its last access is stamped once a minute. */
const NEVER_IDLE_MS = 600_000

/** A command for one attempt. */
export interface PreparedCommand<Command extends TogetherCommand = TogetherCommand> {
  /** By which it was made. */
  readonly record: EntityRecord
  readonly command: Command
}

/** A command that was refused. */
interface CommandAttempt {
  readonly kind: EntityCommandKind
  /** By which it was made. */
  readonly record: EntityRecord
  /** From 1. */
  readonly attempt: number
}

/** @throws ERR_SERVICE_TIMEOUT after many */
function assertAttempts({ kind, record, attempt }: CommandAttempt): void {
  if (attempt <= MAX_STALE) return
  throw new ServiceTimeoutError(
    `'${record.path}' changed ${MAX_STALE} times while a command '${kind}' was on its way`,
  )
}

/** The commands of this broker on one entity, which is found by its path at each of them. */
export class EntityCommands {
  /** As it was given. */
  readonly path: string
  readonly #context: CommandsContext
  readonly #sends: CommandLane<readonly NewMessage[], ParcelAnswer>
  readonly #settles: CommandLane<Disposition, DispositionAnswer>
  readonly #renewals: CommandLane<readonly string[], Renewed>
  /** When it was last stamped, by the monotonic clock. */
  #touched: { readonly entity: number; readonly atMs: number } | undefined

  constructor(context: CommandsContext, path: string) {
    this.#context = context
    this.path = path
    this.#sends = new CommandLane(
      (parcels) => this.#send(parcels),
      (messages) => ({
        items: messages.length,
        bytes: messages.reduce((sum, { bytes }) => sum + bytes, 0),
      }),
    )
    this.#settles = new CommandLane(
      async (dispositions) => {
        const { answer } = await this.perform('settle', { dispositions })
        return answer.answers
      },
      ({ outcome }) => ({
        items: 1,
        bytes: 'changes' in outcome ? (JSON.stringify(outcome.changes)?.length ?? 0) : 0,
      }),
    )
    this.#renewals = new CommandLane(
      (tokens) => this.#renew(tokens),
      ({ length: items }) => ({ items, bytes: 0 }),
    )
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
    fields: CommandFields<Kind> | ((record: EntityRecord) => Promise<CommandFields<Kind>>),
  ): Promise<Performed<Kind>> {
    for (let stale = 0; ;) {
      const record = await this.record()
      if (LOOKING.has(kind)) await bringMessages(this.#context, record)
      const command = this.#command(
        kind,
        record,
        typeof fields === 'function' ? await fields(record) : fields,
      )
      this.#noteTouch(kind, record)
      const { answer, time } = await this.#context.perform<Kind>(command)
      if (!isRefusal(answer)) {
        if (MOVING.has(kind)) this.#context.forwardOnward(record)
        if (!isAgain(answer)) return performed<Kind>({ answer, time })
      } else {
        stale += 1
        await this.#judgeAgain(answer.reason, { kind, record, attempt: stale })
      }
    }
  }

  /**
   * After a refusal: resolves when the entity has changed, and a command is to be made again. Rejects with the coded error
   * of any other refusal, and after many attempts.
   */
  async #judgeAgain(reason: RefusalReason, attempt: CommandAttempt): Promise<void> {
    if (reason !== 'gone' && reason !== 'stale') throw this.#refused(reason, attempt.record)
    assertAttempts(attempt)
    await this.#context.directory.refresh()
  }

  /** A command that is carried out with others, or with a commit of documents. `carriedOut` says that it was. */
  async prepare<Kind extends TogetherCommand['kind']>(
    kind: Kind,
    fields: CommandFields<Kind> | ((record: EntityRecord) => Promise<CommandFields<Kind>>),
  ): Promise<PreparedCommand<CommandOf<Kind>>> {
    const record = await this.record()
    const given = typeof fields === 'function' ? await fields(record) : fields
    return { record, command: this.#command(kind, record, given) }
  }

  /** The send of these messages, all of which are one parcel. */
  prepareSend(messages: readonly NewMessage[]): Promise<PreparedCommand<CommandOf<'send'>>> {
    return this.prepare('send', (record) => this.#sendOf([messages], record))
  }

  carriedOut({ record, command: { kind } }: PreparedCommand): void {
    this.#noteTouch(kind, record)
    if (MOVING.has(kind)) this.#context.forwardOnward(record)
  }

  /**
   * Nothing was done, because of a command that was prepared. Resolves when it is worth preparing again. Rejects with the coded
   * error of a refusal, and after many attempts.
   */
  async prepareAgain(
    answer: Refusal | Again,
    { record, command }: PreparedCommand,
    attempt: number,
  ): Promise<void> {
    const failed = { kind: command.kind, record, attempt }
    if (answer.kind === 'refused') {
      await this.#judgeAgain(answer.reason, failed)
      return
    }
    assertAttempts(failed)
    // What was applied was undone with the others.
    await this.perform('applyDue', { listening: 'nobody' })
  }

  /** All of them, or none. Sends, settlements and renewals go together with others of their kind; see `CommandLane`. */
  send(messages: readonly NewMessage[], signal: AbortSignal | undefined): Promise<ParcelAnswer> {
    return this.#sends.call(messages, signal)
  }

  settle(disposition: Disposition): Promise<DispositionAnswer> {
    return this.#settles.call(disposition)
  }

  renew(tokens: readonly string[]): Promise<Renewed> {
    return this.#renewals.call(tokens)
  }

  /** Resolves when nothing that goes together is on its way. */
  async idle(): Promise<void> {
    await Promise.all([this.#sends.idle(), this.#settles.idle(), this.#renewals.idle()])
  }

  async #send(parcels: readonly (readonly NewMessage[])[]): Promise<readonly ParcelAnswer[]> {
    const { answer } = await this.perform('send', (record) => this.#sendOf(parcels, record))
    return answer.parcels
  }

  /** Of as many parcels as one transaction takes. */
  async #sendOf(
    parcels: readonly (readonly NewMessage[])[],
    record: EntityRecord,
  ): Promise<CommandFields<'send'>> {
    const judge = judgeArrival(this.#context, record)
    const judged = async (message: NewMessage, together: number): Promise<NewMessage> => ({
      ...message,
      copies: await judge({ head: parseHead(message.head), bytes: message.bytes }, together),
    })
    const parcel = async (messages: readonly NewMessage[]): Promise<Parcel> => {
      if (record.kind !== 'topic') return { messages }
      const budget = new CopyBudget()
      let isRefused = false
      const all: NewMessage[] = []
      for (const message of messages) {
        const one: NewMessage = isRefused ? message : await judged(message, messages.length)
        isRefused ||= !budget.takes([one])
        all.push(one)
      }
      return { messages: all }
    }
    return {
      version: record.version,
      parcels: await judgePiece(parcels, parcel, ({ messages }) => messages),
    }
  }

  async #renew(groups: readonly (readonly string[])[]): Promise<readonly Renewed[]> {
    const { answer, time } = await this.perform('renew', { tokens: groups.flat() })
    let end = 0
    return groups.map(({ length }) => {
      end += length
      return { lockedUntilMs: answer.lockedUntilMs.slice(end - length, end), time }
    })
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

  /** At most every tenth of the idle period, which clients see as the time of the last access. */
  #takesTouch(kind: EntityCommandKind, record: EntityRecord): boolean {
    if (OWN_WORK.has(kind)) return false
    const idleMs = this.#context.directory.idlePeriodOf(record) ?? NEVER_IDLE_MS
    const nowMs = this.#context.clock.monotonicMs()
    const touched = this.#touched
    return touched?.entity !== record.number || nowMs - touched.atMs >= idleMs / 10
  }

  /** A command that takes a touch is on its way. */
  #noteTouch(kind: EntityCommandKind, record: EntityRecord): void {
    if (!this.#takesTouch(kind, record)) return
    this.#touched = { entity: record.number, atMs: this.#context.clock.monotonicMs() }
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
