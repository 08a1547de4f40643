import {
  checkedNewLeases,
  checkedReplacement,
  DIGEST_MODULUS,
  feedRangeId,
  LeaseStorageError,
  parseFeedRangeId,
  rangeContains,
  type AcquiredLease,
  type Checkpoint,
  type CheckpointOutcome,
  type ClaimFeedOptions,
  type GroupFeed,
  type FeedRange,
  type HeldLease,
  type HostNote,
  type HostSummary,
  type HostIdentity,
  type Lease,
  type LeaseGroup,
  type LeaseGroupSnapshot,
  type LeaseHint,
  type LeaseLoss,
  type LeaseTransition,
  type NewLease,
  type PlanRequest,
  type ReconcileReply,
  type SyncReply,
  type SyncRequest,
} from '@tidemark/contracts'
import { noteArgs, parseSummaries, parseTransitions } from './host-note-texts.ts'
import { profileText } from './host-profile-text.ts'
import { KnownLeases } from './known-leases.ts'
import {
  leaseOf,
  parseCheckpoint,
  parseFeed,
  replyList,
  replyNumber,
  replyText,
  unexpected,
  type ReplyList,
  type StoredCheckpoint,
} from './lease-replies.ts'
import type { LeaseScriptName } from './platform/lease-scripts.ts'
import type { RedisCalls } from './redis-calls.ts'
import type { RedisHints } from './redis-hints.ts'
import { positionText } from './stored-position.ts'

/** Leases of one script call: a script keeps the server busy for less than 5 ms. */
const CALL_LIMIT = 500

export interface RedisGroupKeys {
  /** As passed to the client, in the order of prelude.lua. */
  readonly keys: readonly string[]
  /** As on the server, with the client's own key prefix. */
  readonly channel: string
}

/** One group on Redis: each operation is one script, or one for every 500 leases. */
export class RedisLeaseGroup implements LeaseGroup {
  readonly group: string
  readonly #calls: RedisCalls
  readonly #hints: RedisHints
  readonly #keys: RedisGroupKeys
  readonly #known = new KnownLeases()
  readonly #subscriptions = new Set<() => void>()

  constructor(
    group: string,
    keys: RedisGroupKeys,
    {
      calls,
      hints,
    }: {
      readonly calls: RedisCalls
      readonly hints: RedisHints
    },
  ) {
    this.group = group
    this.#keys = keys
    this.#calls = calls
    this.#hints = hints
  }

  async sync(request: SyncRequest, signal?: AbortSignal): Promise<SyncReply> {
    const { intent, profile, ttlMs, clockCapMs, observed, gone = [], held, keys } = request
    const digest = held
      ? [...[held.count, held.epochSum, held.lsnSum, DIGEST_MODULUS].map(String), ...keysArgs(keys)]
      : ['']
    const seen = observed
      ? [observed.clockMs, observed.storeMs, observed.elapsedMs].map(String)
      : ['', '', '']
    const times = [String(ttlMs), String(clockCapMs), ...seen]
    const dead = gone.length === 0 ? '' : JSON.stringify(gone.flatMap(identityArgs))
    const args = [intent, profileText(profile), ...times, dead, ...digest]
    const reply = await this.#run('sync', [...identityArgs(request), ...args], signal)
    const [kind, generation, clock, membership, plan, deadline, matches, storeTime] =
      replyList(reply)
    if (kind === 'fenced') return { kind, generation: replyText(generation) }
    if (replyNumber(matches) !== 1) this.#known.forget()
    return {
      kind: 'ok',
      clockMs: replyNumber(clock),
      storeMs: replyNumber(storeTime),
      membershipVersion: replyNumber(membership),
      planVersion: replyNumber(plan),
      generation: replyText(generation),
      nextDeadlineInMs: deadline === '' ? undefined : replyNumber(deadline),
      heldMatches: replyNumber(matches) === 1,
    }
  }

  async create(leases: readonly NewLease[], signal?: AbortSignal): Promise<readonly Lease[]> {
    const given = checkedNewLeases(leases).flatMap(({ range, checkpoint, epoch = 0 }) => [
      feedRangeId(range),
      ...checkpointArgs(checkpoint),
      String(epoch),
    ])
    const reply = await this.#run('create', [JSON.stringify(given)], signal)
    return this.#known.takeCreated(reply, given) ?? (await this.read(signal)).leases
  }

  async read(signal?: AbortSignal): Promise<LeaseGroupSnapshot> {
    for (;;) {
      const snapshot = this.#known.take(await this.#run('read', this.#known.names, signal))
      if (snapshot !== undefined) return snapshot
      // Another call's answer came in between.
      this.#known.forget()
    }
  }

  async claimFeed(
    feed: GroupFeed,
    { insteadOf = '', signal }: ClaimFeedOptions = {},
  ): Promise<GroupFeed> {
    const { rid, name } = feed
    const noted = await this.#run('claim-feed', [JSON.stringify({ rid, name }), insteadOf], signal)
    return parseFeed(replyText(noted)) ?? feed
  }

  async plan(
    { membershipVersion, targets, rebalances = false }: PlanRequest,
    signal?: AbortSignal,
  ): Promise<boolean> {
    const ofHost = new Map<string, string[]>()
    for (const [id, host] of targets) {
      const ids = ofHost.get(host)
      if (ids === undefined) ofHost.set(host, [id])
      else ids.push(id)
    }
    const args = [
      String(membershipVersion),
      rebalances ? '1' : '0',
      JSON.stringify([...ofHost].flat()),
    ]
    return replyNumber(await this.#run('plan', args, signal)) === 1
  }

  async acquire(
    request: Parameters<LeaseGroup['acquire']>[0],
    signal?: AbortSignal,
  ): Promise<readonly AcquiredLease[]> {
    const acquired: AcquiredLease[] = []
    for (const leaseIds of chunks([...new Set(request.leaseIds)])) {
      const args = [...identityArgs(request), ...leaseIds]
      const [beat, ...fields] = replyList(await this.#run('acquire', args, signal))
      acquired.push(...heldLeases(request, beat, fields))
    }
    return acquired
  }

  async checkpoint(
    request: Parameters<LeaseGroup['checkpoint']>[0],
    signal?: AbortSignal,
  ): Promise<readonly CheckpointOutcome[]> {
    const outcomes: CheckpointOutcome[] = []
    for (const checkpoints of chunks(request.checkpoints)) {
      const args = checkpoints.flatMap(({ leaseId, epoch, checkpoint }) => [
        leaseId,
        String(epoch),
        ...checkpointArgs(checkpoint),
      ])
      const reply = await this.#run('checkpoint', [...identityArgs(request), ...args], signal)
      outcomes.push(...letters(reply, CHECKPOINT_LETTERS))
    }
    if (outcomes.includes('lost')) this.#known.forget()
    return outcomes
  }

  async release(
    request: Parameters<LeaseGroup['release']>[0],
    signal?: AbortSignal,
  ): Promise<readonly ('released' | 'lost')[]> {
    const outcomes: ('released' | 'lost')[] = []
    for (const releases of chunks(request.releases)) {
      const args = releases.flatMap(({ leaseId, epoch, checkpoint, aboveEpoch }) => [
        leaseId,
        String(epoch),
        ...(checkpoint === undefined ? ['', ''] : checkpointArgs(checkpoint)),
        aboveEpoch === undefined ? '' : String(aboveEpoch),
      ])
      const reply = await this.#run('release', [...identityArgs(request), ...args], signal)
      outcomes.push(...letters(reply, RELEASE_LETTERS))
    }
    if (outcomes.includes('lost')) this.#known.forget()
    return outcomes
  }

  async replace(
    request: Parameters<LeaseGroup['replace']>[0],
    signal?: AbortSignal,
  ): Promise<readonly AcquiredLease[] | 'lost'> {
    const { old, next } = request
    const oldIds = old.map(({ leaseId }) => leaseId)
    const args = [
      ...heldArgs(old),
      ...checkedReplacement(oldIds, next).flatMap(({ range, checkpoint }) => [
        feedRangeId(range),
        ...checkpointArgs(checkpoint),
        String(1 + oldIds.findIndex((id) => containsRange(id, range))),
      ]),
    ]
    const reply = await this.#run('replace', [...identityArgs(request), ...args], signal)
    if (reply === 'lost') {
      this.#known.forget()
      return reply
    }
    const [beat, ...fields] = replyList(reply)
    return heldLeases(request, beat, fields)
  }

  async override(
    { old, next }: Parameters<LeaseGroup['override']>[0],
    signal?: AbortSignal,
  ): Promise<readonly Lease[] | 'changed'> {
    const oldIds = old.map(({ leaseId }) => leaseId)
    const args = [
      ...heldArgs(old),
      ...checkedReplacement(oldIds, next).flatMap(({ range, checkpoint }) => [
        feedRangeId(range),
        ...checkpointArgs(checkpoint),
      ]),
    ]
    const reply = await this.#run('override', args, signal)
    return reply === 'changed' ? reply : freeLeases(replyList(reply))
  }

  async setPaused(paused: boolean, signal?: AbortSignal): Promise<boolean> {
    return replyNumber(await this.#run('pause', [paused ? '1' : '0'], signal)) === 1
  }

  /** Works on a snapshot, because it is rare and only compares. */
  async reconcile(
    request: Parameters<LeaseGroup['reconcile']>[0],
    signal?: AbortSignal,
  ): Promise<ReconcileReply> {
    const { leases } = await this.read(signal)
    const mine = new Map(
      leases
        .filter(
          ({ owner }) => owner?.host === request.host && owner.incarnation === request.incarnation,
        )
        .map((lease) => [lease.id, lease]),
    )
    const held = new Map(request.held.map((lease) => [lease.leaseId, lease]))
    const lost: string[] = []
    const behind: string[] = []
    for (const { leaseId, epoch, lsn } of held.values()) {
      const lease = mine.get(leaseId)
      if (lease?.epoch !== epoch) lost.push(leaseId)
      else if (lease.checkpoint.lsn < lsn) behind.push(leaseId)
    }
    const unknownToHost = [...mine.values()].filter(
      ({ id, epoch }) => held.get(id)?.epoch !== epoch,
    )
    return { unknownToHost, lost, behind }
  }

  async discard(token: string, signal?: AbortSignal): Promise<boolean> {
    return replyNumber(await this.#run('discard', [token], signal)) === 1
  }

  async declareLost({ keys, generation }: LeaseLoss, signal?: AbortSignal): Promise<boolean> {
    const args = [generation, ...keysArgs(keys)]
    return replyNumber(await this.#run('declare-lost', args, signal)) === 1
  }

  async note(note: HostNote, signal?: AbortSignal): Promise<void> {
    await this.#run('note', noteArgs(note), signal)
  }

  async readSummaries(signal?: AbortSignal): Promise<readonly HostSummary[]> {
    return parseSummaries(await this.#run('read-notes', ['summaries'], signal))
  }

  async readTransitions(signal?: AbortSignal): Promise<readonly LeaseTransition[]> {
    return parseTransitions(await this.#run('read-notes', ['transitions'], signal))
  }

  subscribe(listener: (hint: LeaseHint) => void): () => void {
    const stop = this.#hints.listen(this.#keys.channel, listener)
    this.#subscriptions.add(stop)
    return () => {
      this.#subscriptions.delete(stop)
      stop()
    }
  }

  async close(): Promise<void> {
    for (const stop of this.#subscriptions) stop()
    this.#subscriptions.clear()
  }

  #run(name: LeaseScriptName, args: readonly string[], signal?: AbortSignal): Promise<unknown> {
    return this.#calls.script(name, this.#keys.keys, args, signal)
  }
}

const CHECKPOINT_LETTERS: ReadonlyMap<string, CheckpointOutcome> = new Map([
  ['S', 'stored'],
  ['L', 'lost'],
  ['R', 'regress'],
])
const RELEASE_LETTERS: ReadonlyMap<string, 'released' | 'lost'> = new Map([
  ['F', 'released'],
  ['L', 'lost'],
])

/** The scripts split the stored owner at the first bars, so an incarnation must not contain any. */
function identityArgs({ host, incarnation }: HostIdentity): [string, string] {
  return [host, encodeURIComponent(incarnation)]
}

/** Their number, and each of them. */
function heldArgs(held: readonly HeldLease[]): readonly string[] {
  return [String(held.length), ...held.flatMap(({ leaseId, epoch }) => [leaseId, String(epoch)])]
}

function keysArgs(keys: readonly FeedRange[] = []): readonly string[] {
  return keys.flatMap(({ minInclusive, maxExclusive }) => [minInclusive, maxExclusive])
}

function checkpointArgs(checkpoint: Checkpoint): readonly [string, string] {
  // Lua cannot decode half of a surrogate pair from JSON; the connection would replace it as this does.
  return [String(checkpoint.lsn), positionText(checkpoint).toWellFormed()]
}

function containsRange(leaseId: string, range: FeedRange): boolean {
  const outer = parseFeedRangeId(leaseId)
  return outer !== undefined && rangeContains(outer, range)
}

/** Leases of one owner, from an answer of `acquire` or `replace`: id, epoch, checkpoint, target for each. */
function heldLeases(
  { host, incarnation }: HostIdentity,
  beat: unknown,
  fields: ReplyList,
): readonly AcquiredLease[] {
  const held: AcquiredLease[] = []
  for (let index = 0; index + 3 < fields.length; index += 4) {
    const [id = '', epochText, checkpoint = '', target] = fields
      .slice(index, index + 4)
      .map(replyText)
    const epoch = replyNumber(epochText)
    const known = { epoch, owner: { host, incarnation }, beatMs: replyNumber(beat) }
    const stored = storedCheckpoint(id, checkpoint)
    const lease = leaseOf(id, stored, { ...known, target: target === '' ? undefined : target })
    held.push({ leaseId: lease.id, epoch, lease })
  }
  return held
}

/** Leases without an owner or a plan, from an answer of `override`: id, epoch, checkpoint for each. */
function freeLeases(fields: ReplyList): readonly Lease[] {
  const leases: Lease[] = []
  for (let index = 0; index + 2 < fields.length; index += 3) {
    const [id = '', epochText, checkpoint = ''] = fields.slice(index, index + 3).map(replyText)
    const epoch = replyNumber(epochText)
    const free = { epoch, owner: undefined, target: undefined, beatMs: 0 }
    leases.push(leaseOf(id, storedCheckpoint(id, checkpoint), free))
  }
  return leases
}

function storedCheckpoint(id: string, text: string): StoredCheckpoint {
  const stored = parseCheckpoint(id, text)
  if (stored === undefined) throw unexpected([id, text])
  return stored
}

function letters<Outcome>(
  reply: unknown,
  meanings: ReadonlyMap<string, Outcome>,
): readonly Outcome[] {
  return Array.from(replyText(reply), (letter) => {
    const outcome = meanings.get(letter)
    if (outcome === undefined) throw new LeaseStorageError(`unknown outcome ${letter}`)
    return outcome
  })
}

function chunks<T>(items: readonly T[]): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(items.length / CALL_LIMIT) }, (_, index) =>
    items.slice(index * CALL_LIMIT, (index + 1) * CALL_LIMIT),
  )
}
