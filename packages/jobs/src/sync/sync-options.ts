import {
  InvalidOptionError,
  checkedGroupName,
  systemClock,
  systemRandom,
  type Clock,
  type DocumentBody,
  type Random,
} from '@tidemark/contracts'
import {
  checkOptions,
  option,
  optionOf,
  optionRule,
  requiredOption,
  type OptionRules,
} from '@tidemark/contracts/internal'
import type { HostOptions } from '@tidemark/processor'
import { feedJobRules, type FeedJobOptions } from '../workers/job-options.ts'
import type { SinkEntry } from './sink-entry.ts'
import type { Sink } from './sink.ts'
import type { SyncEvent } from './sync-events.ts'

export interface SyncOptions<T extends DocumentBody> extends FeedJobOptions<T, SyncEvent> {
  /** A ready one, one of your own, or its `write` alone: an async function. The job does not close what is behind it. */
  readonly sink: Sink<SinkEntry<NoInfer<T>>> | Sink<SinkEntry<NoInfer<T>>>['write']
  /** Processor group: workers with the same name share the work and continue where earlier ones stopped. */
  readonly group: string
  /**
   * How deletes get to the sink, when the feed is read in its latest versions, which tell of expiry only. `apply`: a second
   * group, `<group>/deletes`, reads them from the log of all versions, which the collection must keep for longer than the
   * job may be interrupted. Needs a sink that orders versions, because a delete and a later version may come in any order.
   * `ignore`: what is deleted stays in the sink. With `feedOptions: { mode: 'allVersions' }` deletes come in order by
   * themselves.
   *
   * @default 'ignore', and the event `deletesUnseen` at the start, or a line of the logger without `onEvent`
   */
  readonly deletes?: 'apply' | 'ignore' | undefined
  /**
   * `failurePolicy` decides what becomes of a change that the sink refuses. With `deadLetter` and `haltRange` a sink that does
   * not answer is tried again within the call, for half of `maxBatchMs`, before that counts as a failed attempt.
   */
  readonly hostOptions?: HostOptions | undefined
}

const RULES: OptionRules<SyncOptions<never>> = {
  ...feedJobRules,
  sink: requiredOption(
    optionRule('a sink: an object with a function write(batch, context), or that function', isSink),
  ),
  group: requiredOption(option.text),
  deletes: optionOf('apply', 'ignore'),
}

const DEFAULT_MAX_BATCH_MS = 600_000

export interface ResolvedSyncOptions<T extends DocumentBody> {
  readonly group: string
  readonly deletesGroup: string
  readonly sink: Sink<SinkEntry<T>>
  /** How long a call waits for a sink that does not answer before it fails. */
  readonly patienceMs: number
  /** The longest that a call waits because a sink asked for it. */
  readonly longestWaitMs: number
  readonly clock: Clock
  readonly random: Random
}

/** @throws ERR_INVALID_OPTION naming the option */
export function resolveSyncOptions<T extends DocumentBody>(
  options: SyncOptions<T>,
): ResolvedSyncOptions<T> {
  checkOptions(options, RULES)
  const { feedOptions, hostOptions, clock = systemClock, random = systemRandom } = options
  const sink = typeof options.sink === 'function' ? { write: options.sink } : options.sink
  if (options.deletes === 'apply' && feedOptions?.mode === 'allVersions') {
    throw new InvalidOptionError(
      `deletes: 'apply' is for feeds of latest versions; with feedOptions.mode 'allVersions' deletes come by themselves`,
    )
  }
  if (options.deletes === 'apply' && sink.ordersVersions !== true) {
    throw new InvalidOptionError(
      `deletes: 'apply' needs a sink that orders versions (ordersVersions: true); ` +
        `with feedOptions: { mode: 'allVersions' } deletes come in order`,
    )
  }
  const { failurePolicy = 'retryForever', maxBatchMs = DEFAULT_MAX_BATCH_MS } = hostOptions ?? {}
  const mode = typeof failurePolicy === 'string' ? failurePolicy : failurePolicy.mode
  const longestWaitMs = Math.min(maxBatchMs, DEFAULT_MAX_BATCH_MS) / 2
  return {
    group: checkedGroupName(options.group),
    deletesGroup: checkedGroupName(`${options.group}/deletes`),
    sink,
    patienceMs: mode === 'retryForever' ? 0 : longestWaitMs,
    longestWaitMs,
    clock,
    random,
  }
}

function isSink(value: unknown): boolean {
  if (typeof value === 'function') return true
  return (
    typeof value === 'object' && value !== null && typeof Reflect.get(value, 'write') === 'function'
  )
}
