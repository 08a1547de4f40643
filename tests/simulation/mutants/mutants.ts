import type { Mutant } from './mutant.ts'

/** Each takes one rule of safety out of the shipped code. All of them have to be noticed. */
export const MUTANTS: readonly Mutant[] = [
  // What a lease store promises.
  {
    name: 'checkpoint-without-epoch',
    why: 'a stale owner stores positions (I3)',
    edits: [
      {
        file: 'lease-stores/ownership-model.ts',
        find: "if (lease === undefined || !owns(lease, request, epoch)) return 'lost'\n    if (checkpoint.lsn <",
        replace: "if (lease === undefined) return 'lost'\n    if (checkpoint.lsn <",
      },
    ],
    killedBy: 18,
  },
  {
    name: 'release-by-anybody',
    why: 'a stale owner frees the lease of its successor (I3)',
    edits: [
      {
        file: 'lease-stores/ownership-model.ts',
        find: "if (lease === undefined || !owns(lease, request, epoch)) return 'lost'\n    const last",
        replace: "if (lease === undefined) return 'lost'\n    const last",
      },
    ],
    killedBy: 66,
  },
  {
    name: 'acquire-from-the-living',
    why: 'a lease is taken from an owner whose session is valid (I1)',
    edits: [
      {
        file: 'lease-stores/ownership-model.ts',
        find: 'return owner === undefined || owner.host === host || !hasSession(head, owner)',
        replace: 'return owner === undefined || host !== undefined || head !== undefined',
      },
    ],
    killedBy: 1,
  },
  {
    name: 'epoch-stays',
    why: 'a new owner has the epoch of the old one (LE-11)',
    edits: [
      {
        file: 'lease-stores/ownership-model.ts',
        find: 'epoch: Math.max(epoch, storeTimeUs),',
        replace: 'epoch: Math.max(lease.epoch, 1, epoch - epoch),',
      },
    ],
    killedBy: 1,
  },
  {
    name: 'expired-session-beats-on',
    why: 'a session that others have seen end goes on (I1)',
    edits: [
      {
        file: 'lease-stores/membership-model.ts',
        find: "if (intent === 'beat' && !mine) return 'fenced'",
        replace: '',
      },
    ],
    killedBy: 359,
  },
  {
    name: 'lease-clock-runs-free',
    why: 'a store that stood still, or whose clock was set, ends all sessions (lease-protocol 3.2)',
    edits: [
      {
        file: 'lease-stores/membership-model.ts',
        find: 'Math.min(Math.max(elapsedMs, 0), capMs)',
        replace: 'Math.max(elapsedMs, 0, capMs - capMs)',
      },
    ],
    killedBy: 1,
  },
  {
    name: 'lease-clock-stands',
    why: 'no dead host is ever found (I8)',
    edits: [
      {
        file: 'lease-stores/membership-model.ts',
        find: 'Math.min(Math.max(elapsedMs, 0), capMs)',
        replace: 'Math.min(Math.max(elapsedMs, 0), capMs, 0)',
      },
    ],
    killedBy: 24,
  },
  {
    name: 'plan-without-compare',
    why: 'a plan for a membership of the past is stored (I8)',
    edits: [
      {
        file: 'lease-stores/membership-model.ts',
        find: 'if (request.membershipVersion !== membershipVersion || planVersion >= membershipVersion) {',
        replace: 'if (planVersion > request.membershipVersion + membershipVersion) {',
      },
    ],
    killedBy: 78,
  },
  // What a host does about its session.
  {
    name: 'no-self-fence',
    why: 'a host works on past its deadline (I6)',
    edits: [
      {
        file: 'lease-management/lease-core.ts',
        find: "if (session.status === 'joined' && nowMs >= session.deadlineMs) {",
        replace: "if (session.status === 'joined' && nowMs >= session.deadlineMs + 1e9) {",
      },
      {
        file: 'lease-management/host-session.ts',
        find: "return this.status === 'joined' && nowMs < this.#deadlineMs",
        replace: "return this.status === 'joined' && nowMs < Infinity",
      },
      {
        file: 'lease-management/due-calls.ts',
        find: 'calls.wakeBy(session.deadlineMs)',
        replace: '',
      },
    ],
    killedBy: 20,
  },
  {
    name: 'deadline-from-the-answer',
    why: 'the time that a beat was under way is counted twice (I6)',
    edits: [
      {
        file: 'lease-management/host-session.ts',
        find: 'this.#deadlineMs = Math.max(this.#deadlineMs, sentMs + ttlMs - this.marginMs)',
        replace: 'this.#deadlineMs = Math.max(this.#deadlineMs, nowMs + ttlMs - this.marginMs)',
      },
    ],
    killedBy: 860,
  },
  {
    name: 'no-margin',
    why: 'the deadline of a host is not before that of the store',
    edits: [
      {
        file: 'lease-management/host-session.ts',
        find: 'this.#deadlineMs = Math.max(this.#deadlineMs, sentMs + ttlMs - this.marginMs)',
        replace:
          'this.#deadlineMs = Math.max(this.#deadlineMs, sentMs + ttlMs + 2 * this.marginMs)',
      },
    ],
    killedBy: 20,
  },
  {
    name: 'no-gate-after-a-stall',
    why: 'a process that stood still calls observers before it has looked at its session (I6)',
    edits: [
      {
        file: 'lease-management/lease-core.ts',
        find: 'return session.isValid(nowMs) && !session.isHeld && !this.#isStalled(nowMs)',
        replace: 'return session.isValid(nowMs)',
      },
    ],
    killedBy: 108,
  },
  // What a host does about its leases.
  {
    name: 'no-reconcile',
    why: 'a lease whose grant was lost on the way has an owner that does not know it (I7)',
    edits: [
      {
        file: 'lease-management/take-answer.ts',
        find: 'if (!reply.heldMatches) core.needsReconcile = true',
        replace: '',
      },
    ],
    killedBy: 226,
  },
  {
    name: 'lost-lease-worked-on',
    why: 'a pump goes on after its lease was lost (I1)',
    edits: [
      {
        file: 'lease-management/lease-table.ts',
        find: "this.#effects.push({ kind: 'abortPump', held, reason: 'leaseLost' })",
        replace: '',
      },
    ],
    killedBy: 9,
  },
  {
    name: 'release-without-position',
    why: 'a planned move repeats what was done (LE-12, O9)',
    edits: [
      {
        file: 'lease-management/lease-table.ts',
        find: 'due.push(final === undefined ? held : { ...held, checkpoint: final })',
        replace: 'due.push(final === undefined ? held : { ...held })',
      },
    ],
    killedBy: 13,
  },
  {
    name: 'plan-not-followed',
    why: 'a host keeps what the plan gives to others (I8)',
    edits: [
      {
        file: 'lease-management/take-answer.ts',
        find: "core.table.drain(held.leaseId, 'leaseHandedOver', nowMs + core.options.handoffTimeoutMs)",
        replace: '',
      },
    ],
    killedBy: 3,
  },
]
