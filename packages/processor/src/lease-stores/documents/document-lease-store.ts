import {
  checkedGroupName,
  errorCode,
  InvalidOptionError,
  LeaseStorageError,
  systemClock,
  systemRandom,
  type Clock,
  type DocumentCollection,
  type LeaseGroup,
  type LeaseStore,
  type OpenGroupOptions,
  type Presence,
  type RequestOptions,
  type Random,
} from '@tidemark/contracts'
import {
  checkOptions,
  option,
  requiredOption,
  type OptionRules,
} from '@tidemark/contracts/internal'
import { DocumentHints, readSeen } from './document-hints.ts'
import { DocumentLeaseGroup } from './document-lease-group.ts'
import { PARTITION_KEY_PATH, REGISTRY_PARTITION } from './lease-documents.ts'
import { leaseStoreError, LeasePartition } from './lease-partition.ts'
import { PkRangeIds } from './pk-range-ids.ts'

/** What an id of 255 characters leaves beside the name of a set and that of a range of usual length. */
const MAX_PREFIX_CHARS = 100
/** Of the usual lease container of Azure's V3 processor. */
const V3_PARTITION_KEY_PATH = '/id'
const V3_HINT =
  '; positions of a .NET or Java processor in this one can be taken over by `tidemark leases import --from-v3`'

export interface DocumentLeaseStoreOptions {
  /**
   * Creates the collection, with `/partitionKey` as its partition key path (LE-14). Called by
   * `openGroup` when the collection is missing; many hosts may call it at once, and ERR_EXISTS is no
   * failure. @default the collection's own `createIfNotExists`, if it has one
   */
  createIfMissing?: ((options: RequestOptions) => Promise<unknown>) | undefined
  /**
   * What ids of lease documents begin with, for tools that look for leases by it: KEDA's scalers for Cosmos DB, and
   * the estimator of Azure's V3 processor. 1 to 100 characters, as in ids. The one of the host that makes the
   * leases counts. With it, hosts also ask the feed for its ranges when they make or take leases, and write the pkrange's
   * id into leases of whole pkranges. A new group is refused with ERR_LEASE_STORAGE where a .NET or Java processor has its
   * leases under this prefix, unless its positions were imported. With a hierarchical partition key the names of ranges may be so long that only 53 fit: making such
   * a lease rejects with ERR_INVALID_OPTION. @default 'lease-'
   */
  leaseIdPrefix?: string | undefined
  /** @default the system's */
  clock?: Clock | undefined
  /** @default the system's */
  random?: Random | undefined
}

const RULES: OptionRules<DocumentLeaseStoreOptions> = {
  createIfMissing: option.function,
  leaseIdPrefix: option.text,
  clock: option.clock,
  random: option.random,
}

/**
 * Leases as documents of any collection, local or remote: no server is needed beside the store.
 *
 * The collection's partition key path is `/partitionKey`; all documents of a group have its name
 * there. Every write is conditional on what was read (LE-3) and repeated when it lost a race.
 * Decisions on time use the store's own clock.
 *
 * @throws ERR_LEASE_STORAGE when the collection has another partition key; ERR_INVALID_OPTION
 */
export class DocumentLeaseStore implements LeaseStore {
  readonly description: string
  readonly #collection: DocumentCollection
  readonly #options: DocumentLeaseStoreOptions
  readonly #leaseIdPrefix: string

  constructor(collection: DocumentCollection, options: DocumentLeaseStoreOptions = {}) {
    checkOptions({ collection }, { collection: requiredOption(option.collection) })
    checkOptions(options, RULES)
    this.#collection = collection
    this.#options = options
    this.#leaseIdPrefix = checkedPrefix(options.leaseIdPrefix ?? 'lease-')
    this.description = `leases in collection ${JSON.stringify(collection.id)}`
  }

  /** A host compares it with the monitored collection's. */
  get collectionIdentity(): string {
    return this.#collection.identity
  }

  get presence(): Presence | undefined {
    return this.#collection.presence
  }

  async openGroup(
    group: string,
    { signal, feed, replacesV3 = false }: OpenGroupOptions = {},
  ): Promise<LeaseGroup> {
    checkedGroupName(group)
    await this.#ensureCollection(signal)
    const partition = this.#partition(group, feed)
    const seen = await partition.retryLostRaces(async () => {
      const view = await partition.readGroup(signal)
      if (view.setVersion === 0 && !replacesV3) await this.#refuseBesideV3(signal)
      // Made here, so that every host knows one generation from the beginning.
      if (view.etag === undefined) {
        await partition.commit([partition.replaceGroup(view, { head: view.head })], signal)
      }
      return readSeen(partition, signal)
    }, signal)
    return new DocumentLeaseGroup(partition, new DocumentHints(partition, seen))
  }

  async listGroups({ signal }: RequestOptions = {}): Promise<readonly string[]> {
    const registry = this.#partition(REGISTRY_PARTITION)
    const { documents } = await registry.retryLostRaces(
      () => this.#collection.readPartition(REGISTRY_PARTITION, { signal }),
      signal,
    )
    const groups: string[] = []
    for (const document of documents) {
      const group = decodeURIComponent(document.id)
      const partition = this.#partition(group)
      const { set } = await partition.retryLostRaces(() => partition.readGroup(signal), signal)
      if (set !== undefined) groups.push(group)
    }
    return groups.sort()
  }

  /**
   * A .NET or Java processor takes documents with its prefix for its own leases: two with one token stop its balancing for
   * good, without an error there. Its mark stays when it is stopped: then its positions can be imported.
   */
  async #refuseBesideV3(signal: AbortSignal | undefined): Promise<void> {
    const { leaseIdPrefix } = this.#options
    if (leaseIdPrefix === undefined) return
    const mark = `${leaseIdPrefix.replace(/\.\.$/, '')}.info`
    const { document } = await this.#collection.read(mark, mark, { signal })
    if (document === undefined) return
    throw new LeaseStorageError(
      `lease collection ${JSON.stringify(this.#collection.id)} has leases of a .NET or Java processor under this ` +
        `leaseIdPrefix (document ${JSON.stringify(mark)}): leases beside them would stop its balancing, and every change ` +
        'would be processed twice. To replace that processor, stop it and import its positions (`tidemark leases import ' +
        '--from-v3`, importV3Leases); else leave out leaseIdPrefix, or give these leases a collection of their own',
    )
  }

  async #ensureCollection(signal?: AbortSignal): Promise<void> {
    const collection = this.#collection
    try {
      // A handle may know its partition key only after it has been used.
      await collection
        .readFeedRanges({ signal })
        .catch((error: unknown) => this.#create(error, signal))
    } catch (error) {
      throw leaseStoreError(error, collection.id, signal)
    }
    const { id, partitionKeyPaths } = collection
    if (partitionKeyPaths.length !== 1 || partitionKeyPaths[0] !== PARTITION_KEY_PATH) {
      throw new LeaseStorageError(
        `lease collection ${JSON.stringify(id)} has the partition key ` +
          `${JSON.stringify(partitionKeyPaths)}; leases need ${JSON.stringify(PARTITION_KEY_PATH)}: make another one` +
          (partitionKeyPaths[0] === V3_PARTITION_KEY_PATH ? V3_HINT : ''),
      )
    }
  }

  /** Makes the missing collection; throws `error` if it is not that, or nobody can make it. */
  async #create(error: unknown, signal?: AbortSignal): Promise<void> {
    const collection = this.#collection
    if (errorCode(error) !== 'ERR_NOT_FOUND') throw error
    const { createIfMissing } = this.#options
    if (createIfMissing !== undefined) await createIfMissing({ signal }).catch(ignoreExisting)
    else if (collection.createIfNotExists === undefined) throw error
    else await collection.createIfNotExists({ partitionKey: PARTITION_KEY_PATH, signal })
    await collection.readFeedRanges({ signal })
  }

  #partition(group: string, feed?: OpenGroupOptions['feed']): LeasePartition {
    const { clock = systemClock, random = systemRandom } = this.#options
    const leaseIdPrefix = this.#leaseIdPrefix
    // Programs that want the ids find leases by a prefix.
    const asked = this.#options.leaseIdPrefix === undefined ? undefined : feed
    const pkRangeIds = new PkRangeIds(asked, clock)
    const collection = this.#collection
    return new LeasePartition(group, { collection, clock, random, leaseIdPrefix, pkRangeIds })
  }
}

function checkedPrefix(prefix: string): string {
  if (typeof prefix === 'string' && prefix.length > MAX_PREFIX_CHARS) {
    throw new InvalidOptionError(
      `leaseIdPrefix has ${prefix.length} characters, ${MAX_PREFIX_CHARS} are allowed: ${JSON.stringify(prefix)}`,
    )
  }
  if (/^[^/\\?#\s]+$/.test(prefix)) return prefix
  throw new InvalidOptionError(
    `leaseIdPrefix must be 1 to ${MAX_PREFIX_CHARS} characters, none of / \\ ? # or a space, got ${JSON.stringify(prefix)}`,
  )
}

function ignoreExisting(error: unknown): void {
  if (errorCode(error) !== 'ERR_EXISTS') throw error
}
