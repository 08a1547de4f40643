import {
  lsn,
  parseFeedRangeId,
  type Checkpoint,
  type Continuation,
  type HeldLease,
  type Lease,
  type LeaseGroupSnapshot,
  type SyncReply,
} from '@tidemark/contracts'
import { LeaseCore } from './lease-core.ts'
import type { LeaseCall, LeaseEffect, LeaseOp, LeaseReply } from './lease-protocol.ts'

export const TTL_MS: number = 8_000
export const HEARTBEAT_MS: number = 2_000
export const MARGIN_MS: number = 800
export const REFUSAL_MS: number = 60_700
export const IDS: readonly string[] = ['-40', '40-80', '80-C0', 'C0-FF']

type CallEffect = Extract<LeaseEffect, { kind: 'call' }>

export function at(n: number): Checkpoint {
  return { continuation: `c${n}` as Continuation, lsn: lsn(n) }
}

export function lease(id: string, fields: Partial<Lease> = {}): Lease {
  const range = parseFeedRangeId(id)!
  return {
    id,
    range,
    owner: undefined,
    epoch: 0,
    checkpoint: at(0),
    target: 'a',
    timestampMs: 0,
    etag: '""',
    ...fields,
  }
}

/** A core with the effects of everything it was told, and a store whose answers the test gives. */
export class Driver {
  readonly core: LeaseCore
  effects: LeaseEffect[] = []
  nowMs = 0
  readonly #open: CallEffect[] = []

  constructor(overrides: Partial<ConstructorParameters<typeof LeaseCore>[0]> = {}) {
    this.core = new LeaseCore({
      host: 'a',
      incarnation: 'i',
      profile: { weight: 1, minLeases: 0, maxLeases: 100 },
      heartbeatMs: HEARTBEAT_MS,
      ttlMs: TTL_MS,
      acquireRetryMs: 5_000,
      handoffTimeoutMs: 30_000,
      shutdownTimeoutMs: 30_000,
      refusalMs: REFUSAL_MS,
      ...overrides,
    })
  }

  tell(event: Parameters<LeaseCore['handle']>[0]): void {
    for (const effect of this.core.handle(event, this.nowMs)) {
      this.effects.push(effect)
      if (effect.kind === 'call') this.#open.push(effect)
    }
  }

  /** Ticks whenever the core wants to be woken, until `untilMs`. */
  passTo(untilMs: number): void {
    for (;;) {
      const wakeAtMs = this.wakeAtMs
      if (wakeAtMs > untilMs) break
      this.nowMs = Math.max(this.nowMs, wakeAtMs)
      this.tell({ kind: 'tick' })
      if (this.wakeAtMs === wakeAtMs) break
    }
    this.nowMs = Math.max(this.nowMs, untilMs)
  }

  get wakeAtMs(): number {
    const wakes = this.effects.filter((effect) => effect.kind === 'wakeAt')
    return wakes.at(-1)?.atMs ?? Infinity
  }

  pending(op: LeaseOp): LeaseCall | undefined {
    return this.#open.find(({ call }) => call.op === op)?.call
  }

  answer(answer: LeaseReply): void {
    this.tell({ kind: 'replied', callId: this.#take(answer.op), answer, jitter: 0 })
  }

  fail(op: LeaseOp): void {
    this.tell({ kind: 'failed', callId: this.#take(op), error: new Error('lost'), jitter: 0 })
  }

  synced(fields: Partial<Extract<SyncReply, { kind: 'ok' }>> = {}): void {
    const reply: SyncReply = {
      kind: 'ok',
      clockMs: 0,
      storeMs: 0,
      membershipVersion: 1,
      planVersion: 1,
      generation: 'g',
      nextDeadlineInMs: undefined,
      heldMatches: true,
      ...fields,
    }
    this.answer({ op: 'sync', reply })
  }

  read(leases: readonly Lease[], fields: Partial<LeaseGroupSnapshot> = {}): void {
    const hosts = [hostNamed('a')]
    const versions = { clockMs: 0, membershipVersion: 1, planVersion: 1, generation: 'g' }
    this.answer({ op: 'read', reply: { ...versions, paused: false, hosts, leases, ...fields } })
  }

  acquired(ids: readonly string[], epoch = 7): void {
    const owner = { host: 'a', incarnation: 'i' }
    const reply = ids.map((id) => ({ leaseId: id, epoch, lease: lease(id, { owner, epoch }) }))
    this.answer({ op: 'acquire', reply })
  }

  of<Kind extends LeaseEffect['kind']>(kind: Kind): Extract<LeaseEffect, { kind: Kind }>[] {
    return this.effects.filter(
      (effect): effect is Extract<LeaseEffect, { kind: Kind }> => effect.kind === kind,
    )
  }

  notices(kind: string): unknown[] {
    return this.of('emit').filter(({ notice }) => notice.kind === kind)
  }

  #take(op: LeaseOp): number {
    const index = this.#open.findIndex(({ call }) => call.op === op)
    if (index < 0) throw new Error(`no ${op} is pending`)
    return this.#open.splice(index, 1)[0]!.callId
  }
}

/** Joined, with all leases running. */
export function running(
  overrides: Partial<ConstructorParameters<typeof LeaseCore>[0]> = {},
): Driver {
  const driver = new Driver(overrides)
  driver.tell({ kind: 'start' })
  driver.synced()
  driver.read(IDS.map((id) => lease(id)))
  driver.acquired(IDS)
  driver.effects = driver.effects.filter(({ kind }) => kind === 'wakeAt')
  return driver
}

export function held(leaseId: string, epoch = 7): HeldLease {
  return { leaseId, epoch }
}

/** As others see it in a snapshot. */
export function hostNamed(host: string): LeaseGroupSnapshot['hosts'][number] {
  const profile = { weight: 1, minLeases: 0, maxLeases: 100, leaving: false }
  return { host, incarnation: 'i', profile, deadlineMs: TTL_MS }
}
