import type { LeaseStep } from '@tidemark/testing/conformance'

/** Every kind of answer that the scripts have: a campaign that never saw one of them has not tried it. */
export const ANSWER_KINDS = [
  'sync join ok',
  'sync beat ok',
  'sync beat fenced',
  'sync leave ok',
  'sync leave fenced',
  'sync digest matches',
  'sync digest differs',
  'create done',
  'create rejectedWith',
  'read done',
  'plan true',
  'plan false',
  'acquire granted',
  'acquire nothing',
  'checkpoint stored',
  'checkpoint lost',
  'checkpoint regress',
  'release released',
  'release lost',
  'reconcile done',
  'replace done',
  'replace lost',
  'replace rejectedWith',
  'override done',
  'override changed',
  'override rejectedWith',
  'setPaused true',
  'setPaused false',
  'claimFeed done',
  'discard true',
  'discard false',
  'declareLost true',
  'declareLost false',
] as const

/** Of what kind an answer is; of several leases each. */
export function answerKinds(step: LeaseStep, answer: unknown): readonly string[] {
  const { kind } = step
  if (hasField(answer, 'rejectedWith')) return [`${kind} rejectedWith`]
  switch (step.kind) {
    case 'sync': {
      const kinds = [`sync ${step.intent} ${wordOf(fieldOf(answer, 'kind')) ?? ''}`]
      if (step.digestShift === undefined || !hasField(answer, 'heldMatches')) return kinds
      return [...kinds, `sync digest ${answer.heldMatches === true ? 'matches' : 'differs'}`]
    }
    case 'checkpoint':
    case 'release':
      return Array.isArray(answer)
        ? answer.map((outcome) => `${kind} ${wordOf(outcome) ?? ''}`)
        : []
    case 'acquire':
      return [`acquire ${Array.isArray(answer) && answer.length > 0 ? 'granted' : 'nothing'}`]
    case 'plan':
    case 'setPaused':
    case 'discard':
    case 'declareLost':
    case 'replace':
    case 'override':
      return [`${kind} ${wordOf(answer) ?? 'done'}`]
    case 'claimFeed':
    case 'create':
    case 'read':
    case 'reconcile':
      return [`${kind} done`]
    case 'pass':
      return []
  }
}

/** `true`, `lost` and the like; undefined of leases. */
function wordOf(answer: unknown): string | undefined {
  return typeof answer === 'string' || typeof answer === 'boolean' ? String(answer) : undefined
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}

function hasField<Name extends string>(
  value: unknown,
  name: Name,
): value is Readonly<Record<Name, unknown>> {
  return typeof value === 'object' && value !== null && name in value
}
