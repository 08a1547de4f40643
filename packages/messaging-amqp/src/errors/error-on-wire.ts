import { errorCode } from '@tidemark/contracts'
import { amqpCondition } from '@tidemark/messaging/front'
import { ProtocolViolationError } from './protocol-violation-error.ts'
import { TransactionError } from './transaction-error.ts'
import { MalformedMessageError } from './malformed-message-error.ts'

/** As a client gets it. */
export interface WireError {
  /** Of AMQP or of the service. */
  readonly condition: string
  readonly description: string
}

/** Of a link that the server ends while the client uses it. Clients open another one. */
export const LINK_ENDED: WireError = {
  condition: 'amqp:link:detach-forced',
  description: 'The link was detached: the server is ending it.',
}

/** An error as a client gets it: its condition and text. What is not coded is our fault, and tells nothing of the inside. */
export function errorOnWire(error: unknown): WireError {
  return {
    condition: conditionOf(error),
    description: isOurs(error) ? 'The service had an internal error.' : textOf(error),
  }
}

/** Whether an error is not the client's fault, and is worth a line in a log. */
export function isOurs(error: unknown): boolean {
  return conditionOf(error) === INTERNAL_ERROR
}

const INTERNAL_ERROR = 'amqp:internal-error'

function conditionOf(error: unknown): string {
  if (error instanceof ProtocolViolationError || error instanceof TransactionError)
    return error.condition
  if (error instanceof MalformedMessageError) return 'amqp:decode-error'
  return amqpCondition(errorCode(error))
}

export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
