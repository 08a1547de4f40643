import type { Command } from 'commander'

/** Options of commands that work on an existing store. */
export interface StoreOptions {
  readonly store: string
  readonly json?: boolean
}

/** `json` says what `--json` prints. */
export function withStoreOptions(command: Command, json: string): Command {
  return command
    .requiredOption('--store <store>', 'folder or postgres:// URL of the store')
    .option('--json', json)
}
