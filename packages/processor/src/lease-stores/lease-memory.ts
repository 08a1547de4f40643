import type { HostSummary, LeaseHint, LeaseTransition, Random } from '@tidemark/contracts'
import { applyChanges, newGroupState, type LeaseGroupState } from './lease-group-state.ts'

/** One group, shared by all handles of it. */
export interface MemoryGroup {
  state: LeaseGroupState
  summaries: readonly HostSummary[]
  transitions: readonly LeaseTransition[]
  readonly listeners: Set<(hint: LeaseHint) => void>
}

/** All groups at one moment. */
export type LeaseMemorySnapshot = ReadonlyMap<string, LeaseGroupState>

/** What a lease store in memory holds. Tests look into it, and damage it as servers lose data. */
export class LeaseMemory {
  readonly #random: Random
  readonly #groups = new Map<string, MemoryGroup>()

  /** @param random makes generations */
  constructor(random: Random) {
    this.#random = random
  }

  /** The group, created at its first use. */
  open(group: string): MemoryGroup {
    let memory = this.#groups.get(group)
    if (memory === undefined) {
      const state = newGroupState(this.#random.hex(8))
      memory = { state, summaries: [], transitions: [], listeners: new Set() }
      this.#groups.set(group, memory)
    }
    return memory
  }

  /** What it holds of one group at this moment. */
  stateOf(group: string): LeaseGroupState | undefined {
    return this.#groups.get(group)?.state
  }

  /** What it holds at this moment. */
  snapshot(): LeaseMemorySnapshot {
    return new Map([...this.#groups].map(([group, { state }]) => [group, state]))
  }

  /** What it held then is what it holds now, as after a fail-over to a replica that lagged. */
  restore(snapshot: LeaseMemorySnapshot): void {
    for (const [group, memory] of this.#groups) {
      memory.state = snapshot.get(group) ?? newGroupState(this.#random.hex(8))
    }
  }

  /** Forgets everything, as a server does that lost its data: generations change. */
  loseAllData(): void {
    this.restore(new Map())
  }

  /** Takes one lease out of the set, which no client that keeps to the protocol does. */
  loseLease(group: string, leaseId: string): boolean {
    const memory = this.#groups.get(group)
    if (memory?.state.leases.has(leaseId) !== true) return false
    memory.state = applyChanges(memory.state, { removeLeases: [leaseId] })
    return true
  }
}
