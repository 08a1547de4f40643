import {
  ACTIVE,
  DEFERRED,
  type CommandAnswers,
  type CommandOf,
  type EntityRecord,
  type EntitySettings,
  type MessageCommand,
  type MessageCopy,
  type NewMessage,
  type PeekedMessage,
  type Refusal,
} from '@tidemark/store/messages'
import { Difference } from '../difference.ts'
import type { ModelSettings, Where } from './message-program.ts'
import type { MessagingEnvironment } from './messaging-environment.ts'

type Kind = MessageCommand['kind']
type Final<K extends Kind> = Exclude<CommandAnswers[K], { readonly kind: 'again' }>

/** A state's name, as the model has it. */
export function stateName(state: number): 'active' | 'deferred' | 'scheduled' {
  if (state === ACTIVE) return 'active'
  return state === DEFERRED ? 'deferred' : 'scheduled'
}

/** The entities of one program in the store: two queues, two subscriptions, and their topic. */
export class MessageStage {
  readonly #environment: MessagingEnvironment
  readonly #beganMs: number
  readonly #paths: readonly string[]
  #records: readonly EntityRecord[] = []

  constructor(environment: MessagingEnvironment, name: string) {
    this.#environment = environment
    this.#beganMs = environment.clock.wallMs()
    const topic = `${name}/topic`
    const subscriptions = ['x', 'y'].map((each) => `${topic}/Subscriptions/${each}`)
    this.#paths = [`${name}/queue`, `${name}/sessions`, ...subscriptions, topic]
  }

  /** Since the program's beginning. */
  get nowMs(): number {
    return this.#environment.clock.wallMs() - this.#beganMs
  }

  /** The store's time of an instant of the program. */
  storeMs(atMs: number): number {
    return this.#beganMs + atMs
  }

  sinceBegin(storeMs: number | undefined): number | undefined {
    return storeMs === undefined ? undefined : storeMs - this.#beganMs
  }

  async create(settings: readonly ModelSettings[]): Promise<void> {
    const topic = this.#paths.at(-1) ?? ''
    const kinds = ['queue', 'queue', 'subscription', 'subscription', 'topic'] as const
    const order = [0, 1, 4, 2, 3]
    const entities = order.map((at) => ({
      kind: kinds[at] ?? 'queue',
      path: this.#paths[at] ?? '',
      topic: kinds[at] === 'subscription' ? topic : undefined,
      settings: entitySettings(settings[at]),
      rules: [],
    }))
    const answer = await this.perform<'create'>(0, { kind: 'create', entities })
    if (answer.kind !== 'created') throw new Difference(`create: ${answer.kind}`)
    await this.refresh()
  }

  async refresh(): Promise<void> {
    const { entities } = await (await this.#environment.messages(0)).readCatalog()
    this.#records = entities
  }

  record({ entity, isDead }: Where): EntityRecord {
    const path = this.#paths[entity] ?? ''
    const wanted = isDead ? `${path}/$DeadLetterQueue` : path
    const found = this.#records.find((record) => record.path === wanted)
    if (found === undefined) throw new Difference(`${wanted} is not in the catalog`)
    return found
  }

  on(where: Where): { readonly entity: number; readonly touch: false } {
    return { entity: this.record(where).number, touch: false }
  }

  /** To the end, however many pieces it takes. */
  async perform<K extends Kind>(via: number, command: CommandOf<K>): Promise<Final<K>> {
    const engine = await this.#environment.messages(via)
    for (let times = 0; times < 100; times++) {
      const performed = await engine.perform<K>(command, {
        lockMs: this.#environment.clock.wallMs(),
      })
      const answer: unknown = performed.answer
      if (!isAgain(answer)) return answer as Final<K>
    }
    throw new Difference(`${command.kind} is never done`)
  }

  async peek(via: number, where: Where): Promise<readonly PeekedMessage[]> {
    const answer = await this.perform<'peek'>(via, {
      kind: 'peek',
      ...this.on(where),
      session: undefined,
      fromNumber: 0,
      max: 10_000,
      maxBytes: 1e9,
    })
    if (answer.kind !== 'peeked') throw new Difference(`peek: ${answer.reason}`)
    return answer.messages
  }

  /** Every message goes to both subscriptions. */
  copies(): readonly MessageCopy[] {
    return [2, 3].map((entity) => ({
      subscription: this.record({ entity, isDead: false }).number,
      changes: undefined,
      changedBytes: 0,
      session: undefined,
      deadLetter: undefined,
    }))
  }
}

export function newMessage(given: Partial<NewMessage> & { readonly head: string }): NewMessage {
  return {
    body: new Uint8Array([1, 2, 3]),
    bytes: 10,
    messageId: given.head,
    session: undefined,
    ttlMs: undefined,
    scheduledMs: undefined,
    copies: [],
    ...given,
  }
}

export function entitySettings(model: ModelSettings | undefined): EntitySettings {
  if (model === undefined) throw new RangeError('a program has settings for every entity')
  return {
    ...model,
    deadLettersFilterErrors: false,
    autoDeleteOnIdleMs: undefined,
    forwardTo: undefined,
    forwardDeadLettersTo: undefined,
    maxBytes: 1e9,
    maxMessageBytes: 1e6,
    status: 'Active',
    userMetadata: '',
  }
}

function isAgain(answer: unknown): boolean {
  return (answer as { readonly kind: string }).kind === 'again'
}

export function isRefused(answer: { readonly kind: string }): answer is Refusal {
  return answer.kind === 'refused'
}
