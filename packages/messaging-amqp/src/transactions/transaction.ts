import type { NewMessage, TransactionStep } from '@tidemark/messaging/front'
import { TransactionError } from '../errors/transaction-error.ts'
import { inTransaction } from '../rhea/transactional-state.ts'

/** As the service allows. */
const MAX_SENT = 100
/** Messages that are settled or cancelled. */
const MAX_SETTLED = 1_000
/** Of all transactions of a connection. */
const MAX_BYTES = 32 * 1024 * 1024
/** What a step takes in memory beside its message. */
const STEP_BYTES = 512

/** Bytes of the transactions of one connection. */
export class TransactionBudget {
  #bytes = 0

  take(bytes: number): void {
    if (this.#bytes + bytes > MAX_BYTES) {
      throw new TransactionError(
        'amqp:resource-limit-exceeded',
        `The transactions of a connection hold at most ${MAX_BYTES} bytes.`,
      )
    }
    this.#bytes += bytes
  }

  give(bytes: number): void {
    this.#bytes -= bytes
  }
}

/** What is to be done at its end. */
export interface TransactionEnd {
  readonly onCommitted?: () => void
  readonly onRolledBack?: () => void
}

interface Gathered extends TransactionEnd {
  readonly step: TransactionStep
  readonly bytes: number
}

/** What a client does in a transaction, gathered until it is committed. */
export class Transaction {
  readonly id: Buffer
  readonly #states = new Map<unknown, unknown>()
  readonly #budget: TransactionBudget
  readonly #onBegun: () => void
  /** Of two for one message or session, the last counts. */
  readonly #steps = new Map<unknown, Gathered>()
  readonly #pending = new Set<Promise<unknown>>()
  readonly #end = new AbortController()
  #sent = 0
  #settled = 0
  #failure: Error | undefined

  constructor(
    id: Buffer,
    { budget, onBegun }: { readonly budget: TransactionBudget; readonly onBegun: () => void },
  ) {
    this.id = id
    this.#budget = budget
    this.#onBegun = onBegun
  }

  /** Aborts when nothing more comes into it. */
  get ended(): AbortSignal {
    return this.#end.signal
  }

  /** An outcome within it, for rhea to write. The same for the same outcome: neighbours go into one frame. */
  state(outcome: unknown): unknown {
    const state = this.#states.get(outcome) ?? inTransaction(this.id, outcome)
    this.#states.set(outcome, state)
    return state
  }

  /** @throws ERR_TRANSACTION when it has ended, or takes no more */
  add(step: TransactionStep, end: TransactionEnd = {}): void {
    this.#assertOpen()
    const { key, sent, settled, bytes } = weightOf(step)
    const replaced = this.#steps.get(key)
    if (replaced === undefined) this.#count(sent, settled)
    this.#budget.take(bytes)
    this.#budget.give(replaced?.bytes ?? 0)
    if (this.#steps.size === 0) this.#onBegun()
    this.#steps.set(key, { step, bytes, ...end })
  }

  /** Something was refused: it can only be rolled back. */
  fail(error: unknown): void {
    this.#failure ??= error instanceof Error ? error : new Error(String(error))
  }

  /** It is not committed before this is over. */
  track(work: Promise<unknown>): void {
    const tracked = work.finally(() => this.#pending.delete(tracked))
    this.#pending.add(tracked)
  }

  /** When all that the client has asked for is known; nothing more comes then. Rejects when something of it was refused. */
  async finalSteps(): Promise<readonly TransactionStep[]> {
    await Promise.all(this.#pending)
    this.#assertOpen()
    this.#end.abort()
    return [...this.#steps.values()].map(({ step }) => step)
  }

  /** All of it is durable. */
  committed(): void {
    for (const { onCommitted } of this.#steps.values()) onCommitted?.()
    this.#forget()
  }

  /** What was not committed is not done. `error` says why, when the client did not ask for it. */
  end(error?: unknown): void {
    if (error !== undefined) this.fail(error)
    this.#end.abort()
    for (const { onRolledBack } of this.#steps.values()) onRolledBack?.()
    this.#forget()
  }

  #forget(): void {
    for (const { bytes } of this.#steps.values()) this.#budget.give(bytes)
    this.#steps.clear()
  }

  #assertOpen(): void {
    if (this.#failure !== undefined) throw this.#failure
    if (!this.#end.signal.aborted) return
    throw new TransactionError('amqp:transaction:unknown-id', 'The transaction has ended.')
  }

  #count(sent: number, settled: number): void {
    if (this.#sent + sent > MAX_SENT || this.#settled + settled > MAX_SETTLED) {
      throw new TransactionError(
        'amqp:resource-limit-exceeded',
        `A transaction sends at most ${MAX_SENT} messages, and settles or cancels at most ${MAX_SETTLED}.`,
      )
    }
    this.#sent += sent
    this.#settled += settled
  }
}

interface StepWeight {
  readonly key: unknown
  readonly sent: number
  readonly settled: number
  readonly bytes: number
}

function weightOf(step: TransactionStep): StepWeight {
  switch (step.kind) {
    case 'send':
      return { key: step, sent: step.messages.length, settled: 0, bytes: heldBytes(step.messages) }
    case 'settle': {
      const { token, outcome } = step.disposition
      const bytes = STEP_BYTES + JSON.stringify(outcome).length
      return { key: `message ${token}`, sent: 0, settled: 1, bytes }
    }
    case 'cancel': {
      const { length: settled } = step.numbers
      return { key: step, sent: 0, settled, bytes: STEP_BYTES * settled }
    }
    case 'setSessionState': {
      const bytes = STEP_BYTES + (step.state?.byteLength ?? 0)
      return { key: `session ${step.hold.lock}`, sent: 0, settled: 0, bytes }
    }
  }
}

function heldBytes(messages: readonly NewMessage[]): number {
  return messages.reduce((sum, { bytes }) => sum + STEP_BYTES + bytes, 0)
}
