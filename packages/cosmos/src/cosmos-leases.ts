import {
  LeaseStorageError,
  errorCode,
  type Clock,
  type LeaseStore,
  type Random,
  type RequestOptions,
} from '@tidemark/contracts'
import { checkOptions, option, type OptionRules } from '@tidemark/contracts/internal'
import { DocumentLeaseStore } from '@tidemark/processor'
import type { CosmosContainer } from './cosmos-container.ts'
import { cosmosDocuments } from './documents/cosmos-documents.ts'

const PARTITION_KEY = '/partitionKey'

export interface CosmosLeasesOptions {
  /**
   * What ids of lease documents begin with, for programs that look for V3's leases by it: see `readCosmosLeasePrefix`.
   * @default 'lease-'
   */
  readonly leaseIdPrefix?: string | undefined
  /** Makes the container, and its database, if they are missing. @default true */
  readonly createIfMissing?: boolean | undefined
  /** @default the system's */
  readonly clock?: Clock | undefined
  /** @default the system's */
  readonly random?: Random | undefined
}

const RULES: OptionRules<CosmosLeasesOptions> = {
  leaseIdPrefix: option.text,
  createIfMissing: option.flag,
  clock: option.clock,
  random: option.random,
}

/**
 * Leases as documents of a container of Azure Cosmos DB, beside their own properties in the form of Azure's V3 processor.
 * The container has the partition key path `/partitionKey`: all of a group is under one value, so that its leases change in
 * one transaction. One of .NET or Java has `/id`, as a rule, and is refused with ERR_LEASE_STORAGE.
 *
 * @throws ERR_INVALID_OPTION
 */
export function cosmosLeases(
  container: CosmosContainer,
  options: CosmosLeasesOptions = {},
): LeaseStore {
  checkOptions(options, RULES)
  const { createIfMissing = true, ...rest } = options
  const documents = cosmosDocuments(container)
  const make = ({ signal }: RequestOptions) =>
    documents.createIfNotExists?.({ partitionKey: PARTITION_KEY, signal })
  return new DocumentLeaseStore(documents, {
    ...rest,
    createIfMissing: async (given) => {
      const hint = `make container ${JSON.stringify(container.id)} with the partition key path ${PARTITION_KEY}`
      if (!createIfMissing) throw new LeaseStorageError(`there is no lease container: ${hint}`)
      await make(given)?.catch((cause: unknown) => {
        // With Entra ID, rights on data do not include making containers.
        if (!REFUSALS.has(errorCode(cause) ?? '')) throw cause
        throw new LeaseStorageError(
          `there is no lease container, and these credentials may not make one: ${hint}`,
          { cause },
        )
      })
    },
  })
}

const REFUSALS: ReadonlySet<string> = new Set(['ERR_FORBIDDEN', 'ERR_UNAUTHORIZED'])
