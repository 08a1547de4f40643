/** What can go wrong, in classes that a seed switches on or off as a whole. */
export const FAULT_CLASSES = [
  'network',
  'store',
  'process',
  'clock',
  'source',
  'observer',
  'operator',
  'fleet',
] as const
/** What faults can be chosen by. */
export type FaultClass = (typeof FAULT_CLASSES)[number]

/** Which process: the one in this place among those that live when the fault comes, counted round. */
type Place = number

/**
 * One thing that goes wrong. Times in simulated ms. `range` and `host` are places in a list that is counted
 * round, so that a fault still means something when others before it are left out.
 */
export type FaultAction =
  /** Messages between a process and the lease store. */
  | {
      readonly kind: 'link'
      readonly host: Place
      readonly way: 'request' | 'reply' | 'both' | 'hints'
      readonly lost?: number
      readonly refused?: number
      readonly doubled?: number
      readonly delayMs?: number
      readonly forMs: number
    }
  /** The lease store stands still. */
  | { readonly kind: 'storePause'; readonly forMs: number }
  /** Somebody sets its clock. That of documents stands still then, rather than go back. */
  | { readonly kind: 'storeClock'; readonly byMs: number }
  /** A process is cut off from the lease store, and so long after that somebody sets the store's clock. */
  | {
      readonly kind: 'cutAndStep'
      readonly host: Place
      readonly forMs: number
      readonly afterMs: number
      readonly byMs: number
    }
  /** A replica takes over that lags. */
  | { readonly kind: 'storeRollback'; readonly lostMs: number }
  /**
   * The machine of the lease store dies, with all hosts or without them. Of what was not on disk this part is lost, the newest.
   * Of documents only.
   */
  | {
      readonly kind: 'storeCrash'
      readonly lostPart: number
      readonly withHosts: boolean
      readonly forMs: number
    }
  /** All data of the lease store are lost. */
  | { readonly kind: 'storeWipe' }
  /** Somebody deletes a lease, or writes something else over it. */
  | {
      readonly kind: 'leaseDamage'
      readonly range: Place
      readonly how: 'deleted' | 'overwritten'
    }
  /** SIGKILL; `restartMs` later the same name starts again, unless it is absent. */
  | { readonly kind: 'kill'; readonly host: Place; readonly restartMs?: number }
  /** SIGSTOP and SIGCONT, or an event loop that is blocked. */
  | { readonly kind: 'stop'; readonly host: Place; readonly forMs: number }
  /** The machine sleeps. */
  | { readonly kind: 'suspend'; readonly host: Place; readonly forMs: number }
  /** Ends gracefully; the same name starts when it has ended. */
  | { readonly kind: 'restart'; readonly host: Place }
  /** A second process of the same name starts. */
  | { readonly kind: 'twin'; readonly host: Place }
  /** A wall clock of one process is set. */
  | { readonly kind: 'wallJump'; readonly host: Place; readonly byMs: number }
  | { readonly kind: 'split'; readonly range: Place }
  | { readonly kind: 'merge'; readonly range: Place }
  /** The monitored collection answers late, or with errors. */
  | {
      readonly kind: 'source'
      readonly failing: number
      readonly delayMs: number
      readonly forMs: number
    }
  /** The next `count` calls of observers throw, whichever they are. */
  | { readonly kind: 'throw'; readonly count: number }
  /** The observer throws on this change, as often as it comes, until the end of all faults. */
  | { readonly kind: 'poison'; readonly change: number }
  /** Calls in one process take up to so long. `deaf`: also after their abort. */
  | {
      readonly kind: 'slow'
      readonly host: Place
      readonly upToMs: number
      readonly deaf: boolean
      readonly forMs: number
    }
  /** The next call in one process does not return before the end of all faults, or its abort. */
  | { readonly kind: 'hang'; readonly host: Place; readonly deaf: boolean }
  /** An operator sets a lease back by so many LSNs, whoever owns it. */
  | { readonly kind: 'seek'; readonly range: Place; readonly byLsn: number }
  /** An operator takes a lease away from its owner. */
  | { readonly kind: 'release'; readonly range: Place }
  /** An operator pauses the group. */
  | { readonly kind: 'pause'; readonly forMs: number }
  /** A new host. */
  | { readonly kind: 'join' }
  /** A host ends gracefully. */
  | { readonly kind: 'leave'; readonly host: Place }
  /** A host of another feed starts in the group, by mistake. */
  | { readonly kind: 'stranger' }

/** What can go wrong. */
export type FaultKind = FaultAction['kind']

/** What goes wrong, and when. */
export type Fault = FaultAction & { readonly atMs: number }

/** By what a fault disturbs. */
export const CLASS_OF_KIND: Readonly<Record<FaultKind, FaultClass>> = {
  link: 'network',
  storePause: 'store',
  storeClock: 'store',
  cutAndStep: 'store',
  storeRollback: 'store',
  storeCrash: 'store',
  storeWipe: 'store',
  leaseDamage: 'store',
  kill: 'process',
  stop: 'process',
  suspend: 'process',
  restart: 'process',
  twin: 'process',
  wallJump: 'clock',
  split: 'source',
  merge: 'source',
  source: 'source',
  throw: 'observer',
  poison: 'observer',
  slow: 'observer',
  hang: 'observer',
  seek: 'operator',
  release: 'operator',
  pause: 'operator',
  join: 'fleet',
  leave: 'fleet',
  stranger: 'fleet',
}
