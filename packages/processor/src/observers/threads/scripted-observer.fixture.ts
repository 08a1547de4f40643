import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { BroadcastChannel, threadId } from 'node:worker_threads'
import {
  errorCode,
  type Change,
  type CloseReason,
  type DocumentBody,
  type IChangeFeedObserver,
  type ObserverContext,
  type Resynchronization,
} from '@tidemark/contracts'
import type { PortableContext } from './thread-messages.ts'

/** What an observer does with a batch, or when it is opened or closed. */
export type Deed =
  | {
      readonly kind: 'throw'
      readonly what: 'coded' | 'text' | 'object' | 'uncloneable' | 'hostile'
    }
  /** Ends the thread with this code. */
  | { readonly kind: 'exit'; readonly code: number }
  /** The same, when the call is over. */
  | { readonly kind: 'exitSoon'; readonly code: number }
  | { readonly kind: 'uncaught' }
  | { readonly kind: 'unhandled' }
  | { readonly kind: 'outOfMemory' }
  /** Blocks the thread until the gate is opened. */
  | { readonly kind: 'block' }
  /** Waits for the gate, and blocks nothing. */
  | { readonly kind: 'wait' }
  | { readonly kind: 'hang' }
  | { readonly kind: 'computeUntilAborted' }
  | { readonly kind: 'waitUntilAborted' }
  | { readonly kind: 'checkpoint' }
  /** Keeps the context, and asks for its checkpoint when it is closed and after. */
  | { readonly kind: 'checkpointLate' }
  | { readonly kind: 'collectGarbage' }
  /** Looks at the document. `swallows`: catches what that throws, and asks for a checkpoint. */
  | { readonly kind: 'look'; readonly swallows: boolean }

export interface ScriptData {
  /** A `BroadcastChannel` where everything is told. */
  readonly channel: string
  /** 0: opened by the test. 1: how many have come to it. */
  readonly gate: Int32Array
  /** What is done at a document of this id or key, at most so many times over all observers. */
  readonly deeds: Readonly<Record<string, { readonly deed: Deed; readonly times: number }>>
  /** How often deeds were done, by their place in `deeds`. */
  readonly done: Int32Array
}

export interface Report {
  readonly call: 'make' | 'open' | 'processChanges' | 'resynchronize' | 'close' | 'late'
  readonly threadId: number
  /** Of this thread. */
  readonly instance: number
  readonly context?: PortableContext | undefined
  /** Calls of this instance before this one. */
  readonly before?: number | undefined
  readonly ids?: readonly string[] | undefined
  readonly reason?: CloseReason | undefined
  readonly resync?: Resynchronization | undefined
  /** Code of what a checkpoint was refused with, or the reason of an abort. */
  readonly outcome?: string | undefined
}

let instances = 0

export function createObserver(data: ScriptData): ScriptedObserver {
  return new ScriptedObserver(data)
}

export class ScriptedObserver implements IChangeFeedObserver {
  readonly #data: ScriptData
  readonly #channel: BroadcastChannel
  readonly #instance: number
  #calls = 0
  #kept: ObserverContext | undefined

  constructor(data: ScriptData) {
    this.#data = data
    this.#channel = new BroadcastChannel(data.channel)
    this.#instance = ++instances
    this.#tell('make', {})
  }

  async open(context: ObserverContext): Promise<void> {
    this.#tell('open', { context })
    await this.#act('open', context)
  }

  async processChanges(
    context: ObserverContext,
    changes: readonly Change<DocumentBody>[],
  ): Promise<void> {
    this.#tell('processChanges', { context, ids: changes.map(({ id }) => id) })
    this.#calls += 1
    for (const change of changes) {
      await this.#act(change.id, context, change)
      await this.#act(String(change.partitionKey), context)
    }
  }

  async resynchronize(context: ObserverContext, resync: Resynchronization): Promise<void> {
    this.#tell('resynchronize', { context, resync })
    await this.#act('resynchronize', context)
  }

  async close(context: ObserverContext, reason: CloseReason): Promise<void> {
    this.#tell('close', { context, reason })
    await this.#act('close', context)
    const kept = this.#kept
    if (kept === undefined) return
    await kept.checkpoint()
    this.#tell('late', { outcome: 'stored' })
    setTimeout(() => void this.#checkpoint(kept, 'late'), 0)
  }

  async #act(at: string, context: ObserverContext, change?: Change): Promise<void> {
    const { deeds, done, gate } = this.#data
    const script = deeds[at]
    if (script === undefined) return
    const place = Object.keys(deeds).indexOf(at)
    if (Atomics.add(done, place, 1) >= script.times) return
    const { deed } = script
    switch (deed.kind) {
      case 'throw':
        throw thrown(deed.what)
      case 'exit':
        return process.exit(deed.code)
      case 'exitSoon':
        setTimeout(() => process.exit(deed.code), 0)
        return
      case 'uncaught':
        setTimeout(() => {
          throw new TypeError('nobody catches this')
        }, 0)
        return new Promise(() => {})
      case 'unhandled':
        void Promise.reject(new TypeError('nobody handles this'))
        return new Promise(() => {})
      case 'outOfMemory': {
        const kept: object[] = []
        for (;;) kept.push({ kept: kept.length })
      }
      case 'block':
        Atomics.add(gate, 1, 1)
        Atomics.wait(gate, 0, 0)
        return
      case 'wait':
        Atomics.add(gate, 1, 1)
        while (Atomics.load(gate, 0) === 0) await new Promise((resolve) => setTimeout(resolve, 1))
        return
      case 'hang':
        return new Promise(() => {})
      case 'computeUntilAborted':
        Atomics.add(gate, 1, 1)
        for (;;) context.signal.throwIfAborted()
      case 'waitUntilAborted':
        Atomics.add(gate, 1, 1)
        return new Promise((_resolve, reject) => {
          const { signal } = context
          signal.addEventListener('abort', () => {
            const { aborted } = signal
            reject(new Error(`aborted ${aborted}`, { cause: signal.reason }))
          })
        })
      case 'checkpoint':
        return this.#checkpoint(context, 'late')
      case 'checkpointLate':
        this.#kept = context
        return
      case 'look':
        try {
          structuredClone(change)
        } catch (error) {
          if (!deed.swallows) throw error
          await this.#checkpoint(context, 'late')
        }
        return
      case 'collectGarbage': {
        setFlagsFromString('--expose-gc')
        const collect = runInNewContext('gc') as () => void
        // Once for what earlier calls have let go of, in turns of their own.
        for (let turn = 0; turn < 3; turn += 1) {
          collect()
          await new Promise((resolve) => setTimeout(resolve, 0))
        }
        return
      }
    }
  }

  async #checkpoint(context: ObserverContext, call: Report['call']): Promise<void> {
    try {
      await context.checkpoint()
      this.#tell(call, { outcome: 'stored' })
    } catch (error) {
      this.#tell(call, { outcome: errorCode(error) ?? String(error) })
    }
  }

  #tell(call: Report['call'], more: Partial<Report>): void {
    const { context, ...rest } = more
    let plain: Report['context']
    if (context !== undefined) {
      const { hostName, group, leaseId, range, fence, attempt, redriven } = context
      plain = { hostName, group, leaseId, range, fence, attempt, redriven }
    }
    const report: Report = {
      call,
      threadId,
      instance: this.#instance,
      before: this.#calls,
      context: plain,
      ...rest,
    }
    this.#channel.postMessage(report)
  }
}

class PoisonError extends Error {
  override readonly name = 'PoisonError'
  readonly code = 'ERR_POISON'
  readonly retryable = false
  readonly detail = { rows: [1, 2] }
  readonly uncloneable = (): void => {}
}

function thrown(what: 'coded' | 'text' | 'object' | 'uncloneable' | 'hostile'): unknown {
  switch (what) {
    case 'coded':
      return new PoisonError('poison', { cause: new RangeError('too many', { cause: 'rows' }) })
    case 'text':
      return 'only text'
    case 'object':
      return { reason: 'odd' }
    case 'uncloneable':
      return () => 'a function'
    case 'hostile':
      return new Proxy(new Error('x'), {
        get() {
          throw new Error('no')
        },
      })
  }
}
