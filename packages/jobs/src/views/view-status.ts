import {
  ResourceNotFoundError,
  systemClock,
  type Clock,
  type DocumentBody,
  type LeaseStore,
  type RequestOptions,
} from '@tidemark/contracts'
import {
  checkOptions,
  option,
  requiredOption,
  type OptionRules,
} from '@tidemark/contracts/internal'
import type { Database } from '@tidemark/store'
import { WatchedGroups } from '../workers/job-groups.ts'
import { databaseRule } from '../workers/job-options.ts'
import { openViewStorage } from './open-view-storage.ts'
import { checkedViewName, defaultViewGroup, viewGroups } from './view-options.ts'
import { readViewProgress, type ViewProgress } from './view-progress.ts'
import { feedOfSource, viewSourceRule, type ViewSource } from './view-source.ts'
import { ViewRecords } from './view-records.ts'

export interface ViewStatusOptions<T extends DocumentBody> {
  readonly source: ViewSource<T>
  /** That of the view. */
  readonly database: Database
  /** The view's name. */
  readonly id: string
  readonly leases: LeaseStore
  /** As the workers have it. @default 'view-<database>/<id>' */
  readonly group?: string | undefined
  /** @default the machine's */
  readonly clock?: Clock | undefined
}

const RULES: OptionRules<ViewStatusOptions<never>> = {
  source: requiredOption(viewSourceRule),
  database: databaseRule,
  id: requiredOption(option.text),
  leases: requiredOption(option.leases),
  group: option.text,
  clock: option.clock,
}

/**
 * The progress of a view that other processes keep: of the edition that readers get, and of the one that is being built.
 * Rejects with ERR_NOT_FOUND when there is no such view.
 */
export async function readViewStatus<T extends DocumentBody>(
  options: ViewStatusOptions<T> & RequestOptions,
): Promise<{ readonly current: ViewProgress; readonly building: ViewProgress | undefined }> {
  const { signal, ...watched } = options
  checkOptions(watched, RULES)
  const { database, id, leases, clock = systemClock } = watched
  const name = checkedViewName(id)
  const record = await new ViewRecords(database).read(name, { signal })
  if (record === undefined) throw new ResourceNotFoundError('view', id)
  const source = await feedOfSource(watched.source, { signal })
  const progressOf = async (edition: typeof record.current): Promise<ViewProgress> => {
    const storage = await openViewStorage(database, name, edition)
    const group = options.group ?? defaultViewGroup(database, name)
    const watch = (followsLog: boolean): WatchedGroups<T> => {
      const groups = viewGroups(group, edition.number, { followsLog })
      return new WatchedGroups({ source, leases, clock, note: storage.note }, groups)
    }
    await using all = watch(true)
    const { deletes } = await all.lag({ signal })
    // Without leases there is no group for deletes.
    await using groups = watch(deletes !== undefined)
    return await readViewProgress({ name, edition, storage, groups }, { signal })
  }
  const { current, building } = record
  return {
    current: await progressOf(current),
    building: building && (await progressOf(building)),
  }
}

/** A view of a database, as it is listed. */
export interface ListedView {
  readonly id: string
  /** What readers get. */
  readonly version: string
  readonly edition: number
  /** What the view is made of. */
  readonly folds: string
  readonly source: string
  /** The version that is being built. */
  readonly building: string | undefined
  /** Editions that were replaced, and whose collections are still there. */
  readonly replaced: readonly number[]
}

/** The views of a database, by name. */
export async function listViews(database: Database): Promise<readonly ListedView[]> {
  const records = await new ViewRecords(database).list()
  return records.map(({ id, current, building, replaced }) => ({
    id,
    version: current.version,
    edition: current.number,
    folds: current.folds,
    source: current.source,
    building: building?.version,
    replaced: replaced.map(({ number }) => number),
  }))
}

/**
 * Deletes a view with everything that it remembers; with `only`, what has been `replaced`, or what is being built. Workers of what
 * is gone end. False when there was nothing.
 */
export async function dropView(
  database: Database,
  id: string,
  { only }: { readonly only?: 'replaced' | 'building' | undefined } = {},
): Promise<boolean> {
  const records = new ViewRecords(database)
  const name = checkedViewName(id)
  return only === undefined
    ? records.dropAll(name)
    : (await records.dropSome(name, only)).length > 0
}
