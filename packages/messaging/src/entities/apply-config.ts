import { describeValue } from '@tidemark/contracts/internal'
import type { EntityRecord, EntitySettings, NewEntity, RuleRecord } from '@tidemark/store/messages'
import { readConfig, type ConfigEntity } from './config-json.ts'
import { ConfigReader, keyOf } from './config-reader.ts'
import { isSameName } from './entity-names.ts'
import { shownSettings } from './entity-properties.ts'
import { resolveNamespace, type ResolvedNamespace } from './namespace.ts'
import { checkEntity, type Destination } from './new-entity.ts'
import { readRules } from './rule-records.ts'
import type { StoredEntities } from './stored-entities.ts'

/**
 * Creates the entities of an emulator's `Config.json` that do not exist: all of them, or none. One that exists must have
 * what the configuration says of it; what the configuration does not name may differ. Resolves with the namespace.
 *
 * @throws ERR_INVALID_OPTION with all that is wrong
 */
export async function applyConfig(
  config: unknown,
  place: {
    readonly stored: StoredEntities
    readonly namespace: ResolvedNamespace
    readonly nowMs: number
  },
): Promise<ResolvedNamespace> {
  for (;;) {
    const reader = new ConfigReader()
    const { namespace: options, entities } = readConfig(config, reader)
    const namespace = resolveNamespace(options, place.namespace)
    const existing = await place.stored.all()
    const added = planEntities(entities, { reader, namespace, existing, nowMs: place.nowMs })
    reader.finish()
    if (added.length === 0) return namespace
    const answer = await place.stored.create(added)
    if (answer.kind === 'created') return namespace
    // Another broker has created or deleted one of them: look again. Each round means that one of them got on.
  }
}

interface PlanPlace {
  readonly reader: ConfigReader
  readonly namespace: ResolvedNamespace
  readonly existing: readonly EntityRecord[]
  readonly nowMs: number
}

function planEntities(entities: readonly ConfigEntity[], place: PlanPlace): readonly NewEntity[] {
  const { reader, namespace, existing } = place
  const destinations: readonly Destination[] = [...existing, ...entities]
  const added: NewEntity[] = []
  for (const [index, entity] of entities.entries()) {
    const { kind, path, topic, at } = entity
    const twin = entities.slice(0, index).find((one) => isSameName(one.path, path))
    if (twin !== undefined) {
      reader.report(`${at}.Name`, `is the name of ${twin.at}, too`)
      continue
    }
    const settings = checkEntity(entity, {
      namespace,
      current: undefined,
      destinations,
      report: (option, problem) => reader.report(keyPath(at, option), problem),
    })
    const rules = readEntityRules(entity, place)
    const record = existing.find((one) => isSameName(one.path, path))
    if (record === undefined) added.push({ kind, path, topic, settings, rules })
    else reportDifferences(entity, { record, settings, rules, reader })
  }
  return added
}

function readEntityRules(
  { kind, rules, at }: ConfigEntity,
  { reader, nowMs }: PlanPlace,
): readonly RuleRecord[] {
  if (kind !== 'subscription') return []
  return readRules(rules, nowMs, (index, read) => reader.attempt(`${at}.Rules[${index}]`, read))
}

function reportDifferences(
  entity: ConfigEntity,
  {
    record,
    settings,
    rules,
    reader,
  }: {
    readonly record: EntityRecord
    readonly settings: EntitySettings
    readonly rules: readonly RuleRecord[]
    readonly reader: ConfigReader
  },
): void {
  const { kind, at, options } = entity
  if (record.kind !== kind) {
    reader.report(`${at}.Name`, `is the name of a ${record.kind} that exists`)
    return
  }
  const wanted = shownSettings(kind, settings)
  const found = shownSettings(kind, record.settings)
  for (const option of Object.keys(options)) {
    if (wanted[option] === found[option]) continue
    reader.report(
      keyPath(at, option),
      `is ${shown(found[option])} in the ${kind} that exists, got ${shown(wanted[option])}`,
    )
  }
  if (entity.rules !== undefined && rulesText(rules) !== rulesText(record.rules)) {
    reader.report(`${at}.Rules`, 'are not the rules of the subscription that exists')
  }
}

/** What two subscriptions with the same rules have in common. */
function rulesText(rules: readonly RuleRecord[]): string {
  const texts = rules.map(({ name, filter, action }) =>
    JSON.stringify([name.toLowerCase(), sorted(filter), action]),
  )
  return texts.toSorted().join('\n')
}

/** With keys in the order of their names. */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  return Object.entries(value)
    .filter(([, one]) => one !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, one]) => [name, sorted(one)])
}

function shown(value: unknown): string {
  return value === undefined ? 'not set' : describeValue(value)
}

function keyPath(at: string, option: string): string {
  return option === 'name' ? `${at}.Name` : `${at}.Properties.${keyOf(option)}`
}
