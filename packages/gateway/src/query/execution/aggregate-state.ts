import type { Json } from '../json.ts'

/** One aggregate while rows are added to it. */
export interface AggregateState {
  /** Gives how many more characters are kept than before; numbers and the like count nothing. */
  add(value: Json): number
  result(): Json
}
