import { ProtocolViolationError } from './protocol-violation-error.ts'

/** What clients may ask for and do not get. Each stands in "What is not offered" of `docs/guide/service-bus-clients.md`. */
export const NOT_OFFERED = [
  'links without the address of an entity',
  'operations on a transfer dead-letter queue',
  'other operations of management',
  'selectors',
  'sessions that several receivers hold',
  'this operation in a transaction',
  'transactions that others coordinate',
] as const

/** @throws what a client is told that asked for it. `named`: as the client named it */
export function notOffered(what: (typeof NOT_OFFERED)[number], named?: string): never {
  const text = named === undefined ? what : `${what}: ${named}`
  throw new ProtocolViolationError(`The front does not offer ${text}.`, 'amqp:not-implemented')
}
