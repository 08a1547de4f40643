import {
  checkedGroupName,
  systemClock,
  systemRandom,
  type Change,
  type ChangeFeedSource,
  type Clock,
  type DocumentBody,
  type LeaseStore,
  type Random,
} from '@tidemark/contracts'
import {
  checkOptions,
  option,
  optionHaving,
  requiredOption,
  type OptionRules,
} from '@tidemark/contracts/internal'
import type { MessageSender } from '@tidemark/messaging'
import type { ChangeFeedProcessorHostOptions, FeedOptions, HostOptions } from '@tidemark/processor'
import { tellingRules, type TellingOptions } from '../workers/relay-host-events.ts'
import type { MapChange } from './change-message.ts'
import type { ForwardEvent } from './forward-events.ts'

/** A sender to a queue or topic, as the job uses it. */
export type ForwardTarget = Pick<
  MessageSender,
  'entityPath' | 'createMessageBatch' | 'sendMessages'
>

export interface ForwardOptions<T extends DocumentBody> extends TellingOptions<ForwardEvent> {
  /** A collection, or any other change feed. */
  readonly feed: ChangeFeedSource<T>
  /** Sender to a queue or topic. Give the entity duplicate detection. The job does not close it. */
  readonly to: ForwardTarget
  readonly leases: LeaseStore
  /** Changes for which it is false are passed over. @default all are forwarded */
  readonly filter?: ((change: Change<T>) => boolean) | undefined
  /**
   * Makes the messages of a change; none: it is passed over.
   * @default one message, whose body is the document: of an expiry or a delete its last version, if the feed has it
   */
  readonly map?: MapChange<T> | undefined
  /**
   * Processor group: workers with the same name share the work and continue where earlier ones stopped.
   * @default `forward-<feed>-<entity>`, by the feed's description and the entity's path
   */
  readonly group?: string | undefined
  /** As for a host. @default machine name, process id and a random part */
  readonly hostName?: string | undefined
  /** Where and what is read. `startFromBeginning` is true unless you say otherwise. */
  readonly feedOptions?: FeedOptions | undefined
  /**
   * `failurePolicy` also decides what becomes of a change that cannot be sent: whose message is too large, or whose `map`
   * throws.
   */
  readonly hostOptions?: HostOptions | undefined
  /** As for a host. @default none */
  readonly deadLetters?: ChangeFeedProcessorHostOptions<T>['deadLetters']
  /** Stops when everything that was in the feed at the start is forwarded. @default false: it continues */
  readonly stopWhenCaughtUp?: boolean | undefined
  /** Stops the job, as `stop()` does. @default none */
  readonly signal?: AbortSignal | undefined
  /** @default the machine's */
  readonly clock?: Clock | undefined
  /** @default the machine's */
  readonly random?: Random | undefined
}

const RULES: OptionRules<ForwardOptions<never>> = {
  ...tellingRules,
  feed: requiredOption(option.feed),
  to: requiredOption(
    optionHaving(
      'a sender, such as broker.createSender(queue)',
      'createMessageBatch',
      'sendMessages',
    ),
  ),
  leases: requiredOption(option.leases),
  filter: option.function,
  map: option.function,
  group: option.text,
  hostName: option.text,
  // Its host looks at these three.
  feedOptions: option.anything,
  hostOptions: option.anything,
  deadLetters: option.anything,
  stopWhenCaughtUp: option.flag,
  signal: option.signal,
  clock: option.clock,
  random: option.random,
}

export interface ResolvedForwardOptions {
  readonly group: string
  readonly clock: Clock
  readonly random: Random
}

/** @throws ERR_INVALID_OPTION naming the option */
export function resolveForwardOptions<T extends DocumentBody>(
  options: ForwardOptions<T>,
): ResolvedForwardOptions {
  checkOptions(options, RULES)
  const { feed, to, clock = systemClock, random = systemRandom } = options
  const group = options.group ?? `forward-${feed.description}-${to.entityPath}`
  return { group: checkedGroupName(group), clock, random }
}
