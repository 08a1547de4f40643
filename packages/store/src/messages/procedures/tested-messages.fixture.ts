import { openMemoryEngine, SimulatedClock } from '@tidemark/testing'
import type { DatabaseEngine, StorageEngine } from '../../engine/storage-engine.ts'
import type { EntityKind, EntityRecord, EntitySettings } from '../entities.ts'
import { lockToken } from '../lock-token.ts'
import type {
  Again,
  CommandAnswers,
  CommandOf,
  Delivery,
  DispositionAnswer,
  Listening,
  MessageCommand,
  MessageCopy,
  NewMessage,
  Outcome,
  PeekedMessage,
  SessionHold,
} from '../message-commands.ts'
import type { MessageEngine } from '../message-engine.ts'
import { ACTIVE, DEFERRED } from '../message-rows.ts'
import { SETTINGS } from '../rules/rows.fixture.ts'

type Kind = MessageCommand['kind']
type Given = Omit<Partial<NewMessage>, 'head'>

/** More transactions than any test needs for what is due. */
const MAX_ROUNDS = 50

/** Messages of a database in memory, by commands, with a clock that only the test moves. */
export class TestedMessages implements AsyncDisposable {
  readonly clock: SimulatedClock
  readonly engine: MessageEngine
  readonly startMs: number
  readonly #store: StorageEngine
  readonly #database: DatabaseEngine
  /** How often a command had to be sent again. */
  again = 0
  #locks = 0

  private constructor(clock: SimulatedClock, store: StorageEngine, database: DatabaseEngine) {
    this.clock = clock
    this.#store = store
    this.#database = database
    this.engine = database.messages
    this.startMs = this.engine.nowMs()
  }

  static async open(): Promise<TestedMessages> {
    const clock = new SimulatedClock()
    const store = openMemoryEngine({ clock })
    await store.createDatabase('db')
    return new TestedMessages(clock, store, await store.openDatabase('db'))
  }

  /** The tables must agree with each other, whatever the test did. */
  async [Symbol.asyncDispose](): Promise<void> {
    const problems = await this.#database.check()
    await this.#store.close()
    if (problems.length > 0) throw new Error(problems.join('\n'))
  }

  /** Since the beginning. */
  nowMs(): number {
    return this.engine.nowMs() - this.startMs
  }

  async wait(ms: number): Promise<void> {
    await this.clock.advance(ms)
  }

  /** Once, whatever the answer. */
  async once<K extends Kind>(command: CommandOf<K>): Promise<CommandAnswers[K]> {
    return (await this.engine.perform<K>(command, { lockMs: undefined })).answer
  }

  async perform<K extends Kind>(command: CommandOf<K>): Promise<Exclude<CommandAnswers[K], Again>> {
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const answer = await this.once<K>(command)
      if (isFinal(answer)) return answer
      this.again += 1
    }
    throw new Error(`${command.kind} is never done`)
  }

  async queue(path: string, settings: Partial<EntitySettings> = {}): Promise<Entity> {
    return this.create('queue', path, settings)
  }

  async topic(path: string, settings: Partial<EntitySettings> = {}): Promise<Entity> {
    return this.create('topic', path, settings)
  }

  async subscription(
    topic: string,
    name: string,
    settings: Partial<EntitySettings> = {},
  ): Promise<Entity> {
    return this.create('subscription', `${topic}/Subscriptions/${name}`, settings, topic)
  }

  async create(
    kind: Exclude<EntityKind, 'deadLetter'>,
    path: string,
    settings: Partial<EntitySettings>,
    topic?: string,
  ): Promise<Entity> {
    const answer = await this.perform<'create'>({
      kind: 'create',
      entities: [{ kind, path, topic, settings: { ...SETTINGS, ...settings }, rules: [] }],
    })
    if (answer.kind !== 'created') throw new Error(`${path}: ${answer.kind}`)
    return this.find(path)
  }

  async record(path: string): Promise<EntityRecord | undefined> {
    const { entities } = await this.engine.readCatalog()
    return entities.find((entity) => entity.path === path)
  }

  async find(path: string): Promise<Entity> {
    const record = await this.record(path)
    if (record === undefined) throw new Error(`${path} is not there`)
    return new Entity(this, record.number, path)
  }

  /** A new lock: 20 digits. */
  lock(): string {
    this.#locks += 1
    return this.#locks.toString(16).padStart(20, '0')
  }
}

/** One entity, in few words. Messages are known by their `messageId`, which is the head. */
export class Entity {
  readonly number: number
  readonly path: string
  readonly #messages: TestedMessages

  constructor(messages: TestedMessages, number: number, path: string) {
    this.#messages = messages
    this.number = number
    this.path = path
  }

  get on(): { readonly entity: number; readonly touch: boolean } {
    return { entity: this.number, touch: true }
  }

  deadLetters(): Promise<Entity> {
    return this.#messages.find(`${this.path}/$DeadLetterQueue`)
  }

  async version(): Promise<number> {
    return (await this.#messages.record(this.path))?.version ?? 0
  }

  async sendAs(
    parcels: readonly (readonly NewMessage[])[],
  ): Promise<Exclude<CommandAnswers['send'], Again>> {
    return this.#messages.perform<'send'>({
      kind: 'send',
      ...this.on,
      version: await this.version(),
      parcels: parcels.map((messages) => ({ messages })),
    })
  }

  /** One parcel. Gives the numbers, or what happened instead. */
  async send(...messages: readonly Given[]): Promise<readonly (number | undefined)[] | string> {
    const answer = await this.sendAs([messages.map(message)])
    if (answer.kind === 'refused') return answer.reason
    const parcel = answer.parcels[0]
    return parcel?.kind === 'sent' ? parcel.numbers : (parcel?.kind ?? 'none')
  }

  async receiveAs(
    command: Partial<CommandOf<'receive'>>,
  ): Promise<Exclude<CommandAnswers['receive'], Again>> {
    return this.#messages.perform<'receive'>({
      kind: 'receive',
      ...this.on,
      hold: undefined,
      requests: [],
      ...command,
    })
  }

  async receive(max = 100, hold?: SessionHold): Promise<readonly Delivery[]> {
    const lock = this.#messages.lock()
    const requests = [{ mode: 'peekLock' as const, max, maxBytes: 1e9, lock }]
    const answer = await this.receiveAs({ hold, requests })
    if (answer.kind === 'refused') throw new Error(answer.reason)
    return answer.deliveries[0] ?? []
  }

  /** Names of what is there in the order of numbers; locked, deferred and scheduled ones are marked. */
  async peek(): Promise<readonly string[]> {
    return (await this.peekMessages()).map(
      ({ head, state, isLocked }) =>
        head + (isLocked ? ' locked' : '') + (state === ACTIVE ? '' : ` ${nameOf(state)}`),
    )
  }

  async peekMessages(): Promise<readonly PeekedMessage[]> {
    const answer = await this.#messages.perform<'peek'>({
      kind: 'peek',
      ...this.on,
      session: undefined,
      fromNumber: 0,
      max: 10_000,
      maxBytes: 1e9,
    })
    return answer.kind === 'peeked' ? answer.messages : []
  }

  async settle(
    outcome: Outcome['kind'] | Outcome,
    ...deliveries: readonly Delivery[]
  ): Promise<readonly DispositionAnswer[]> {
    const answer = await this.#messages.perform<'settle'>({
      kind: 'settle',
      ...this.on,
      dispositions: deliveries.map((delivery) => ({
        token: tokenOf(delivery),
        outcome: typeof outcome === 'string' ? plainOutcome(outcome) : outcome,
      })),
    })
    if (answer.kind === 'refused') throw new Error(answer.reason)
    return answer.answers
  }

  async renew(...deliveries: readonly Delivery[]): Promise<readonly (number | string)[]> {
    const answer = await this.#messages.perform<'renew'>({
      kind: 'renew',
      ...this.on,
      tokens: deliveries.map(tokenOf),
    })
    if (answer.kind === 'refused') throw new Error(answer.reason)
    return answer.lockedUntilMs.map((ms) =>
      typeof ms === 'number' ? ms - this.#messages.startMs : ms,
    )
  }

  async receiveDeferred(
    numbers: readonly number[],
    hold?: SessionHold,
    maxBytes = 1_000_000,
  ): Promise<readonly Delivery[] | string> {
    const answer = await this.#messages.perform<'receiveDeferred'>({
      kind: 'receiveDeferred',
      ...this.on,
      hold,
      mode: 'peekLock',
      lock: this.#messages.lock(),
      numbers,
      maxBytes,
    })
    return answer.kind === 'received' ? answer.deliveries : answer.kind
  }

  /** What the acceptance gives, or why there is none. */
  async accept(wanted: { named: string } | { after: string }): Promise<SessionHold | string> {
    const lock = this.#messages.lock()
    const answer = await this.#messages.perform<'acceptSession'>({
      kind: 'acceptSession',
      ...this.on,
      lock,
      session: wanted,
    })
    return answer.kind === 'accepted' ? { session: answer.session, lock } : kindOf(answer)
  }

  async hold(session: string): Promise<SessionHold> {
    const hold = await this.accept({ named: session })
    if (typeof hold === 'string') throw new Error(hold)
    return hold
  }

  async applyDue(listening: Listening = 'nobody'): Promise<void> {
    await this.#messages.perform<'applyDue'>({ kind: 'applyDue', ...this.on, listening })
  }
}

export function message(given: Given): NewMessage {
  const { messageId = 'm' } = given
  return {
    body: new Uint8Array(),
    bytes: 10,
    session: undefined,
    ttlMs: undefined,
    scheduledMs: undefined,
    copies: [],
    ...given,
    head: messageId,
    messageId,
  }
}

export function copyFor(subscription: Entity, copy: Partial<MessageCopy> = {}): MessageCopy {
  return {
    subscription: subscription.number,
    changes: undefined,
    changedBytes: 0,
    session: undefined,
    deadLetter: undefined,
    ...copy,
  }
}

export function tokenOf({ message: { id, lock } }: Delivery): string {
  return lockToken(id, lock ?? '')
}

export function heads(deliveries: readonly Delivery[] | string): readonly string[] | string {
  return typeof deliveries === 'string'
    ? deliveries
    : deliveries.map(({ message: { head } }) => head)
}

export function kindOf(
  answer: { readonly kind: string } | { kind: string; reason: string },
): string {
  return 'reason' in answer ? answer.reason : answer.kind
}

function plainOutcome(kind: Outcome['kind']): Outcome {
  return kind === 'deadLetter'
    ? { kind, changes: undefined, reason: undefined, description: undefined }
    : kind === 'complete' || kind === 'release'
      ? { kind }
      : { kind, changes: undefined }
}

function isFinal<Answer extends { readonly kind: string }>(
  answer: Answer,
): answer is Exclude<Answer, Again> {
  return answer.kind !== 'again'
}

function nameOf(state: number): string {
  return state === DEFERRED ? 'deferred' : 'scheduled'
}
