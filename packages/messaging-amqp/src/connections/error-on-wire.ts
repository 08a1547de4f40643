import { errorCode } from '@tidemark/contracts'
import { amqpCondition } from '@tidemark/messaging/front'
import { ProtocolViolationError } from '../errors/protocol-violation-error.ts'
import { MALFORMED_MESSAGE } from '../errors/malformed-message-error.ts'
import type { RheaError } from './rhea-internals.ts'

/** An error that a client asked for something we do not offer. */
export function notImplemented(what: string): RheaError {
  return { condition: 'amqp:not-implemented', description: `${what} is not offered.` }
}

/** An error as a client gets it: its condition and text. What is not coded is our fault, and tells nothing of the inside. */
export function errorOnWire(error: unknown): RheaError {
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
