import { deepStrictEqual } from 'node:assert/strict'
import { errorCode, type HostSession, type LeaseGroup } from '@tidemark/contracts'
import {
  acquireLeases,
  applyChanges,
  checkpointLeases,
  claimGroupFeed,
  createLeases,
  declareLeasesLost,
  discardLeases,
  newGroupState,
  overrideLeases,
  planGroup,
  readGroup,
  reconcileLeases,
  releaseLeases,
  replaceLeases,
  setGroupPaused,
  syncGroup,
  type LeaseGroupState,
  type LeaseGroupStep,
} from '@tidemark/processor/lease-model'
import { LeaseStepRequests, type ReplaceStepRequest } from './lease-step-requests.ts'
import type { AcquireStep, LeaseStep, OwnerStep, ReplacementStep } from './lease-steps.ts'

/** What the calls of a sequence are told about time. */
export interface StepTime {
  /** The store's time, µs since the epoch. */
  nowUs(): number
  pass(us: number): void
}

export interface StepAnswer {
  /** Of the store: the reply, or `{ rejectedWith: code }`. */
  readonly answer: unknown
}

/** One call of both. */
interface Call {
  readonly model: () => unknown
  readonly store: () => Promise<unknown>
}

/** The pure model beside a store's group: asked the same, it has to answer the same. */
export class ComparedLeaseGroup {
  readonly #time: StepTime
  readonly #last = new Map<ReplacementStep['kind'], ReplaceStepRequest>()
  #state: LeaseGroupState

  /** `generation` is the one of the new and empty group. */
  constructor(time: StepTime, generation: string) {
    this.#time = time
    this.#state = newGroupState(generation)
  }

  /** What the group has to be now. */
  get state(): LeaseGroupState {
    return this.#state
  }

  /**
   * Resolves with what both answered, or with undefined when nobody was asked: time passed, or there is no lease
   * to replace. Rejects with an assertion error when the group's answer is not the model's.
   */
  async run(step: LeaseStep, group: LeaseGroup): Promise<StepAnswer | undefined> {
    const call = this.#callOf(step, group)
    if (call === undefined) return undefined
    // At the same store time: the clock steps by steps of its own only.
    const ours = await outcomeOf(call.model)
    const theirs = await outcomeOf(call.store)
    deepStrictEqual(comparable(theirs), comparable(ours))
    return { answer: theirs }
  }

  /** Rejects with an assertion error when the group's state is not the model's. */
  async compareState(group: LeaseGroup): Promise<void> {
    deepStrictEqual(comparable(await group.read()), comparable(readGroup(this.#state)))
  }

  #callOf(step: LeaseStep, group: LeaseGroup): Call | undefined {
    const state = this.#state
    const nowUs = this.#time.nowUs()
    const requests = new LeaseStepRequests(state)
    switch (step.kind) {
      case 'pass':
        this.#time.pass(step.us)
        return undefined
      case 'read':
        return { model: () => readGroup(state), store: () => group.read() }
      case 'sync':
        return this.#call(requests.sync(step, Math.floor(nowUs / 1000)), {
          model: (request) => syncGroup(state, request, nowUs),
          store: (request) => group.sync(request),
        })
      case 'create':
        return this.#call(requests.create(step), {
          model: (leases) => createLeases(state, leases, nowUs),
          store: (leases) => group.create(leases),
        })
      case 'plan':
        return this.#call(requests.plan(step), {
          model: (request) => planGroup(state, request),
          store: (request) => group.plan(request),
        })
      case 'setPaused':
        return this.#call(step.paused, {
          model: (paused) => setGroupPaused(state, paused),
          store: (paused) => group.setPaused(paused),
        })
      case 'claimFeed': {
        const { feed, insteadOf } = step
        // A store need not keep it.
        if (group.claimFeed === undefined) return undefined
        return this.#call(feed, {
          model: (request) => claimGroupFeed(state.head, request, insteadOf),
          store: (request) => group.claimFeed!(request, { insteadOf }),
        })
      }
      case 'discard':
        return this.#call(step.token, {
          model: (token) => discardLeases(state, token),
          store: (token) => group.discard(token),
        })
      case 'declareLost':
        return this.#call(step, {
          model: (request) => declareLeasesLost(state, request),
          store: (request) => group.declareLost(request),
        })
      case 'acquire':
      case 'checkpoint':
      case 'release':
      case 'reconcile':
        return this.#ownersCall(step, group)
      case 'replace':
      case 'override':
        return this.#replacementCall(step, group)
    }
  }

  #ownersCall(step: AcquireStep | OwnerStep, group: LeaseGroup): Call {
    const state = this.#state
    const nowUs = this.#time.nowUs()
    const requests = new LeaseStepRequests(state)
    switch (step.kind) {
      case 'acquire':
        return this.#call(requests.acquire(step), {
          model: (request) => acquireLeases(state, request, nowUs),
          store: (request) => group.acquire(request),
        })
      case 'checkpoint':
        return this.#call(requests.checkpoint(step), {
          model: (request) => checkpointLeases(state.leases, request, nowUs),
          store: (request) => group.checkpoint(request),
        })
      case 'release':
        return this.#call(requests.release(step), {
          model: (request) => releaseLeases(state.leases, request, nowUs),
          store: (request) => group.release(request),
        })
      case 'reconcile':
        return this.#call(requests.reconcile(step), {
          model: (request) => ({ changes: {}, reply: reconcileLeases(state, request) }),
          store: (request) => group.reconcile(request),
        })
    }
  }

  #replacementCall(step: ReplacementStep, group: LeaseGroup): Call | undefined {
    const state = this.#state
    const nowUs = this.#time.nowUs()
    const { kind } = step
    const again = step.again ? this.#last.get(kind) : undefined
    const request = again ?? new LeaseStepRequests(state).replace(step)
    if (request === undefined) return undefined
    this.#last.set(kind, request)
    if (kind === 'replace') {
      return this.#call(request, {
        model: (replacement) => replaceLeases(state, replacement, nowUs),
        store: (replacement) => group.replace(replacement),
      })
    }
    const { old, next } = request
    return this.#call(
      { old, next },
      {
        model: (replacement) => overrideLeases(state, replacement, nowUs),
        store: (replacement) => group.override(replacement),
      },
    )
  }

  #call<Request, Reply>(
    request: Request,
    {
      model,
      store,
    }: {
      readonly model: (request: Request) => LeaseGroupStep<Reply>
      readonly store: (request: Request) => Promise<Reply>
    },
  ): Call {
    return {
      model: () => {
        const { changes, reply } = model(request)
        this.#state = applyChanges(this.#state, changes)
        return reply
      },
      store: () => store(request),
    }
  }
}

/** The answer, or the code of the error. */
async function outcomeOf(call: () => unknown): Promise<unknown> {
  try {
    return await call()
  } catch (error) {
    const code = errorCode(error)
    if (code === undefined) throw error
    return { rejectedWith: code }
  }
}

/** Without fields that are undefined, and with profiles that say their defaults. */
function comparable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(comparable)
  if (typeof value !== 'object' || value === null) return value
  const fields = comparableFields(value)
  if (!isSession(value)) return fields
  const defaults = { standby: false, refuses: [], leasesPerRange: 1, balanceBy: 'count' }
  return { ...fields, profile: { ...defaults, ...comparableFields(value.profile) } }
}

function comparableFields(value: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, field]) =>
      field === undefined ? [] : [[name, comparable(field)]],
    ),
  )
}

function isSession(value: object): value is HostSession {
  return 'profile' in value && 'deadlineMs' in value
}
