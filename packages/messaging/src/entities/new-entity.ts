import { InvalidOptionError } from '@tidemark/contracts'
import { describeValue } from '@tidemark/contracts/internal'
import type { EntityKind, EntityRecord, EntitySettings } from '@tidemark/store/messages'
import { isSameName, problemOfPath, problemOfSubscriptionName } from './entity-names.ts'
import { readSettings, type AnyEntityOptions } from './entity-settings.ts'
import type { ResolvedNamespace } from './namespace.ts'

/** An entity to create, or to change. */
export interface GivenEntity {
  readonly kind: Exclude<EntityKind, 'deadLetter'>
  /** Of a subscription, without its topic. */
  readonly name: string
  readonly path: string
  readonly options: AnyEntityOptions
}

/** Says what is wrong: the text stands behind the name of the option, or behind `name`. */
export type ReportOption = (option: keyof AnyEntityOptions | 'name', problem: string) => void

/** Kind and path of entities to which one may forward. */
export type Destination = Pick<EntityRecord, 'kind' | 'path'>

/** Checks everything about an entity but its rules, and reports all that is wrong. */
export function checkEntity(
  entity: GivenEntity,
  place: {
    readonly namespace: ResolvedNamespace
    readonly current: EntitySettings | undefined
    readonly destinations: readonly Destination[]
    readonly report: ReportOption
  },
): EntitySettings {
  const { kind, name, path, options } = entity
  const { report, namespace, current, destinations } = place
  const problem = kind === 'subscription' ? problemOfSubscriptionName(name) : problemOfPath(name)
  if (problem !== undefined) report('name', problem)
  if (kind === 'topic' && namespace.tier === 'Basic') {
    report('name', 'cannot be that of a topic: tier Basic has queues only')
  }
  const settings = readSettings(options, { kind, path, namespace, current, report })
  const destination = (
    option: 'forwardTo' | 'forwardDeadLetteredMessagesTo',
    given: string | undefined,
  ): string | undefined => {
    // One that is not named was checked when it was set. Who was there then may be gone (SET-13).
    if (given === undefined || options[option] === undefined) return given
    const found = destinations.find(({ path: one }) => isSameName(one, given))
    if (found !== undefined && (found.kind === 'queue' || found.kind === 'topic')) return found.path
    report(option, `must be the path of a queue or topic that exists, got ${describeValue(given)}`)
    return undefined
  }
  return {
    ...settings,
    forwardTo: destination('forwardTo', settings.forwardTo),
    forwardDeadLettersTo: destination(
      'forwardDeadLetteredMessagesTo',
      settings.forwardDeadLettersTo,
    ),
  }
}

/** As `checkEntity`, of one entity. @throws ERR_INVALID_OPTION with all that is wrong */
export function checkOneEntity(
  entity: GivenEntity,
  place: Omit<Parameters<typeof checkEntity>[1], 'report'>,
): EntitySettings {
  const problems: string[] = []
  const report: ReportOption = (option, problem) => problems.push(`${option} ${problem}`)
  const settings = checkEntity(entity, { ...place, report })
  if (problems.length > 0) throw new InvalidOptionError(problems.join('; '))
  return settings
}
