import type { Command } from 'commander'

/** Options of the page, on every command that has it. */
export interface PageFlags {
  readonly environment?: string
  readonly credentialsFile?: string
  readonly leases?: string
}

export const CREDENTIALS_HELP = `The file with credentials has a line for each, "basic user:password" or "bearer
token", and must not be readable for every user of the machine.`

export function addPageFlags(command: Command): Command {
  return command
    .option('--environment <name>', 'badge of the page, such as production')
    .option(
      '--credentials-file <file>',
      'passwords and tokens for the page, lags and metrics; needed on an address other than loopback',
    )
    .option(
      '--leases <where>',
      'redis://host:port or database/collection with leases, beside collections named "leases"',
    )
}
