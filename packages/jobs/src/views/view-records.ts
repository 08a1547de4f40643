import { errorCode, type RequestOptions, type Stored } from '@tidemark/contracts'
import type { Collection, Database } from '@tidemark/store'
import { ViewMismatchError } from './view-mismatch-error.ts'
import {
  VIEWS_COLLECTION,
  stateCollectionId,
  viewCollectionId,
  type DroppedView,
  type ViewEdition,
  type ViewRecord,
} from './view-record.ts'

/** Others change a record a few times in its life. */
const MAX_ATTEMPTS = 50

/** The edition that a worker works on. */
export interface ClaimedEdition {
  readonly edition: ViewEdition
  readonly role: 'current' | 'building'
}

/** The views of a database by name, and what becomes of their editions. */
export class ViewRecords {
  readonly #database: Database
  readonly #records: Collection<ViewRecord | DroppedView>

  constructor(database: Database) {
    this.#database = database
    this.#records = database.collection(VIEWS_COLLECTION)
  }

  /** Undefined where there is no such view, nor a collection of views. */
  async read(name: string, options: RequestOptions = {}): Promise<Stored<ViewRecord> | undefined> {
    return viewOf(await this.#stored(name, options))
  }

  /** In the order of their names. */
  async list(): Promise<readonly Stored<ViewRecord>[]> {
    const records: Stored<ViewRecord>[] = []
    let continuation: string | undefined
    try {
      do {
        const page = await this.#records.readDocuments({ continuation })
        records.push(...page.documents.flatMap((stored) => viewOf(stored) ?? []))
        continuation = page.continuation
      } while (continuation !== undefined)
    } catch (error) {
      if (errorCode(error) !== 'ERR_NOT_FOUND') throw error
    }
    return records.sort((a, b) => (a.id < b.id ? -1 : 1))
  }

  /**
   * The edition for a worker with this definition; made if it is missing. `follows`: of a source that changes, so that
   * another one is built where the present one is of what it was before.
   *
   * Rejects with ERR_VIEW_MISMATCH when the view is kept in another way.
   */
  async claim(
    name: string,
    wanted: Omit<ViewEdition, 'number'>,
    { rebuild, follows }: { readonly rebuild: boolean; readonly follows: boolean },
  ): Promise<ClaimedEdition> {
    await this.#records.createIfNotExists({ partitionKey: '/id' })
    return this.#changed<ClaimedEdition>(name, (record, last) => {
      const number = last + 1
      if (record === undefined) {
        const current = { number, ...wanted }
        const versions = { current, replaced: [], formerVersions: [] }
        const made = { id: name, ...versions, first: number, newest: number }
        return { result: { edition: current, role: 'current' }, record: made }
      }
      const { current, building, replaced, formerVersions } = record
      const isMoved = ({ source }: ViewEdition): boolean => follows && source !== wanted.source
      // Nobody goes on with a build of what the source was before.
      const isLeft = building?.version === wanted.version && isMoved(building)
      const left = isLeft ? { building: undefined, replaced: [...replaced, building] } : undefined
      if (current.version === wanted.version && !rebuild && !isMoved(current)) {
        assertFits(name, current, wanted)
        const result = { edition: current, role: 'current' } as const
        return left === undefined ? { result } : { result, record: { ...record, ...left } }
      }
      if (building?.version === wanted.version && !isLeft) {
        assertFits(name, building, wanted)
        return { result: { edition: building, role: 'building' } }
      }
      if (building !== undefined && !isLeft) {
        throw new ViewMismatchError(
          `view ${name} is being rebuilt as version ${building.version} already; drop that with ` +
            'tidemark views drop --only building, or wait for it',
        )
      }
      if (formerVersions.includes(wanted.version) && !rebuild) {
        throw new ViewMismatchError(
          `version ${wanted.version} of view ${name} has been replaced by version ${current.version}; ` +
            'rebuild: true builds it again',
        )
      }
      const edition = { number, ...wanted }
      return {
        result: { edition, role: 'building' },
        record: { ...record, ...left, building: edition, newest: number },
      }
    })
  }

  /** Readers get this edition from now on. False when it was not being built any more. */
  swap(name: string, edition: ViewEdition): Promise<boolean> {
    return this.#changed(name, (record) => {
      if (record?.building?.number !== edition.number) return { result: false }
      const { current, building, replaced } = record
      const former = record.formerVersions.filter((version) => version !== building.version)
      return {
        result: true,
        record: {
          ...record,
          building: undefined,
          current: building,
          replaced: [...replaced, current],
          formerVersions:
            current.version === building.version
              ? former
              : [...new Set([...former, current.version])],
        },
      }
    })
  }

  /** Deletes the collections of the editions that were replaced, or of the one that is being built. */
  async dropSome(name: string, which: 'replaced' | 'building'): Promise<readonly ViewEdition[]> {
    // First the record: a process that ends here leaves collections, and no record of what is not there.
    const dropped = await this.#changed<readonly ViewEdition[]>(name, (record) => {
      const { building, replaced = [] } = record ?? {}
      const result = which === 'replaced' ? replaced : building ? [building] : []
      if (record === undefined || result.length === 0) return { result }
      const left = which === 'replaced' ? { replaced: [] } : { building: undefined }
      return { result, record: { ...record, ...left } }
    })
    for (const edition of dropped) await this.#deleteCollections(name, edition)
    return dropped
  }

  /** Deletes the view, with all that it remembers. False when there is none. */
  async dropAll(name: string): Promise<boolean> {
    const dropped = await this.#changed(name, (record, newest) => {
      if (record === undefined) return { result: undefined }
      return { result: record, record: { id: name, newest } }
    })
    if (dropped === undefined) return false
    const { current, building, replaced } = dropped
    for (const edition of [current, ...replaced, ...(building ? [building] : [])]) {
      await this.#deleteCollections(name, edition)
    }
    return true
  }

  async #deleteCollections(name: string, edition: ViewEdition): Promise<void> {
    for (const id of [viewCollectionId(name, edition), stateCollectionId(name, edition)]) {
      try {
        await this.#database.deleteCollection(id)
      } catch (error) {
        if (errorCode(error) !== 'ERR_NOT_FOUND') throw error
      }
    }
  }

  async #stored(
    name: string,
    options: RequestOptions = {},
  ): Promise<Stored<ViewRecord | DroppedView> | undefined> {
    try {
      return (await this.#records.read(name, name, options)).document
    } catch (error) {
      if (errorCode(error) === 'ERR_NOT_FOUND') return undefined
      throw error
    }
  }

  /** Reads a record, decides, and writes what was decided unless another process was first; then again. */
  async #changed<Result>(
    name: string,
    decide: (
      record: Stored<ViewRecord> | undefined,
      newest: number,
    ) => {
      readonly result: Result
      readonly record?: ViewRecord | DroppedView
    },
  ): Promise<Result> {
    for (let attempt = 1; ; attempt += 1) {
      const present = await this.#stored(name)
      const { result, record } = decide(viewOf(present), present?.newest ?? 0)
      if (record === undefined) return result
      try {
        if (present === undefined) await this.#records.create(record)
        else await this.#records.replace(record, { ifMatch: present._etag })
        return result
      } catch (error) {
        if (!isOvertaken(error) || attempt >= MAX_ATTEMPTS) throw error
      }
    }
  }
}

function viewOf(
  stored: Stored<ViewRecord | DroppedView> | undefined,
): Stored<ViewRecord> | undefined {
  return stored !== undefined && 'current' in stored ? stored : undefined
}

function assertFits(name: string, present: ViewEdition, wanted: Omit<ViewEdition, 'number'>): void {
  const { version } = present
  if (present.source !== wanted.source) {
    throw new ViewMismatchError(
      `version ${version} of view ${name} is of source ${present.source}, not of ${wanted.source}; ` +
        'give another version to build it from there',
    )
  }
  if (present.folds !== wanted.folds) {
    throw new ViewMismatchError(
      `version ${version} of view ${name} has the folds ${present.folds}, not ${wanted.folds}; ` +
        'give another version to build it anew',
    )
  }
}

function isOvertaken(error: unknown): boolean {
  const code = errorCode(error)
  return code === 'ERR_EXISTS' || code === 'ERR_PRECONDITION_FAILED' || code === 'ERR_NOT_FOUND'
}
