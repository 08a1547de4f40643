import type { Command } from 'commander'
import { InvalidOptionError } from '@tidemark/contracts'
import { DocumentDeadLetters } from '@tidemark/processor'
import { deadLettersId } from '../open-dead-letters.ts'
import { collectionName, type CollectionName } from './arguments/parse-arguments.ts'
import { existingCollection } from './existing-collection.ts'
import { openExistingStore } from './open-existing-store.ts'

/** Where dead letters are, from the options of a command. */
export interface DeadLetterOptions {
  readonly store: string
  readonly deadLetters?: CollectionName
  readonly group?: string
}

/** Adds the argument and the options for the place of the letters. */
export function withDeadLetterOptions(command: Command): Command {
  return command
    .requiredOption('--store <store>', 'folder or postgres:// URL of the store')
    .option(
      '--dead-letters <collection>',
      'database/collection that has the letters (default: <collection>-deadletters)',
      collectionName,
    )
    .option('--group <name>', 'the processor group (default: the only one that has letters)')
}

/**
 * Works on the dead letters of a collection's groups. `none`: what to do if no host has set a change of the collection
 * aside yet.
 *
 * Rejects with ERR_NOT_FOUND if there is no such collection, or none with its letters and you do not give `none`.
 */
export async function withDeadLetters<Result>(
  followed: CollectionName,
  { store: where, deadLetters }: DeadLetterOptions,
  act: (letters: DocumentDeadLetters) => Promise<Result>,
  none?: () => Promise<Result>,
): Promise<Result> {
  await using store = await openExistingStore(where, { maintenance: 'manual' })
  const { database, collection } = deadLetters ?? {
    database: followed.database,
    collection: deadLettersId(followed.collection),
  }
  if (none !== undefined && deadLetters === undefined) {
    await existingCollection(store, followed)
    const collections = await store.database(database).listCollections()
    if (!collections.some(({ id }) => id === collection)) return await none()
  }
  return await act(new DocumentDeadLetters(store.database(database).collection(collection)))
}

/** The chosen groups. */
export async function chosenGroups(
  letters: DocumentDeadLetters,
  { group }: DeadLetterOptions,
): Promise<readonly string[]> {
  return group === undefined ? letters.listGroups() : [group]
}

/** The chosen group. Rejects with ERR_INVALID_OPTION when the choice is ambiguous. */
export async function chosenGroup(
  letters: DocumentDeadLetters,
  options: DeadLetterOptions,
): Promise<string> {
  const groups = await chosenGroups(letters, options)
  const [only] = groups
  if (only !== undefined && groups.length === 1) return only
  throw new InvalidOptionError(
    groups.length === 0
      ? 'no group has dead letters here'
      : `several groups have dead letters here: choose one with --group: ${groups.join(', ')}`,
  )
}
