import type { LeaseCall, LeaseOp } from './lease-protocol.ts'

interface Slot {
  /** The call in flight. */
  inFlight:
    | { readonly callId: number; readonly call: LeaseCall; readonly sentMs: number }
    | undefined
  failures: number
  retryAtMs: number
}

export interface SettledCall {
  readonly callId: number
  readonly call: LeaseCall
  /** When it was sent: a session renewed by it counts from then. */
  readonly sentMs: number
}

/** First wait after a failed call; doubles up to the given bound. */
const FIRST_RETRY_MS = 50

/** At most one call of each operation in flight, and a pause after failures. */
export class CallSlots {
  readonly #maxRetryMs: number
  readonly #slots = new Map<LeaseOp, Slot>()
  #lastCallId = 0

  constructor(maxRetryMs: number) {
    this.#maxRetryMs = maxRetryMs
  }

  /** Id of the call sent last: whatever is sent from now on has a higher one. */
  get lastCallId(): number {
    return this.#lastCallId
  }

  isFree(op: LeaseOp): boolean {
    return this.#slot(op).inFlight === undefined
  }

  /** The earliest time at which `op` may be called; undefined while a call is in flight. */
  readyAtMs(op: LeaseOp): number | undefined {
    const slot = this.#slot(op)
    return slot.inFlight === undefined ? slot.retryAtMs : undefined
  }

  begin(call: LeaseCall, nowMs: number): number {
    this.#lastCallId += 1
    this.#slot(call.op).inFlight = { callId: this.#lastCallId, call, sentMs: nowMs }
    return this.#lastCallId
  }

  /** The call that this answer is for; undefined if nobody waits for it any more. */
  succeed(callId: number): SettledCall | undefined {
    const slot = this.#find(callId)
    if (slot === undefined) return undefined
    const { inFlight } = slot
    slot.inFlight = undefined
    slot.failures = 0
    slot.retryAtMs = 0
    return inFlight
  }

  fail(callId: number, nowMs: number, jitter: number): SettledCall | undefined {
    const slot = this.#find(callId)
    if (slot === undefined) return undefined
    const { inFlight } = slot
    slot.inFlight = undefined
    const delayMs = Math.min(this.#maxRetryMs, FIRST_RETRY_MS * 2 ** Math.min(slot.failures, 20))
    slot.failures += 1
    slot.retryAtMs = nowMs + delayMs * (0.5 + jitter / 2)
    return inFlight
  }

  /** Forgets all calls in flight: their answers concern a session that is over. */
  abandon(): void {
    for (const slot of this.#slots.values()) {
      slot.inFlight = undefined
      slot.retryAtMs = 0
    }
  }

  #find(callId: number): Slot | undefined {
    for (const slot of this.#slots.values()) if (slot.inFlight?.callId === callId) return slot
    return undefined
  }

  #slot(op: LeaseOp): Slot {
    let slot = this.#slots.get(op)
    if (slot === undefined) {
      slot = { inFlight: undefined, failures: 0, retryAtMs: 0 }
      this.#slots.set(op, slot)
    }
    return slot
  }
}
