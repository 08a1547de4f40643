import { errorCode } from '@tidemark/contracts'
import { amqpCondition } from '@tidemark/messaging/front'
import { ProtocolViolationError } from './protocol-violation-error.ts'
import { MALFORMED_MESSAGE } from './malformed-message-error.ts'

/** As a client gets it. */
export interface WireError {
  /** Of AMQP or of the service. */
  readonly condition: string
  readonly description: string
}

/** @throws what a client is told that asked for something that we do not offer */
export function notOffered(what: string): never {
  throw new ProtocolViolationError(`The front does not offer ${what}.`, 'amqp:not-implemented')
}

/** An error as a client gets it: its condition and text. What is not coded is our fault, and tells nothing of the inside. */
export function errorOnWire(error: unknown): WireError {
  if (error instanceof ProtocolViolationError) {
    return { condition: error.condition, description: error.message }
  }
  const code = errorCode(error)
  const condition = code === MALFORMED_MESSAGE ? 'amqp:decode-error' : amqpCondition(code)
  return {
    condition,
    description: isOurs(error) ? 'The service had an internal error.' : describe(error),
  }
}

/** Whether an error is not the client's fault, and is worth a line in a log. */
export function isOurs(error: unknown): boolean {
  const code = errorCode(error)
  return (
    !(error instanceof ProtocolViolationError) &&
    code !== MALFORMED_MESSAGE &&
    amqpCondition(code) === 'amqp:internal-error'
  )
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
