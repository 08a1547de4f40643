import { CodedError, errorCode } from '@tidemark/contracts'
import { eventLoopTurn } from '@tidemark/contracts/internal'
import type { MessageFront } from '@tidemark/messaging/front'
import { textOf } from '../errors/error-on-wire.ts'
import { TransactionError } from '../errors/transaction-error.ts'
import { Transaction, TransactionBudget } from './transaction.ts'

export interface TransactionsParts {
  readonly front: MessageFront
  /** Does something beside, until the connection ends. */
  readonly start: (work: Promise<void>) => void
}

/** As the service counts, from what is done first (TXN-06). */
const TIMEOUT_MS = 120_000
const MAX_OPEN = 1_000
const ID_BYTES = 16

/** The transactions of one client. */
export class Transactions {
  readonly #parts: TransactionsParts
  readonly #budget = new TransactionBudget()
  /** By their ids as hexadecimal digits. */
  readonly #open = new Map<string, { readonly owner: object; readonly transaction: Transaction }>()

  constructor(parts: TransactionsParts) {
    this.#parts = parts
  }

  /** `owner`: the link that begins it, for `drop`. @throws ERR_TRANSACTION */
  declare(owner: object): Transaction {
    if (this.#open.size >= MAX_OPEN) {
      throw new TransactionError(
        'amqp:resource-limit-exceeded',
        `A connection has at most ${MAX_OPEN} transactions at once.`,
      )
    }
    const id = this.#parts.front.random.hex(ID_BYTES)
    const transaction = new Transaction(Buffer.from(id, 'hex'), {
      budget: this.#budget,
      onBegun: () => this.#parts.start(this.#timeOut(transaction)),
    })
    this.#open.set(id, { owner, transaction })
    return transaction
  }

  /** @throws ERR_TRANSACTION when it is none, or has ended */
  find(id: Buffer): Transaction {
    const found = this.#get(id)
    if (found !== undefined) return found
    throw new TransactionError(
      'amqp:transaction:unknown-id',
      'The transaction is none of this connection, or it has ended.',
    )
  }

  /** Resolves when all of it is durable. Rejects with ERR_TRANSACTION when nothing was done. */
  async commit(id: Buffer): Promise<void> {
    const transaction = await this.#take(id)
    try {
      await this.#parts.front.commit(await transaction.finalSteps())
      transaction.committed()
    } catch (error) {
      throw rolledBack(error)
    } finally {
      transaction.end()
    }
  }

  /** Rejects with ERR_TRANSACTION when it is none, or has ended. */
  async rollBack(id: Buffer): Promise<void> {
    const transaction = await this.#take(id)
    transaction.end()
  }

  /** Those that this link of the client has begun are rolled back. */
  drop(owner: object): void {
    for (const [id, one] of this.#open) {
      if (one.owner !== owner) continue
      this.#open.delete(id)
      one.transaction.end()
    }
  }

  /** An outcome within it, if it is one, for rhea to write. */
  state(id: Buffer | undefined, outcome: unknown): unknown {
    return this.#get(id)?.state(outcome) ?? outcome
  }

  /** Something in it was refused, if it is one. */
  fail(id: Buffer | undefined, error: unknown): void {
    this.#get(id)?.fail(error)
  }

  /** It is not committed before this is over, if it is one. */
  track(id: Buffer | undefined, work: Promise<unknown>): void {
    this.#get(id)?.track(work)
  }

  /** Nothing more comes into it. */
  async #take(id: Buffer): Promise<Transaction> {
    // rhea tells what a client said of deliveries at the end of its turn, also if that came before.
    await eventLoopTurn()
    const transaction = this.find(id)
    this.#open.delete(id.toString('hex'))
    return transaction
  }

  #get(id: Buffer | undefined): Transaction | undefined {
    return id && this.#open.get(id.toString('hex'))?.transaction
  }

  async #timeOut(transaction: Transaction): Promise<void> {
    try {
      await this.#parts.front.clock.sleep(TIMEOUT_MS, transaction.ended)
    } catch {
      // It has ended.
    }
    if (transaction.ended.aborted) return
    transaction.end(
      new TransactionError(
        'amqp:transaction:timeout',
        `The transaction took longer than ${TIMEOUT_MS / 1000} s, and was rolled back.`,
      ),
    )
  }
}

/** What a client gets whose transaction was not committed. Of an error that may be another's next time it is not known. */
function rolledBack(error: unknown): unknown {
  if (error instanceof TransactionError && error.condition === 'amqp:transaction:timeout')
    return error
  if (errorCode(error) === undefined || (error instanceof CodedError && error.retryable))
    return error
  return new TransactionError(
    'amqp:transaction:rollback',
    `The transaction was rolled back: ${textOf(error)}`,
    { cause: error },
  )
}
