import {
  systemClock,
  type ChangeFeedSource,
  type Clock,
  type DocumentBody,
  type Logger,
} from '@tidemark/contracts'
import { LimitedLog } from '@tidemark/contracts/internal'
import { keepsLog, readLogNow } from './job-source.ts'

/**
 * Once, at the start, unless you give `deletes`: documents that are deleted in the source during the job stay in the
 * target. `isLogKept`: whether the source keeps its log of all versions, which `deletes: 'apply'` needs.
 */
export interface DeletesUnseen {
  readonly kind: 'deletesUnseen'
  readonly source: string
  readonly isLogKept: boolean
}

/** What a job needs to tell about its source. */
export interface JobTelling {
  /** For people, as in "migration orders". */
  readonly job: string
  readonly emit: (event: DeletesUnseen) => void
  readonly logger: Logger | false | undefined
  readonly clock: Clock | undefined
  readonly signal?: AbortSignal | undefined
}

/**
 * Whether a job reads deletes from the log of its source. Tells, as an event and as a line of its log, that it will not see
 * them where the program does not say what it wants.
 *
 * @param byDefault what it does where the log is kept and the program does not say
 */
export async function followsDeletes<T extends DocumentBody>(
  source: ChangeFeedSource<T>,
  {
    deletes,
    byDefault,
  }: {
    readonly deletes: 'apply' | 'ignore' | undefined
    readonly byDefault: 'apply' | 'ignore'
  },
  telling: JobTelling,
): Promise<boolean> {
  const { signal } = telling
  if (deletes === 'apply') await readLogNow(source, { signal })
  if (deletes !== undefined) return deletes === 'apply'
  const isLogKept = await keepsLog(source, { signal })
  if (isLogKept && byDefault === 'apply') return true
  tellUnseenDeletes({ kind: 'deletesUnseen', source: source.description, isLogKept }, telling)
  return false
}

function tellUnseenDeletes(
  unseen: DeletesUnseen,
  { job, emit, logger, clock = systemClock }: JobTelling,
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
