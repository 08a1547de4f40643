import {
  errorCode,
  type Clock,
  type DurabilityLevel,
  type HostSummary,
  type LeaseGroup,
  type LeaseGroupSnapshot,
  type LeaseStore,
} from '@tidemark/contracts'
import { DocumentLeaseStore } from '@tidemark/processor'
import type { Collection, Store } from '@tidemark/store'
import {
  collectionsByRid,
  followedCollection,
  followedIn,
  type NamedCollection,
} from '../../inspection/followed-collections.ts'
import { problemOf } from '../requests/error-answer.ts'
import { notFound } from '../requests/refusal.ts'
import type { GroupRef, Problem } from '../views.ts'

/** How long what a lease store said of its durability counts: it costs several calls, and changes with a configuration. */
const DURABILITY_MS = 60_000

/** Collections with this name hold leases. */
export const LEASES_ID = 'leases'

export interface ListedGroups {
  readonly groups: readonly GroupRef[]
  /** Of places that could not be looked at. */
  readonly problems: readonly Problem[]
}

/** A group at one instant, with what it follows. */
export interface ReadGroup {
  readonly ref: GroupRef
  readonly leases: LeaseStore
  readonly group: LeaseGroup
  readonly snapshot: LeaseGroupSnapshot
  /** What its hosts told of their work. */
  readonly summaries: readonly HostSummary[]
  /** Undefined when it is not in this store. */
  readonly followed: NamedCollection | undefined
}

/** The processor groups with leases in the store, and in the lease store beside it. Keeps those open that were looked at. */
export class Groups {
  readonly #store: Store
  readonly #given: LeaseStore | undefined
  readonly #inStore = new Map<string, { readonly rid: string; readonly leases: LeaseStore }>()
  readonly #opened = new Map<string, Promise<LeaseGroup>>()
  readonly #clock: Clock
  readonly #durability = new Map<string, { untilMs: number; level: DurabilityLevel | undefined }>()

  constructor(store: Store, given: LeaseStore | undefined, clock: Clock) {
    this.#store = store
    this.#given = given
    this.#clock = clock
  }

  async list(): Promise<ListedGroups> {
    const groups: GroupRef[] = []
    const problems: Problem[] = []
    for (const [place, leases] of await this.#places()) {
      try {
        for (const group of await leases.listGroups()) groups.push({ leases: place, group })
      } catch (error) {
        problems.push(problemOf(error))
      }
    }
    return { groups, problems }
  }

  /** Rejects with ERR_NOT_FOUND when there is no such group, and as its lease store does. */
  async read(ref: GroupRef): Promise<ReadGroup> {
    const leases = await this.leasesOf(ref)
    const key = JSON.stringify([ref.leases, ref.group])
    const opening = this.#opened.get(key) ?? this.#open(ref, leases)
    this.#opened.set(key, opening)
    try {
      const group = await opening
      const [snapshot, summaries = []] = await Promise.all([group.read(), group.readSummaries?.()])
      const collections = await collectionsByRid(this.#store)
      const followed = followedCollection(collections, followedIn(snapshot))
      return { ref, leases, group, snapshot, summaries, followed }
    } catch (error) {
      this.#opened.delete(key)
      await close(opening)
      throw error
    }
  }

  /** Rejects with ERR_NOT_FOUND when there is no such place. */
  async leasesOf({ leases }: GroupRef): Promise<LeaseStore> {
    const found = (await this.#places()).get(leases)
    if (found === undefined) throw notFound(`there are no leases at ${leases}`)
    return found
  }

  /** Undefined where the lease store has nothing to tell, or may not. */
  async durabilityOf({ ref, leases }: ReadGroup): Promise<DurabilityLevel | undefined> {
    const known = this.#durability.get(ref.leases)
    const nowMs = this.#clock.monotonicMs()
    if (known !== undefined && nowMs < known.untilMs) return known.level
    const read = await leases.readDurability?.().catch(() => undefined)
    this.#durability.set(ref.leases, { untilMs: nowMs + DURABILITY_MS, level: read?.level })
    return read?.level
  }

  async close(): Promise<void> {
    const opened = [...this.#opened.values()]
    this.#opened.clear()
    await Promise.all(opened.map(close))
  }

  async #open({ group }: GroupRef, leases: LeaseStore): Promise<LeaseGroup> {
    // To open a missing group would create it.
    if ((await leases.listGroups()).includes(group)) return leases.openGroup(group)
    throw notFound(`there is no group ${JSON.stringify(group)} with leases there`)
  }

  async #places(): Promise<ReadonlyMap<string, LeaseStore>> {
    const places = new Map<string, LeaseStore>()
    if (this.#given !== undefined) places.set(this.#given.description, this.#given)
    for (const { databaseId, record } of await this.#store.listCollections()) {
      if (record.id !== LEASES_ID) continue
      const place = `${databaseId}/${record.id}`
      const collection = this.#store.database(databaseId).collection(record.id)
      places.set(place, this.#leasesIn(place, record.rid, collection))
    }
    return places
  }

  #leasesIn(place: string, rid: string, collection: Collection): LeaseStore {
    const known = this.#inStore.get(place)
    if (known?.rid === rid) return known.leases
    const leases = new DocumentLeaseStore(collection)
    this.#inStore.set(place, { rid, leases })
    return leases
  }
}

async function close(opening: Promise<LeaseGroup>): Promise<void> {
  try {
    await (await opening).close()
  } catch (error) {
    // One that could not be opened holds nothing; one whose store is away cannot be closed better.
    if (errorCode(error) === undefined) throw error
  }
}
