import {
  feedRangeId,
  TRANSITIONS_KEPT,
  type Clock,
  type HeldLease,
  type LeaseGroup,
  type LeaseTransition,
} from '@tidemark/contracts'
import type { PumpNotice } from '../feed-processing/pump-events.ts'
import type { LeaseNotice, ReplaceCause } from '../lease-management/lease-protocol.ts'
import { WorkSummary } from './work-summary.ts'

export interface HostNotesOptions {
  readonly group: Pick<LeaseGroup, 'note'>
  readonly hostName: string
  readonly clock: Clock
}

/** For the last note of a host that stops. */
const LAST_NOTE_MS = 500

const REPLACED: Record<ReplaceCause, LeaseTransition['kind'] | undefined> = {
  split: 'split',
  cut: 'cut',
  join: 'joined',
  restart: undefined,
}

/** Tells the lease store, with the heartbeats, what this host did: for people and pages. Work never waits for it. */
export class HostNotes {
  readonly #options: HostNotesOptions
  readonly #summary: WorkSummary
  readonly #stop = new AbortController()
  #pending: LeaseTransition[] = []
  #sending: Promise<void> | undefined

  constructor(options: HostNotesOptions) {
    this.#options = options
    this.#summary = new WorkSummary(options.hostName, options.clock)
  }

  onPump({ leaseId }: HeldLease, notice: PumpNotice): void {
    this.#summary.note(leaseId, notice)
  }

  onLease(notice: LeaseNotice): void {
    switch (notice.kind) {
      case 'acquired':
        this.#add(notice.held, { kind: 'acquired' })
        return
      case 'released':
        this.#summary.gone(notice.held.leaseId)
        this.#add(notice.held, { kind: 'released', reason: notice.reason })
        return
      case 'lost':
        this.#summary.gone(notice.held.leaseId)
        this.#add(notice.held, { kind: 'lost', reason: notice.cause })
        return
      case 'replaced': {
        const kind = REPLACED[notice.cause]
        for (const { leaseId } of notice.old) this.#summary.gone(leaseId)
        if (kind === undefined) return
        const next = notice.next.map(({ range }) => feedRangeId(range))
        for (const held of notice.old) this.#add(held, { kind, next })
        return
      }
      default:
        return
    }
  }

  /** The host's session was renewed. An idle host tells nothing (LE-13); while a note is under way, the next one waits. */
  beat(): void {
    if (!this.#summary.isNews && this.#pending.length === 0) return
    this.#sending ??= this.#send().finally(() => {
      this.#sending = undefined
    })
  }

  /** Tells the rest, if the store answers soon. */
  async stop(): Promise<void> {
    const { clock } = this.#options
    const limit = clock.sleep(LAST_NOTE_MS, this.#stop.signal).catch(() => {})
    await Promise.race([this.#finish(), limit])
    this.#stop.abort()
  }

  async #finish(): Promise<void> {
    await this.#sending
    if (this.#pending.length > 0) await this.#send()
  }

  async #send(): Promise<void> {
    const { group } = this.#options
    const transitions = this.#pending
    this.#pending = []
    try {
      await group.note?.({ summary: this.#summary.take(), transitions }, this.#stop.signal)
    } catch {
      // Whether the store answers is for the heartbeats to say.
      this.#pending = [...transitions, ...this.#pending].slice(-TRANSITIONS_KEPT)
      this.#summary.notTold()
    }
  }

  #add(
    { leaseId, epoch }: HeldLease,
    what: Pick<LeaseTransition, 'kind' | 'reason' | 'next'>,
  ): void {
    const { hostName: host, clock } = this.#options
    this.#pending.push({ atMs: clock.wallMs(), host, leaseId, epoch, ...what })
    // A store keeps no more.
    if (this.#pending.length > TRANSITIONS_KEPT) this.#pending.shift()
  }
}
