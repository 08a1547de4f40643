import { type Clock, type Logger } from '@tidemark/contracts'
import { LimitedLog } from '@tidemark/contracts/internal'

/**
 * Once, at the start, unless you give `deletes`: documents that are deleted in the source during the job stay in the
 * target. `isLogKept`: whether the source keeps its log of all versions, which `deletes: 'apply'` needs.
 */
export interface DeletesUnseen {
  readonly kind: 'deletesUnseen'
  readonly source: string
  readonly isLogKept: boolean
}

/** Whether a source keeps a log of all versions; undefined when it does not tell. */
export interface LogKeeper {
  readRecord(): Promise<{ readonly definition: { readonly allVersions: unknown } }>
}

export function keepsRecord(feed: object): feed is LogKeeper {
  return 'readRecord' in feed && typeof feed.readRecord === 'function'
}

export async function isLogKept(source: LogKeeper): Promise<boolean> {
  return (await source.readRecord()).definition.allVersions !== null
}

/** Tells that a job will not see deletes: as an event, and as a line of its log. */
export function tellUnseenDeletes(
  job: string,
  unseen: DeletesUnseen,
  {
    emit,
    logger,
    clock,
  }: {
    readonly emit: (event: DeletesUnseen) => void
    readonly logger: Logger | false | undefined
    readonly clock: Clock
  },
): void {
  emit(unseen)
  if (!logger) return
  const { source } = unseen
  const log = unseen.isLogKept ? '' : 'turn on its log of all versions (allVersions) and '
  const message =
    `${job}: what is deleted in ${source} stays in the target; ` +
    `to follow deletes, ${log}pass deletes: 'apply'`
  const entry = { level: 'warn', event: 'deletesUnseen', message } as const
  new LimitedLog(logger, { clock }).write({ ...entry, fields: { job, source } })
}
