import { LOAD_MUTANTS } from './load-mutants.ts'
import type { Mutant } from './mutant.ts'

/** Each takes one rule of safety out of the shipped code. All of them have to be noticed. */
export const MUTANTS: readonly Mutant[] = [
  ...LOAD_MUTANTS,
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
    killedBy: 16,
  },
  {
    name: 'checkpoint-goes-back',
    why: 'a stored position goes back (I2)',
    edits: [
      {
        file: 'lease-stores/ownership-model.ts',
        find: "if (checkpoint.lsn < lease.checkpoint.lsn) return 'regress'",
        replace: '',
      },
    ],
    killedBy: 1038,
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
    killedBy: 222,
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
    killedBy: 521,
  },
  {
    name: 'lease-clock-runs-free',
    why: 'a store that stood still, or whose clock was set, ends all sessions (I1, decision 0014)',
    edits: [
      {
        file: 'lease-stores/membership-model.ts',
        find: 'Math.min(seen.elapsedMs, clockCapMs)',
        replace: 'seen.elapsedMs',
      },
    ],
    killedBy: 4748,
  },
  {
    name: 'lease-clock-stands',
    why: 'no dead host is ever found (I8)',
    edits: [
      {
        file: 'lease-stores/membership-model.ts',
        find: 'Math.min(seen.elapsedMs, clockCapMs)',
        replace: 'Math.min(seen.elapsedMs, 0)',
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
        find: 'if (request.membershipVersion !== membershipVersion || (isCurrent && !request.rebalances)) {',
        replace: 'if (head.planVersion > request.membershipVersion + membershipVersion) {',
      },
    ],
    killedBy: 385,
  },
  {
    name: 'override-keeps-epochs',
    why: 'whom an operator took a lease from works on (LE-11)',
    edits: [
      {
        file: 'lease-stores/replace-model.ts',
        find: '    owner: undefined,\n    checkpoint,',
        replace: '    owner: present[0]?.owner,\n    checkpoint,',
      },
      {
        file: 'lease-stores/replace-model.ts',
        find: '...nextNumbers(state.head, present, storeTimeUs),',
        replace: '...nextNumbers(state.head, present, storeTimeUs), epoch: present[0]?.epoch ?? 0,',
      },
    ],
    killedBy: 875,
  },
  {
    name: 'clock-of-the-store',
    why: 'the lease clock goes by a clock that is set (I1, LE-4)',
    edits: [
      {
        file: 'lease-stores/membership-model.ts',
        find: 'const provenMs = seen === undefined ? 0 : seen.clockMs + Math.min(seen.elapsedMs, clockCapMs)',
        replace:
          'const provenMs = beforeMs + Math.min(Math.max(nowMs - (seenMs ?? nowMs), 0), clockCapMs)',
      },
    ],
    killedBy: 164,
  },
  {
    name: 'sessions-from-the-lease-clock',
    why: 'what others have seen and not told counts against a session that is renewed meanwhile (I1)',
    edits: [
      {
        file: 'lease-stores/membership-model.ts',
        find: 'renew(sessions, request, { latestMs, nowMs })',
        replace: 'renew(sessions, request, { latestMs: clockMs, nowMs })',
      },
    ],
    killedBy: 15,
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
    killedBy: 15,
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
    killedBy: 2902,
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
    killedBy: 15,
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
    killedBy: 3,
  },
  // What a host does about its leases.
  {
    name: 'no-reconcile',
    why: 'a lease whose grant was lost on the way has an owner that does not know it (I7)',
    edits: [
      {
        file: 'lease-management/take-answer.ts',
        find: 'core.needsReconcile = true\n    // It may be',
        replace: '// It may be',
      },
    ],
    killedBy: 60,
  },
  {
    name: 'no-reassert',
    why: 'a position that the store lost is never stored again (I15)',
    edits: [
      {
        file: 'lease-management/take-answer.ts',
        find: 'for (const leaseId of answer.reply.behind) core.table.reassert(leaseId)',
        replace: '',
      },
    ],
    killedBy: 60,
  },
  {
    name: 'two-pumps-of-one-lease',
    why: 'a newer epoch begins while the call of an older one still runs (I5)',
    edits: [
      {
        file: 'lease-management/lease-table.ts',
        find: "if (state !== 'waiting' || !this.#pumps.leaveFree(lease.range)) return",
        replace: "if (state !== 'waiting') return",
      },
    ],
    killedBy: 435,
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
    killedBy: 2,
  },
  {
    name: 'release-without-position',
    why: 'a planned move repeats what was done (LE-12, O9)',
    edits: [
      {
        file: 'lease-management/lease-table.ts',
        find: '...(final === undefined ? {} : { checkpoint: final }),',
        replace: '',
      },
    ],
    killedBy: 13,
  },
  {
    name: 'other-feed-let-in',
    why: 'a host of another feed takes leases that it cannot read (LE-17)',
    edits: [
      {
        file: 'bootstrapping/follow-feed.ts',
        find: 'if (follows !== undefined) throw',
        replace: 'if (follows === null) throw',
      },
    ],
    killedBy: 18,
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
  {
    name: 'children-begin-too-high',
    why: 'the parts of a split range skip a change (LE-10, I4)',
    edits: [
      {
        file: 'lease-management/held-record.ts',
        find: 'replacement.ranges.map((range) => ({ range, checkpoint: wanted }))',
        replace: `replacement.ranges.map((range) => ({ range, checkpoint: ${oneFurther('wanted')} }))`,
      },
    ],
    killedBy: 5,
  },
  {
    name: 'children-begin-at-the-stored',
    why: 'the parts of a split range repeat what was done without a fault (LE-10, I10)',
    edits: [
      {
        file: 'lease-management/held-record.ts',
        find: 'replacement.ranges.map((range) => ({ range, checkpoint: wanted }))',
        replace: 'replacement.ranges.map((range) => ({ range, checkpoint: lease.checkpoint }))',
      },
    ],
    killedBy: 13,
  },
  {
    name: 'replace-by-anybody',
    why: 'a stale owner puts leases in the place of those of its successor (I3)',
    edits: [
      {
        file: 'lease-stores/replace-model.ts',
        find: 'if (lease?.epoch === epoch && sameIdentity(lease.owner, caller)) owned.push(lease)',
        replace: 'if (lease !== undefined && epoch > 0) owned.push(lease)',
      },
    ],
    killedBy: 106,
  },
  {
    name: 'parts-keep-epochs',
    why: 'a lease in the place of others has no higher epoch than theirs (LE-11)',
    edits: [
      {
        file: 'lease-stores/replace-model.ts',
        find: 'epoch: Math.max(lastEpoch + 1, storeTimeUs),',
        replace: 'epoch: Math.min(lastEpoch, storeTimeUs),',
      },
    ],
    killedBy: 5,
  },
  {
    name: 'refused-checkpoint-ignored',
    why: 'an owner that was deposed works on (LE-11)',
    edits: [
      {
        file: 'lease-management/lease-table.ts',
        find: "if (outcomes[index] === 'lost') {",
        replace: "if (outcomes[index] === 'lost' && checkpoint.lsn < 0) {",
      },
    ],
    killedBy: 16,
  },
  {
    name: 'past-lease-worked-on',
    why: 'a store that went back in time gives a lease at an epoch of the past, which sinks refuse (LE-11)',
    edits: [
      {
        file: 'lease-management/worked-epochs.ts',
        find: 'value >= epoch',
        replace: 'value >= epoch * 2',
      },
    ],
    killedBy: 186,
  },
  {
    name: 'refused-lease-kept',
    why: 'a store that forgot a newer owner leaves a range standing still, because a sink refuses the older one (LE-11)',
    edits: [
      {
        file: 'feed-processing/fence-watch.ts',
        find: 'if (currentEpoch === undefined) return false',
        replace: 'if (currentEpoch !== this.#epoch) return false',
      },
    ],
    killedBy: 362,
  },
  {
    name: 'damage-unnoticed',
    why: 'a lease that somebody deleted stays away, and nobody works on its keys (I4, I8)',
    edits: [
      {
        file: 'lease-management/take-answer.ts',
        find: 'if (keys === undefined) return false',
        replace: 'if (keys === undefined || keys.length > 0) return false',
      },
    ],
    killedBy: 49,
  },
  {
    name: 'yields-to-itself',
    why: 'a process stops because of a session of its own earlier life',
    edits: [
      {
        file: 'lease-management/host-session.ts',
        find: 'return processOf(incarnation) === processOf(this.#options.incarnation)',
        replace: 'return incarnation === this.identity.incarnation',
      },
    ],
    killedBy: 2566,
  },
  {
    name: 'sleeps-unseen',
    why: 'a machine that slept works on after its session (I6)',
    edits: [
      {
        file: 'lease-management/lease-coordinator.ts',
        find: 'if (this.#unseenMs <= this.#core.marginMs) return',
        replace: 'if (this.#unseenMs <= this.#core.marginMs * 1_000) return',
      },
    ],
    killedBy: 3,
  },
  {
    name: 'released-before-closed',
    why: 'a lease is handed over while its observer still works (LE-12, I1)',
    edits: [
      {
        file: 'lease-management/drain-record.ts',
        find: "      record.state = 'draining'\n",
        replace: "      record.state = 'releasing'\n",
      },
    ],
    killedBy: 13,
  },
  // What a pump does.
  {
    name: 'position-before-work',
    why: 'a position is stored before the observer has accepted what is before it (PH-4)',
    edits: [
      {
        file: 'feed-processing/delivery.ts',
        find: "let event: DeliveryEvent = { kind: 'begin' }",
        replace:
          "if (page !== undefined && !state.goesToLanes) keeper.done(page, page.changes.length)\n    let event: DeliveryEvent = { kind: 'begin' }",
      },
    ],
    killedBy: 1,
  },
  {
    name: 'calls-without-asking',
    why: 'an observer is called while the session may be over (I6)',
    edits: [
      {
        file: 'feed-processing/range-pump.ts',
        find: 'const mayDispatch = (): boolean => seat.mayDispatch()',
        replace: 'const mayDispatch = (): boolean => seat.mayDispatch() || true',
      },
    ],
    killedBy: 3,
  },
  {
    name: 'calls-after-the-end',
    why: 'an observer is called although its lease is to go (PH-2)',
    edits: [
      {
        file: 'feed-processing/pump-ending.ts',
        find: 'return this.isAbort || (this.isAsked && !this.#finishesWork)',
        replace: 'return this.#graceIsOver && !this.#finishesWork',
      },
    ],
    killedBy: 1285,
  },
  {
    name: 'waits-after-the-look',
    why: 'a pump misses the ring between its look and its wait, and stands still',
    edits: [
      {
        file: 'feed-processing/range-pump.ts',
        find: '// Nothing may wait between the look and this: a ring would be missed.\n',
        replace: 'await this.#parts.clock.sleep(3, this.#ending.endedSignal).catch(() => {})\n',
      },
    ],
    killedBy: 1,
  },
  {
    name: 'skips-what-could-not-be-read',
    why: 'a reader goes on behind an error of the feed (PH-4)',
    edits: [
      {
        file: 'feed-processing/page-reader.ts',
        find: 'await this.#failed(error, failures)\n',
        replace: `this.#position = ${oneFurther('this.#position')}\n        await this.#failed(error, failures)\n`,
      },
    ],
    killedBy: 1,
  },
  {
    name: 'key-in-several-lanes',
    why: 'changes of one key are processed at the same time (PH-8)',
    edits: [
      {
        file: 'feed-processing/lanes.ts',
        find: 'if (queue !== undefined) {',
        replace: 'if (queue !== undefined && queue.changes.length > 100) {',
      },
    ],
    killedBy: 3,
  },
  {
    name: 'watermark-above-the-lowest',
    why: 'the position passes what is not done in another lane (PH-8)',
    edits: [
      {
        file: 'feed-processing/lanes.ts',
        find: 'while (this.#pages[0]?.left === 0) {',
        replace: 'while (this.#pages.some(({ left }) => left === 0)) {',
      },
    ],
    killedBy: 73,
  },
  {
    name: 'letter-not-waited-for',
    why: 'a change is given up whether or not its dead letter is kept (PH-7)',
    edits: [
      {
        file: 'feed-processing/dead-letter-office.ts',
        find: 'const isKept = await this.#untilDone(async () =>\n      sink?.put(letter, { signal: ending.endedSignal }),\n    )',
        replace:
          'const isKept = await ending.untilSettled(Promise.resolve(sink?.put(letter, { signal: ending.endedSignal })).catch(() => {}))',
      },
    ],
    killedBy: 25,
  },
  {
    name: 'letter-after-one-try',
    why: 'a change that failed once is given up (PH-7)',
    edits: [
      {
        file: 'feed-processing/bisection.ts',
        find: "if (this.#policy.mode === 'retryForever' || this.#count < this.#limit) return 'again'",
        replace: "if (this.#policy.mode === 'retryForever') return 'again'",
      },
    ],
    killedBy: 17,
  },
  {
    name: 'one-batch-too-many',
    why: 'more comes again after a death than maxUnstoredBatches says (PH-5)',
    edits: [
      {
        file: 'feed-processing/position-keeper.ts',
        find: 'this.#unstored.length > others &&',
        replace: 'this.#unstored.length > others + 1 &&',
      },
    ],
    killedBy: 8,
  },
  {
    name: 'small-batches-without-bound',
    why: 'as many small batches come again after a death as were done (PH-5)',
    edits: [
      {
        file: 'feed-processing/position-keeper.ts',
        find: '<= others * this.#smallTogether',
        replace: '< Infinity',
      },
    ],
    killedBy: 8,
  },
  // What the death of the lease store's machine may take.
  {
    name: 'tries-without-sync',
    why: 'a machine that dies takes tries with it (PH-10)',
    edits: [
      {
        file: 'lease-stores/documents/document-lease-group.ts',
        find: 'announce: false, sync: haveTries',
        replace: 'announce: false, sync: (records) => haveTries(records) && records.length > 1e3',
      },
    ],
    killedBy: 1748,
  },
  {
    name: 'told-before-flush',
    why: 'a purge may follow from positions that are not on disk (TTL-14)',
    edits: [
      {
        file: 'host/position-reporter.ts',
        find: '      await this.#flushed()\n',
        replace: '',
      },
    ],
    killedBy: 43,
  },
  {
    name: 'flush-unconfirmed',
    why: 'a store that died and came back flushes what it has, and the feed is told what it has not (TTL-14)',
    edits: [
      {
        file: 'lease-stores/documents/unflushed-leases.ts',
        find: 'if (!isThere) this.#losses += 1',
        replace: '',
      },
    ],
    killedBy: 1148,
  },
  {
    name: 'recovers-from-now',
    why: 'leases that the store lost begin behind what nobody has processed (I14)',
    edits: [
      {
        file: 'bootstrapping/recover-leases.ts',
        find: 'const position = await feed.positionAt?.({ range, lsn, mode, signal })',
        replace: "const position = await feed.resolveStart({ range, start: 'now', mode, signal })",
      },
    ],
    killedBy: 9,
  },
]

/** Text of the position one LSN behind `position`, as the simulated feed writes continuations. */
function oneFurther(position: string): string {
  const continuation = `${position}.continuation.replace(/@(\\d+)$/, (_all, at) => '@' + (Number(at) + 1))`
  return `{ continuation: ${continuation}, lsn: ${position}.lsn + 1 }`
}
