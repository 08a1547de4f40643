import type { Command } from 'commander'
import { InvalidOptionError, type LeaseStore } from '@tidemark/contracts'
import { ProcessorGroup } from '@tidemark/processor'
import type { Store } from '@tidemark/store'
import {
  collectionsByRid,
  followedCollection,
  followedIn,
  namesakeOf,
  type Followed,
  type NamedCollection,
} from '../inspection/followed-collections.ts'
import { leaseLocations, openLeases } from './lease-location.ts'
import { openExistingStore } from './open-existing-store.ts'

/** Where leases are, from the options of a command. */
export interface LeaseOptions {
  readonly store?: string
  readonly leases?: string
}

/** The group of a command. */
export interface GroupOptions extends LeaseOptions {
  readonly group: string
}

/** A group that was found, with what it follows. */
export interface FoundGroup {
  readonly group: ProcessorGroup
  readonly store: Store | undefined
  readonly follows: Followed
  /** The one that has its name now, if it was dropped. Undefined when neither is in the given store. */
  readonly followed: NamedCollection | undefined
}

const LEASES_HELP =
  'redis://host:port, or database/collection (default: collections named "leases" of the store)'

/** Adds `--store`, `--leases` and a check that one of them is given. */
export function withLeaseOptions(command: Command): Command {
  return command
    .option('--store <store>', 'folder or postgres:// URL of the store that the group follows')
    .option('--leases <where>', LEASES_HELP)
    .hook('preAction', (_, action) => {
      const { store, leases }: LeaseOptions = action.opts()
      if (store === undefined && leases === undefined) {
        action.error('error: give --store or --leases\n')
      }
    })
}

/** Adds `--group` too. */
export function withGroupOptions(command: Command): Command {
  return withLeaseOptions(command.requiredOption('--group <name>', 'the processor group'))
}

/**
 * Finds a group and works on it. `continuations`: of what the group follows, if it has no leases to show that.
 *
 * Rejects with ERR_INVALID_OPTION when the group is missing, or in several places.
 */
export async function withGroup<Result>(
  options: GroupOptions & { readonly continuations?: readonly string[] | undefined },
  act: (found: FoundGroup) => Promise<Result>,
): Promise<Result> {
  await using store =
    options.store === undefined
      ? undefined
      : await openExistingStore(options.store, { maintenance: 'manual' })
  const location = await locationOf(options, store)
  await using leases = await openLeases(location, { store, missing: 'fail' })
  const { continuations } = options
  const noted = await followedBy(leases.store, options.group)
  const follows = continuations === undefined ? noted : { ...noted, continuations }
  const collections =
    store === undefined ? new Map<string, NamedCollection>() : await collectionsByRid(store)
  const followed = followedCollection(collections, follows) ?? namesakeOf(collections, follows)
  await using group = new ProcessorGroup({
    leases: leases.store,
    group: options.group,
    feed: followed?.collection,
  })
  return await act({ group, store, follows, followed })
}

/** The only place with leases of the group. To get its first leases, a group needs an explicit place. */
async function locationOf(
  options: GroupOptions & { readonly continuations?: readonly string[] | undefined },
  store: Store | undefined,
): Promise<string> {
  const locations = await leaseLocations(options.leases, store)
  const found: string[] = []
  const groups: string[] = []
  for (const location of locations) {
    await using leases = await openLeases(location, { store, missing: 'fail' })
    const names = await leases.store.listGroups()
    groups.push(...names)
    if (names.includes(options.group)) found.push(location)
  }
  const [first, second] = found
  const shown = JSON.stringify(options.group)
  if (second !== undefined) {
    throw new InvalidOptionError(
      `there are groups ${shown} in ${found.join(' and ')}; choose one with --leases`,
    )
  }
  if (first !== undefined) return first
  if (options.continuations !== undefined && options.leases !== undefined) return options.leases
  const others = groups.length === 0 ? 'there are none' : `there are ${groups.sort().join(', ')}`
  throw new InvalidOptionError(`there is no group ${shown} with leases; ${others}`)
}

/** What a group follows, which exists: to open a missing one would create it. */
export async function followedBy(leases: LeaseStore, group: string): Promise<Followed> {
  const opened = await leases.openGroup(group)
  try {
    return followedIn(await opened.read())
  } finally {
    await opened.close()
  }
}
