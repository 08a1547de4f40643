import type {
  CloseReason,
  DeadLetter,
  DocumentBody,
  FeedRange,
  GroupPosition,
  HostIdentity,
  ObserverContext,
} from '@tidemark/contracts'
import type { LeaseGroupState } from '@tidemark/processor/lease-model'
import type { Fault } from '../schedule/fault.ts'
import type { Member } from './member.ts'
import type { SimulatedChange } from './simulated-feed.ts'

/** One observer, from its open to its close. */
export interface ObserverLife {
  readonly member: Member
  readonly leaseId: string
  readonly epoch: number
  readonly range: FeedRange
}

/** One call of `processChanges`, or of `processChange`. */
export interface Delivery extends ObserverLife {
  /** It is of one change, of a batch that the host has handed over. */
  readonly isOne: boolean
  readonly context: ObserverContext
  readonly atMs: number
  readonly changes: readonly SimulatedChange<DocumentBody>[]
  /** Undefined while it runs. */
  outcome: 'done' | 'failed' | undefined
}

/** One call of a host to the lease store. */
export interface SentCall {
  readonly member: Member
  readonly operation: string
  readonly sentMs: number
  /** Undefined for operations without a caller. */
  readonly caller: HostIdentity | undefined
  /** Leases that it is about, with the caller's epochs. */
  readonly leases: readonly { readonly leaseId: string; readonly epoch: number }[]
  readonly request: unknown
}

/** What oracles are told, as it happens. */
export interface WorldListener {
  fault?(fault: Fault): void
  started?(member: Member): void
  /** A host has ended; `error` says why by itself. */
  stopped?(member: Member, error: unknown): void
  /** A host of another feed was let into the group. */
  strangerJoined?(process: string): void
  opened?(life: ObserverLife): void
  dispatched?(delivery: Delivery): void
  settled?(delivery: Delivery): void
  /** A change was taken out of the way, and is kept. */
  deadLettered?(change: SimulatedChange<DocumentBody>, letter: DeadLetter, member: Member): void
  closed?(life: ObserverLife, reason: CloseReason, context: ObserverContext): void
  sent?(call: SentCall): void
  answered?(call: SentCall, reply: unknown): void
  /** Positions came to the feed. */
  told?(positions: readonly GroupPosition[]): void
  /** This of the leases survives the death of the store's machine. Of documents only. */
  synced?(state: LeaseGroupState): void
}
