import type { Again, CommandOf, ParcelAnswer, Refusal } from './message-commands.ts'
import type { CallerTime } from './message-time.ts'

/** What a commit of documents sends, in the order of the entities' numbers. Each command has one parcel. */
export interface CommitSends {
  readonly commands: readonly CommandOf<'send'>[]
  readonly caller: CallerTime
}

/** One command cannot be carried out as it is: then none is. */
export interface NotSent {
  readonly kind: 'notSent'
  /** Of the command. */
  readonly index: number
  readonly answer: Refusal | Again | Exclude<ParcelAnswer, { readonly kind: 'sent' }>
}
