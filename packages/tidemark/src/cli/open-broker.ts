import type { Command } from 'commander'
import { openMessaging, type MessageBroker } from '@tidemark/messaging'
import { openStore } from '../open-store.ts'
import { openExistingStore } from './open-existing-store.ts'

/** Where queues and topics are, from the options of a command. */
export interface BrokerOptions {
  readonly store: string
  readonly json?: boolean
}

/** `json` says what `--json` prints. */
export function withBrokerOptions(command: Command, json: string): Command {
  return command
    .requiredOption('--store <store>', 'folder or postgres:// URL of the store')
    .option('--json', json)
}

/**
 * Works on the queues and topics of a database. `creates`: the command may create the store and the database; otherwise a
 * missing one is ERR_INPUT or ERR_NOT_FOUND, because its name may be mistyped.
 */
export async function withBroker<Result>(
  database: string,
  { store: where, creates = false }: BrokerOptions & { readonly creates?: boolean },
  act: (broker: MessageBroker) => Promise<Result>,
): Promise<Result> {
  await using store = creates
    ? await openStore(where)
    : await openExistingStore(where, { maintenance: 'manual' })
  if (creates) await store.createDatabaseIfNotExists(database)
  await using broker = openMessaging(store.database(database))
  return await act(broker)
}
