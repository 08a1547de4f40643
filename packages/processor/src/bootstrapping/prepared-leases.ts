import type { GroupFeed, Lease } from '@tidemark/contracts'
import type { LeaseSetDamage } from '../lease-stores/lease-set-damage.ts'

/** How a group was found, or left. */
export type PreparedLeases =
  | {
      readonly kind: 'ready'
      /** Of the store's data in which the leases are. */
      readonly generation: string
      readonly leases: readonly Lease[]
      /** What the group follows, where that is kept. */
      readonly feed: GroupFeed | undefined
      /** There already; made where a new group begins; made where the group stood before they were lost. */
      readonly origin: 'found' | 'started' | 'recovered'
    }
  /**
   * There are none, of a group that had some. Their owners may not know it yet, so that none may be made
   * before a session's time is over.
   */
  | {
      readonly kind: 'lost'
      readonly generation: string
      /** What was wrong with those that were declared lost now. */
      readonly damage?: LeaseSetDamage | undefined
    }
