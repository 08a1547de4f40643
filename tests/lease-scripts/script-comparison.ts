import { deepStrictEqual } from 'node:assert/strict'
import type { LeaseGroup } from '@tidemark/contracts'
import type { RedisLeaseStore, RedisServerClient } from '@tidemark/lease-redis'
import { TimedLeaseStore } from '@tidemark/lease-redis/testing'
import {
  ComparedLeaseGroup,
  leaseStep,
  SHARING_STEPS,
  type LeaseStep,
  type StepTime,
} from '@tidemark/testing/conformance'
import fc from 'fast-check'
import type { Redis } from 'ioredis'
import { answerKinds } from './answer-kinds.ts'
import { deleteRawKeys, rawKeysOf, readRawKeys, comparableKeys } from './raw-keys.ts'

const START_US = 1_767_225_600_000_000
const MAX_COMMANDS = 60

export interface ScriptComparisonOptions {
  /** Reads the keys as they are, and takes them away. */
  readonly redis: Redis
  /** What the lease store is given. @default `redis` */
  readonly client?: RedisServerClient | undefined
  /** Tells the groups of comparisons that share a server apart. */
  readonly name: string
}

/** The part of a report of fast-check that a run is told by. */
export type ComparisonReport = fc.RunDetails<
  [boolean, Iterable<fc.AsyncCommand<CommandModel, LeaseGroup>>]
>

interface CommandModel {
  readonly compared: ComparedLeaseGroup
}

/**
 * The scripts on a real server beside the pure model: random sequences of all calls, at store times that are
 * set and jump back and forth. Every reply is compared, and after each sequence the whole state and what is
 * in the keys.
 */
export class ScriptComparison {
  /** Calls so far that were compared. */
  calls = 0
  sequences = 0
  /** How often each kind of answer came. */
  readonly answers = new Map<string, number>()
  readonly #options: ScriptComparisonOptions
  readonly #store: RedisLeaseStore
  readonly #time: StepTime
  #nowUs = START_US

  constructor(options: ScriptComparisonOptions) {
    this.#options = options
    this.#time = {
      nowUs: () => this.#nowUs,
      pass: (us) => {
        this.#nowUs += us
      },
    }
    this.#store = new TimedLeaseStore(options.client ?? options.redis, {
      storeTimeUs: () => this.#nowUs,
      allowVolatile: true,
    })
  }

  /** Runs sequences until one differs; that one is then made as short as it gets, unless `shrink` is false. */
  run({
    seed,
    numRuns,
    path,
    replayPath,
    shrink = true,
  }: {
    readonly seed: number
    readonly numRuns: number
    /** Of a report: begins with the sequence that differed. */
    readonly path?: string | undefined
    readonly replayPath?: string | undefined
    readonly shrink?: boolean | undefined
  }): Promise<ComparisonReport> {
    const commands = fc.commands(
      [leaseStep.map((step) => new StepCommand(step, (kinds) => this.#count(kinds)))],
      {
        maxCommands: MAX_COMMANDS,
        size: 'max',
        ...(replayPath === undefined ? {} : { replayPath }),
      },
    )
    const property = fc.asyncProperty(fc.boolean(), commands, (shared, sequence) =>
      this.#runSequence(shared ? SHARING_STEPS : [], sequence),
    )
    return fc.check(property, {
      seed,
      numRuns,
      endOnFailure: !shrink,
      ...(path === undefined ? {} : { path }),
    })
  }

  async #runSequence(
    before: readonly LeaseStep[],
    sequence: Iterable<fc.AsyncCommand<CommandModel, LeaseGroup>>,
  ): Promise<void> {
    this.sequences += 1
    this.#nowUs = START_US
    const { redis, name } = this.#options
    const groupName = `${name} ${this.sequences}`
    const tag = `tidemark:leases:{${encodeURIComponent(groupName)}}`
    const group = await this.#store.openGroup(groupName)
    try {
      const { generation } = await group.read()
      const compared = new ComparedLeaseGroup(this.#time, generation)
      for (const step of before) await compared.run(step, group)
      await fc.asyncModelRun(() => ({ model: { compared }, real: group }), sequence)
      await compared.compareState(group)
      const raw = comparableKeys(await readRawKeys(redis, tag))
      deepStrictEqual(raw, rawKeysOf(compared.state))
    } finally {
      await group.close()
      await deleteRawKeys(redis, tag)
      await redis.srem('tidemark:leases:groups', groupName)
    }
  }

  #count(kinds: readonly string[]): void {
    this.calls += 1
    for (const kind of kinds) this.answers.set(kind, (this.answers.get(kind) ?? 0) + 1)
  }
}

class StepCommand implements fc.AsyncCommand<CommandModel, LeaseGroup> {
  readonly #step: LeaseStep
  readonly #onAnswer: (kinds: readonly string[]) => void

  constructor(step: LeaseStep, onAnswer: (kinds: readonly string[]) => void) {
    this.#step = step
    this.#onAnswer = onAnswer
  }

  check(): boolean {
    return true
  }

  async run({ compared }: CommandModel, group: LeaseGroup): Promise<void> {
    const answered = await compared.run(this.#step, group)
    if (answered !== undefined) this.#onAnswer(answerKinds(this.#step, answered.answer))
  }

  toString(): string {
    return fc.stringify(this.#step)
  }
}
