import { join } from 'node:path'
import type { StorePlace } from './store-place.ts'

export interface RoundPlan {
  readonly place: StorePlace
  /** How many processes write. */
  readonly shares: 1 | 2
  /** Whether another process follows meanwhile. */
  readonly followed: boolean
  readonly description: string
}

/** What a disturbance needs to know of those who write meanwhile. */
export interface Writing {
  readonly chance: () => number
  /** How much each writing process has noted: grows with what it does. */
  progress(): readonly number[]
  /** Throws when a process ended by itself. */
  assertAlive(): void
}

/** Where a run's store is, and what happens to it besides the death of the processes that use it. */
export interface CrashScene {
  plan(round: number): RoundPlan
  /** Happens while writers write, before they are killed. */
  disturb(round: number, writing: Writing): Promise<void>
  /** Resolves when nothing is at work any more that a killed process began. */
  settle(): Promise<void>
  /** What happened, for the end of a run; zero of something means that the run shows nothing. */
  totals(rounds: number): readonly (readonly [what: string, count: number])[]
}

/** A folder of this machine: nothing but the processes dies. */
export class FolderScene implements CrashScene {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = join(folder, 'store')
  }

  plan(round: number): RoundPlan {
    const durability = round % 5 === 3 ? 'relaxed' : 'sync'
    const place = { kind: 'folder', folder: this.#folder, durability } as const
    const shares = round % 4 === 2 ? 2 : 1
    return { place, shares, followed: round % 2 === 1, description: durability }
  }

  disturb(): Promise<void> {
    return Promise.resolve()
  }

  settle(): Promise<void> {
    return Promise.resolve()
  }

  totals(): readonly (readonly [what: string, count: number])[] {
    return []
  }
}
