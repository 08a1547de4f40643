import { type Telemetry, type TracedMessage } from '@tidemark/contracts'
import { observedCall } from '@tidemark/contracts/internal'
import type { Outcome } from '@tidemark/store/messages'
import { destinationOf } from '../entities/entity-names.ts'

/** Calls of the public API on one entity, each made in a span if somebody wants one. */
export class ObservedCalls {
  readonly #telemetry: Telemetry | undefined
  readonly #path: string

  constructor(telemetry: Telemetry | undefined, path: string) {
    this.#telemetry = telemetry
    this.#path = path
  }

  /** `items` of messages whose properties are known. */
  send<Result>(
    name: 'send' | 'schedule' | 'cancel',
    { count, items }: { readonly count: number; readonly items?: readonly TracedMessage[] },
    act: () => Promise<Result>,
  ): Promise<Result> {
    if (this.#telemetry === undefined) return act()
    const place = destinationOf(this.#path)
    return observedCall(this.#telemetry, { type: 'send', name, ...place, count, items }, act)
  }

  receive<Item extends TracedMessage>(
    name: 'receive' | 'receive_deferred',
    act: () => Promise<Item[]>,
  ): Promise<Item[]> {
    if (this.#telemetry === undefined) return act()
    const call = { type: 'receive', name, ...destinationOf(this.#path), count: 0 } as const
    return observedCall(this.#telemetry, call, async (onReceived) => {
      const messages = await act()
      onReceived(messages)
      return messages
    })
  }

  process(message: TracedMessage, act: () => Promise<void>): Promise<void> {
    if (this.#telemetry === undefined) return act()
    const place = destinationOf(this.#path)
    const call = { type: 'process', name: 'process', ...place, count: 1 } as const
    return observedCall(this.#telemetry, { ...call, items: [message] }, act)
  }

  settle(kind: Outcome['kind'], act: () => Promise<void>): Promise<void> {
    if (this.#telemetry === undefined) return act()
    const name = kind === 'deadLetter' ? 'dead_letter' : kind
    const place = destinationOf(this.#path)
    return observedCall(this.#telemetry, { type: 'settle', name, ...place, count: 1 }, act)
  }
}
