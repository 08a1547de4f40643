import rhea, { type Typed } from 'rhea'
import { descriptorOf, unwrapped } from '../values/typed-values.ts'

/** Codes and names of what AMQP 1.0, part 4, adds. */
const DECLARED = 0x33
const TRANSACTIONAL_STATE = 0x34
const DESCRIPTORS: ReadonlySet<unknown> = new Set([
  TRANSACTIONAL_STATE,
  'amqp:transactional-state:list',
])

/** What a client says of a delivery within a transaction. */
export interface TransactionalState {
  readonly transaction: Buffer
  /** As rhea reads it. Undefined: none yet. */
  readonly outcome: Typed | undefined
}

/** Undefined: a state, which the guard has seen to be one, that is outside of transactions, or none. */
export function transactionalState(state: unknown): TransactionalState | undefined {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- That of a frame, as rhea reads it.
  const typed = state as Typed | null | undefined
  if (!DESCRIPTORS.has(descriptorOf(typed))) return undefined
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The guard has seen that it is a list.
  const [id, outcome] = typed!.value as readonly Typed[]
  return {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The guard has seen that it is binary.
    transaction: unwrapped(id) as Buffer,
    outcome: descriptorOf(outcome) === undefined ? undefined : outcome,
  }
}

/** For rhea to write. */
export function inTransaction(id: Buffer, outcome: unknown): unknown {
  return list(TRANSACTIONAL_STATE, [rhea.types.wrap_binary(id), outcome])
}

/** The outcome of a `declare`. */
export function declared(id: Buffer): unknown {
  return list(DECLARED, [rhea.types.wrap_binary(id)])
}

/** For rhea to write. */
function list(code: number, fields: readonly unknown[]): unknown {
  return rhea.types.described(rhea.types.wrap_ulong(code), rhea.types.wrap_list(fields))
}
