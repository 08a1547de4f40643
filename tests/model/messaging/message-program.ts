import type { SeededRandom } from '@tidemark/testing/simulation'

/** Which entity a step is about, counted from 0; `isDead`: its dead-letter queue. */
export interface Where {
  readonly entity: number
  readonly isDead: boolean
}

export interface ModelSettings {
  readonly requiresSession: boolean
  readonly deadLettersExpired: boolean
  readonly defaultTtlMs: number | undefined
  readonly maxDeliveryCount: number
  readonly lockDurationMs: number
  readonly duplicateWindowMs: number | undefined
}

export interface SentMessage {
  readonly messageId: string
  readonly session: string
  readonly ttlMs: number | undefined
  readonly scheduledInMs: number | undefined
}

/** `of`: counts through what is known when the step comes, around its end. */
export type MessageStep = { readonly via: number } & (
  | { readonly kind: 'send'; readonly entity: number; readonly messages: readonly SentMessage[] }
  | {
      readonly kind: 'receive'
      readonly where: Where
      readonly max: number
      readonly deletes: boolean
    }
  | { readonly kind: 'discard'; readonly entity: number; readonly of: number; readonly max: number }
  | { readonly kind: 'receiveInSession'; readonly of: number; readonly max: number }
  | {
      readonly kind: 'settle'
      readonly of: number
      readonly outcome: 'complete' | 'abandon' | 'defer' | 'deadLetter' | 'release'
    }
  | { readonly kind: 'renew'; readonly of: number }
  | { readonly kind: 'receiveDeferred'; readonly where: Where; readonly of: number }
  | { readonly kind: 'cancel'; readonly entity: number; readonly of: number }
  | { readonly kind: 'accept'; readonly entity: number; readonly session: string | undefined }
  | { readonly kind: 'renewSession'; readonly of: number }
  | { readonly kind: 'releaseSession'; readonly of: number }
  | { readonly kind: 'setState'; readonly of: number; readonly text: string | undefined }
  | { readonly kind: 'listen'; readonly entity: number }
  | { readonly kind: 'redrive'; readonly entity: number; readonly of: number }
  | { readonly kind: 'setTtl'; readonly entity: number; readonly ttlMs: number | undefined }
  | { readonly kind: 'pass'; readonly ms: number }
  | { readonly kind: 'reopen' }
)

/** Entity 0 is a queue, 1 a queue with sessions, 2 and 3 the subscriptions of a topic, 4. */
export interface MessageProgram {
  readonly settings: readonly ModelSettings[]
  readonly steps: readonly MessageStep[]
}

export const QUEUE = 0
export const SESSIONS = 1
export const TOPIC = 4
const NAMES = ['a', 'b', 'c']
/** Stands for undefined. */
const NONE = null
const TTLS = [NONE, NONE, 50, 200, 1_000, 60_000] as const

export function generateMessageProgram(
  random: SeededRandom,
  { maxSteps }: { readonly maxSteps: number },
): MessageProgram {
  const settings = Array.from({ length: 5 }, (_, entity): ModelSettings => ({
    requiresSession: entity === SESSIONS,
    deadLettersExpired: random.chance(0.7),
    defaultTtlMs: random.pick([NONE, NONE, 300, 5_000]) ?? undefined,
    maxDeliveryCount: random.between(1, 4),
    lockDurationMs: random.pick([100, 500]),
    duplicateWindowMs:
      entity !== 2 && entity !== 3 && random.chance(0.3) ? random.pick([400, 5_000]) : undefined,
  }))
  const count = random.between(5, maxSteps)
  return { settings, steps: Array.from({ length: count }, () => step(random)) }
}

function step(random: SeededRandom): MessageStep {
  const via = random.below(2)
  const of = random.below(1_000)
  const entity = random.pick([QUEUE, QUEUE, SESSIONS, SESSIONS, 2, 3])
  const where = { entity, isDead: random.chance(0.2) }
  const dice = random.below(100)
  if (dice < 22) return { via, kind: 'send', ...sent(random) }
  if (dice < 24) return { via, kind: 'discard', entity, of, max: random.between(1, 4) }
  if (dice < 36) {
    return { via, kind: 'receive', where, max: random.between(1, 4), deletes: random.chance(0.15) }
  }
  if (dice < 43) return { via, kind: 'receiveInSession', of, max: random.between(1, 4) }
  if (dice < 60) {
    const outcome = random.pick([
      'complete',
      'complete',
      'abandon',
      'abandon',
      'defer',
      'deadLetter',
      'release',
    ] as const)
    return { via, kind: 'settle', of, outcome }
  }
  if (dice < 63) return { via, kind: 'renew', of }
  if (dice < 67) return { via, kind: 'receiveDeferred', where, of }
  if (dice < 69) return { via, kind: 'cancel', entity, of }
  if (dice < 76) {
    return {
      via,
      kind: 'accept',
      entity: SESSIONS,
      session: random.pick([NONE, ...NAMES]) ?? undefined,
    }
  }
  if (dice < 78) return { via, kind: 'renewSession', of }
  if (dice < 80) return { via, kind: 'releaseSession', of }
  if (dice < 82)
    return { via, kind: 'setState', of, text: random.pick([NONE, 'x', 'yy']) ?? undefined }
  if (dice < 85) return { via, kind: 'listen', entity }
  if (dice < 87) return { via, kind: 'redrive', entity, of }
  if (dice < 88) return { via, kind: 'setTtl', entity, ttlMs: random.pick(TTLS) ?? undefined }
  if (dice < 99) return { via, kind: 'pass', ms: random.pick([1, 50, 100, 150, 200, 500, 5_000]) }
  return { via, kind: 'reopen' }
}

function sent(random: SeededRandom): { entity: number; messages: readonly SentMessage[] } {
  const messages = Array.from({ length: random.between(1, 3) }, () => ({
    messageId: `id${random.below(12)}`,
    session: random.pick(NAMES),
    ttlMs: random.pick(TTLS) ?? undefined,
    scheduledInMs: random.chance(0.25) ? random.pick([-50, 60, 150, 400]) : undefined,
  }))
  return { entity: random.pick([QUEUE, QUEUE, SESSIONS, TOPIC]), messages }
}
