import {
  lockToken,
  type CommandAnswers,
  type CommandOf,
  type EntityDefinition,
  type EntityRecord,
  type MessageEngine,
  type NewMessage,
  type Outcome,
  type StoredMessage,
} from '@tidemark/store/messages'

export const LOCK = '0123456789abcdef0123'

export const DEFINITION: EntityDefinition = {
  settings: {
    lockDurationMs: 30_000,
    maxDeliveryCount: 10,
    defaultTtlMs: undefined,
    deadLettersExpired: false,
    deadLettersFilterErrors: false,
    requiresSession: false,
    duplicateWindowMs: undefined,
    autoDeleteOnIdleMs: undefined,
    forwardTo: undefined,
    forwardDeadLettersTo: undefined,
    maxBytes: 1_000_000,
    maxMessageBytes: 100_000,
    status: 'Active',
    userMetadata: '',
  },
  rules: [],
}

/** A queue of an engine, by its commands. */
export class QueueUnderTest {
  readonly record: EntityRecord
  readonly #messages: MessageEngine

  constructor(messages: MessageEngine, record: EntityRecord) {
    this.#messages = messages
    this.record = record
  }

  static async create(messages: MessageEngine, path: string): Promise<QueueUnderTest> {
    const entities = [{ ...DEFINITION, kind: 'queue', path } as const]
    const { answer } = await messages.perform<'create'>({ kind: 'create', entities }, NO_TIME)
    const [record] = answer.kind === 'created' ? answer.entities : []
    if (record === undefined) throw new Error(`not created: ${answer.kind}`)
    return new QueueUnderTest(messages, record)
  }

  /** The same queue by another process. */
  by(messages: MessageEngine): QueueUnderTest {
    return new QueueUnderTest(messages, this.record)
  }

  /** For `CommitRequest.sends`. */
  sendCommand(texts: readonly string[], bytes: number): CommandOf<'send'> {
    const { number: entity, version } = this.record
    const messages = texts.map((text) => ({ ...newMessage(text), bytes }))
    return { kind: 'send', entity, version, touch: false, parcels: [{ messages }] }
  }

  async send(...texts: readonly string[]): Promise<readonly (number | undefined)[]> {
    const parcels = [{ messages: texts.map(newMessage) }]
    const answer = await this.#perform<'send'>({
      kind: 'send',
      version: this.record.version,
      parcels,
    })
    const parcel = answer.kind === 'sent' ? answer.parcels[0] : undefined
    if (parcel?.kind !== 'sent') throw new Error(`not sent: ${answer.kind}`)
    return parcel.numbers
  }

  async receive(max = 10): Promise<readonly StoredMessage[]> {
    const request = { mode: 'peekLock', max, maxBytes: 1_000_000, lock: LOCK } as const
    const answer = await this.#perform<'receive'>({
      kind: 'receive',
      hold: undefined,
      requests: [request],
    })
    if (answer.kind !== 'received') throw new Error(`not received: ${answer.kind}`)
    return answer.deliveries.flat().map(({ message }) => message)
  }

  async settle(messages: readonly StoredMessage[], kind: 'complete' | 'abandon'): Promise<void> {
    const outcome: Outcome = kind === 'complete' ? { kind } : { kind, changes: undefined }
    const dispositions = messages.map(({ id, lock = '' }) => ({
      token: lockToken(id, lock),
      outcome,
    }))
    const answer = await this.#perform<'settle'>({ kind: 'settle', dispositions })
    if (answer.kind !== 'settled' || answer.answers.some((each) => each !== 'settled')) {
      throw new Error(`not settled: ${JSON.stringify(answer)}`)
    }
  }

  async #perform<Kind extends 'send' | 'receive' | 'settle'>(
    command: Omit<CommandOf<Kind>, 'entity' | 'touch'>,
  ): Promise<CommandAnswers[Kind]> {
    const { number: entity } = this.record
    const whole = { ...command, entity, touch: false } as unknown as CommandOf<Kind>
    return (await this.#messages.perform<Kind>(whole, NO_TIME)).answer
  }
}

const NO_TIME = { lockMs: undefined }

export const numbersOf = (rows: readonly { readonly number: number }[]): number[] =>
  rows.map(({ number }) => number)

function newMessage(text: string): NewMessage {
  return {
    head: JSON.stringify({ messageId: text }),
    body: new TextEncoder().encode(text),
    bytes: 10,
    messageId: text,
    session: undefined,
    ttlMs: undefined,
    scheduledMs: undefined,
    copies: [],
  }
}
