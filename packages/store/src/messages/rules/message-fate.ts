import type { MessageRow } from '../message-rows.ts'

/** What a rule decides for a message. `carryOut` does it, in the order of a list. */
export type Fate =
  /** It stays in its entity, as this row says. */
  | { readonly kind: 'stays'; readonly row: MessageRow }
  /** It is enqueued as this row says, and gets the entity's next number (SCH-05). */
  | { readonly kind: 'activates'; readonly row: MessageRow }
  | { readonly kind: 'goes'; readonly row: MessageRow }
  /** It moves to the dead-letter queue. `row` is what it was until now; `deadLettered` makes the new row. */
  | {
      readonly kind: 'dies'
      readonly row: MessageRow
      readonly reason: ReasonGiven
      /** It dies on its way: the forwardings so far go on counting (SET-14). */
      readonly onItsWay?: true
    }

/** An application may give one of them, or none. */
export interface ReasonGiven {
  readonly reason: string | undefined
  readonly description: string | undefined
}
