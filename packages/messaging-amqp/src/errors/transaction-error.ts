import { CodedError } from '@tidemark/contracts'

/** Of AMQP 1.0, part 4, and of a limit. */
export type TransactionCondition =
  | 'amqp:transaction:unknown-id'
  | 'amqp:transaction:rollback'
  | 'amqp:transaction:timeout'
  | 'amqp:resource-limit-exceeded'

/**
 * A transaction of a client was not committed, and nothing of it was done; or what the client wanted to do in it was refused, after
 * which it can only be rolled back. The condition and the text say why.
 *
 * @remedy Begin another transaction, and do all of it again. Messages that it settled are still locked until their locks end.
 */
export class TransactionError extends CodedError {
  override readonly name = 'TransactionError'
  readonly code = 'ERR_TRANSACTION'
  readonly retryable = false
  /** Of AMQP. */
  readonly condition: TransactionCondition

  constructor(condition: TransactionCondition, message: string, options?: ErrorOptions) {
    super(message, options)
    this.condition = condition
  }
}
