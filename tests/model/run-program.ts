import { compareState, readFromTime } from './compare-state.ts'
import { Difference } from './difference.ts'
import type { Environment, Stage } from './environment.ts'
import { followCollection } from './follow-collection.ts'
import { followRanges } from './follow-ranges.ts'
import { Follower } from './follower.ts'
import { Model } from './model.ts'
import { observeFeeds } from './observe-feeds.ts'
import { performStep } from './perform-step.ts'
import { expectUpkeep } from './perform-upkeep.ts'
import type { Program, Step } from './program.ts'
import { Session } from './session.ts'

/** Where a program's run and the model part. */
export interface Failure {
  /** Steps that went well before it. */
  readonly step: number
  readonly message: string
}

/** Runs a program in the store and in the model; compares after every step. Undefined = no difference. */
export async function runProgram(
  environment: Environment,
  { settings, steps }: Program,
): Promise<Failure | undefined> {
  let stage: Stage
  try {
    stage = await environment.begin(settings)
  } catch (error) {
    // A handle that does not see the collection that another one has made.
    return { step: 0, message: String(stackOf(error)) }
  }
  const model = new Model(settings)
  model.stepTo(environment.wallMs)
  const session = new Session(stage, model)
  let step = 0
  try {
    await learnRanges(session)
    const followers: Follower[] = []
    for (; step < steps.length; step++) {
      const next = steps[step]
      if (next === undefined) break
      session.commit = step + 1
      session.via = next.via ?? 0
      await takeStep(session, next, followers)
    }
    session.commit++
    for (const follower of followers) await follow(session, follower, { pages: 0, maxItems: 2 })
    return undefined
  } catch (error) {
    const message = error instanceof Difference ? error.message : String(stackOf(error))
    return { step, message }
  } finally {
    await stage.end()
  }
}

function stackOf(error: unknown): unknown {
  return error instanceof Error ? (error.stack ?? error.message) : error
}

async function learnRanges({ model, collection }: Session): Promise<void> {
  const ranges = await collection.readFeedRanges()
  model.ranges = ranges.map(({ id = '', minInclusive, maxExclusive }) => {
    model.rangeIds.add(id)
    return { id, minInclusive, maxExclusive, newestLsn: 0 }
  })
}

async function takeStep(session: Session, step: Step, followers: Follower[]): Promise<void> {
  switch (step.do) {
    case 'begin': {
      const follower = new Follower(step.follower)
      followers.push(follower)
      // What "now" is has to be pinned at this moment.
      const pages = step.follower.from === 'now' ? 0 : step.pages
      if (pages !== undefined) await follow(session, follower, { pages, maxItems: 1 })
      return
    }
    case 'follow': {
      const follower = followers[step.follower % Math.max(1, followers.length)]
      if (follower !== undefined) await follow(session, follower, step)
      return
    }
    case 'fork': {
      const follower = followers[step.follower % Math.max(1, followers.length)]
      if (follower !== undefined) followers.push(follower.fork())
      return
    }
    case 'readFromTime':
      return readFromTime(session, step.agoSeconds)
    default: {
      const upkeep = await performStep(session, step)
      await observeFeeds(session, upkeep)
      if (upkeep !== undefined) expectUpkeep(session, upkeep)
      await compareState(session)
    }
  }
}

/** A follower of the log of all versions rests while it is switched off. */
async function follow(
  session: Session,
  follower: Follower,
  limits: { readonly pages: number; readonly maxItems: number },
): Promise<void> {
  const { mode, reads } = follower.kind
  if (mode === 'allVersions' && session.model.allVersions === null) return
  if (follower.positions.length === 0) follower.beginAt(session.commit)
  const read = reads === 'collection' ? followCollection : followRanges
  if (await read(session, follower, limits)) follower.expectComplete(session)
}
