import { checkedGroupName, type DocumentBody } from '@tidemark/contracts'
import { checkOptions, option, optionOf, type OptionRules } from '@tidemark/contracts/internal'
import type { Collection } from '@tidemark/store'
import { sinkRule, type Sink } from '../sync/sink.ts'
import {
  collectionRule,
  jobRules,
  resolvePageItems,
  type JobOptions,
} from '../workers/job-options.ts'
import type { ArchiveEvent } from './archive-events.ts'
import type { ArchivedDocument } from './archived-document.ts'

export interface ArchiveOptions<T extends DocumentBody> extends JobOptions<ArchiveEvent> {
  /** The collection whose expired documents are archived. Its TTL should be on. */
  readonly source: Collection<T>
  readonly sink: Sink<ArchivedDocument<NoInfer<T>>>
  /**
   * Processor group: archives with the same name share the work and continue where earlier ones stopped, and purges
   * wait for it. @default `archive-<database>.<collection>`
   */
  readonly group?: string | undefined
  /** Maximum number of changes of one read, and so of a batch of the sink. @range 1 or more @default 1_000 */
  readonly maxItemCount?: number | undefined
  /**
   * If documents were purged before they were archived, because purges did not wait for the group: `fail` halts their
   * range, `resync` continues with the rest. Both emit `missed`. @default 'fail'
   */
  readonly onHorizonPassed?: 'fail' | 'resync' | undefined
  /** Stops when everything that was in the feed at the start is archived. @default false: it continues */
  readonly stopWhenCaughtUp?: boolean | undefined
}

const RULES: OptionRules<ArchiveOptions<never>> = {
  ...jobRules,
  source: collectionRule,
  sink: sinkRule,
  group: option.text,
  maxItemCount: option.number,
  onHorizonPassed: optionOf('fail', 'resync'),
  stopWhenCaughtUp: option.flag,
}

export interface ResolvedArchiveOptions {
  readonly group: string
  readonly maxItemCount: number
}

/** @throws ERR_INVALID_OPTION naming the option */
export function resolveArchiveOptions<T extends DocumentBody>(
  options: ArchiveOptions<T>,
): ResolvedArchiveOptions {
  checkOptions(options, RULES)
  const group = checkedGroupName(options.group ?? archiveGroup(options.source))
  return { group, maxItemCount: resolvePageItems(options.maxItemCount) }
}

/** The group that an archive of a collection has unless it is named. */
export function archiveGroup({
  databaseId,
  id,
}: {
  readonly databaseId: string
  readonly id: string
}): string {
  return `archive-${databaseId}.${id}`
}
