import { InvalidArgumentError } from 'commander'
import type { SubscriptionName } from '@tidemark/messaging'
import { entityOfPath } from '../../inspection/entity-path.ts'

/** A queue or subscription as the command names it. */
export interface EntityArgument {
  readonly database: string
  /** The path of a queue or topic, or a subscription. */
  readonly entity: string | SubscriptionName
  /** As messages name it, without the database. */
  readonly path: string
}

/** A queue, topic or subscription by its path: `database/name`, `database/topic/Subscriptions/name`. */
export function entityArgument(text: string): EntityArgument {
  const [database = '', ...segments] = text.split('/')
  const path = segments.join('/')
  const entity = entityOfPath(path)
  if (database === '' || entity === undefined) {
    throw new InvalidArgumentError(
      'It must look like database/queue or database/topic/Subscriptions/name.',
    )
  }
  return { database, entity, path }
}

/** A queue or topic: `database/name`. */
export function pathArgument(text: string): EntityArgument & { readonly entity: string } {
  const { database, entity, path } = entityArgument(text)
  if (typeof entity === 'string') return { database, entity, path }
  throw new InvalidArgumentError('It must look like database/name.')
}

/** A subscription: `database/topic/Subscriptions/name`. */
export function subscriptionArgument(
  text: string,
): EntityArgument & { readonly entity: SubscriptionName } {
  const { database, entity, path } = entityArgument(text)
  if (typeof entity !== 'string') return { database, entity, path }
  throw new InvalidArgumentError('It must look like database/topic/Subscriptions/name.')
}

/** Options by name, as `--set` gives them. */
export type Settings = Readonly<Record<string, unknown>>

/** Collects `--set name=value`. A value that is a number, `true` or `false` is one; in double quotes it is a text. */
export function setting(text: string, before: Settings | undefined): Settings {
  const [, name = '', value = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? []
  if (name === '') throw new InvalidArgumentError('It must look like name=value.')
  return { ...before, [name]: settingValue(value) }
}

/** What `--set` gave, for a call that checks its options. */
export function givenOptions<Options extends object>(set: Settings = {}): Options {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Every call of the broker checks names and types.
  return set as Options
}

function settingValue(value: string): unknown {
  if (!/^(?:true|false|-?\d+(?:\.\d+)?|".*")$/s.test(value)) return value
  try {
    const parsed: unknown = JSON.parse(value)
    return parsed
  } catch {
    return value
  }
}
