import { systemClock } from '@tidemark/contracts'
import {
  openMessaging,
  SessionLockLostError,
  UnauthorizedAccessError,
  type MessageBroker,
} from '@tidemark/messaging'
import {
  permits,
  type AccessRight,
  type MessageFront,
  type SessionLink,
} from '@tidemark/messaging/front'
import { openMemoryStore, SimulatedClock } from '@tidemark/testing'
import rhea from 'rhea'
import { encoded, typedValueAt } from '../values/typed-values.ts'
import type { ManagementContext } from './management-call.ts'
import { performOperation } from './perform-operation.ts'

/** An answer as a client decodes it. */
export interface DecodedAnswer {
  readonly status: number
  readonly description: string
  readonly condition: string | undefined
  readonly body: DecodedBody
}

/** Fields of all operations. */
export interface DecodedBody {
  readonly messages: readonly { readonly message: Buffer; readonly 'lock-token': Buffer }[]
  readonly rules: readonly { readonly 'rule-description': TypedValue }[]
  readonly 'sessions-ids': readonly string[]
}

/** A value with its type, as rhea leaves described ones. */
export interface TypedValue {
  readonly type: { readonly name: string }
  readonly descriptor?: { readonly value: unknown }
  readonly value: unknown
}

/** A broker on a store in memory, whose `$management` nodes are asked as a client asks them: over encoded bodies. */
export class ManagedBroker implements AsyncDisposable {
  readonly clock: SimulatedClock
  readonly broker: MessageBroker
  readonly front: MessageFront
  readonly failures: unknown[] = []
  /** Operations fail with it when they ask for a right. */
  failWith: Error | undefined
  rights: ReadonlySet<AccessRight> = new Set<AccessRight>(['Listen', 'Send', 'Manage'])
  readonly #held = new Map<string, SessionLink>()
  readonly #close: () => Promise<void>

  private constructor(clock: SimulatedClock, broker: MessageBroker, close: () => Promise<void>) {
    this.clock = clock
    this.broker = broker
    this.front = broker.front()
    this.#close = close
  }

  static async open(): Promise<ManagedBroker> {
    const clock = new SimulatedClock()
    const store = await openMemoryStore({
      clock: {
        wallMs: () => clock.wallMs(),
        monotonicMs: () => clock.monotonicMs(),
        sleep: (delayMs, signal, options) => systemClock.sleep(delayMs, signal, options),
      },
    })
    const database = await store.createDatabaseIfNotExists('shop')
    return new ManagedBroker(clock, openMessaging(database, { clock }), () => store.close())
  }

  /** Holds a session by a link of this name. */
  async hold(path: string, sessionId: string, linkName: string): Promise<SessionLink> {
    const signal = new AbortController().signal
    const options = { mode: 'peekLock', sessionId, maxWaitMs: 0, signal } as const
    const session = await this.front.acceptSession(path, options)
    this.#held.set(`${linkName}/${sessionId}`, session)
    return session
  }

  async ask(
    path: string,
    operation: string,
    body: unknown,
    linkName?: string,
  ): Promise<DecodedAnswer> {
    const context: ManagementContext = {
      broker: this.broker,
      front: this.front,
      path,
      isEmpty: path.endsWith('/$Transfer/$DeadLetterQueue'),
      assertRight: (right) => {
        if (this.failWith !== undefined) throw this.failWith
        const claims = { path: '', rights: this.rights, expiresMs: Infinity, key: {} }
        if (permits(claims, { right, path, nowMs: 0 })) return
        throw new UnauthorizedAccessError(`Unauthorized access: '${right}' is needed.`)
      },
      heldSession: (sessionId) => {
        const session = this.#held.get(`${linkName}/${sessionId}`)
        if (session === undefined) throw new SessionLockLostError(sessionId)
        return session
      },
      reportFailure: (error) => this.failures.push(error),
    }
    const request = {
      operation: `com.microsoft:${operation}`,
      linkName,
      body: typedValueAt(encoded(rhea.types.wrap(body)), 0),
    }
    const answer = await performOperation(request, context)
    return {
      status: answer.statusCode,
      description: answer.statusDescription,
      condition: answer.errorCondition,
      body: overTheWire(answer.body) as DecodedBody,
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.broker.close()
    await this.#close()
  }
}

/** The annotations of an encoded message. */
export function annotationsOf(message: Buffer): Readonly<Record<string, unknown>> {
  const annotations: unknown = rhea.message.decode(message)['message_annotations']
  return typeof annotations === 'object' ? { ...annotations } : {}
}

function overTheWire(body: unknown): unknown {
  return rhea.message.decode(rhea.message.encode({ body }))['body']
}

/** A lock token as clients write it. */
export function uuidBytes(token: string): Buffer {
  return Buffer.from(token.replaceAll('-', ''), 'hex')
}

export const wire = {
  longs: (...values: readonly number[]) =>
    rhea.types.wrap_array(values.map(longBytes), 0x81, undefined),
  uuids: (...tokens: readonly string[]) =>
    rhea.types.wrap_array(tokens.map(uuidBytes), 0x98, undefined),
  long: (value: number) => rhea.types.wrap_long(longBytes(value)),
  int: (value: number) => rhea.types.wrap_int(value),
}

/** The official client always gives numbers of messages as their bytes. */
function longBytes(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64BE(BigInt(value))
  return bytes
}
