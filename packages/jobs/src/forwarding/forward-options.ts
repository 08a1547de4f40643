import { checkedGroupName, type DocumentBody } from '@tidemark/contracts'
import {
  checkOptions,
  option,
  optionHaving,
  requiredOption,
  type OptionRules,
} from '@tidemark/contracts/internal'
import type { MessageSender } from '@tidemark/messaging'
import type { HostOptions } from '@tidemark/processor'
import { feedJobRules, type FeedJobOptions } from '../workers/job-options.ts'
import type { MapChange } from './change-message.ts'
import type { ForwardEvent } from './forward-events.ts'

/** A sender to a queue or topic, as the job uses it. */
export type ForwardTarget = Pick<
  MessageSender,
  'entityPath' | 'createMessageBatch' | 'sendMessages'
>

export interface ForwardOptions<T extends DocumentBody> extends FeedJobOptions<T, ForwardEvent> {
  /** Sender to a queue or topic. Give the entity duplicate detection. The job does not close it. */
  readonly to: ForwardTarget
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
  /**
   * `failurePolicy` also decides what becomes of a change that cannot be sent: whose message is too large, or whose `map`
   * throws.
   */
  readonly hostOptions?: HostOptions | undefined
}

const RULES: OptionRules<ForwardOptions<never>> = {
  ...feedJobRules,
  to: requiredOption(
    optionHaving(
      'a sender, such as broker.createSender(queue)',
      'createMessageBatch',
      'sendMessages',
    ),
  ),
  map: option.function,
  group: option.text,
}

/** The group of a forwarding. @throws ERR_INVALID_OPTION naming the option */
export function resolveForwardGroup<T extends DocumentBody>(options: ForwardOptions<T>): string {
  checkOptions(options, RULES)
  const { feed, to } = options
  return checkedGroupName(options.group ?? `forward-${feed.description}-${to.entityPath}`)
}
