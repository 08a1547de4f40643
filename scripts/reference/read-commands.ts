import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

export interface DescribedCommand {
  /** `leases seek`. */
  readonly name: string
  readonly description: string
  readonly usage: string
  /** It only has commands below it. */
  readonly isGroup: boolean
  /** Of a group: the command that runs if none is given. */
  readonly alone?: string | null | undefined
  readonly arguments: readonly DescribedArgument[]
  readonly options: readonly DescribedOption[]
  readonly exitCodes: readonly number[]
}

interface DescribedArgument {
  readonly name: string
  readonly isRequired: boolean
  readonly isVariadic: boolean
  readonly description: string
  readonly byDefault?: unknown
}

interface DescribedOption {
  readonly flags: string
  readonly description: string
  readonly byDefault?: unknown
  /** Says what the default is where its value differs from machine to machine. */
  readonly defaultText?: string | undefined
  readonly choices?: readonly string[] | undefined
  readonly variable?: string | undefined
  readonly isRequired: boolean
}

export interface DescribedProgram {
  readonly description: string
  readonly commands: readonly DescribedCommand[]
  readonly exitCodes: Readonly<Record<string, number>>
  readonly checkExitCodes: Readonly<Record<string, number>>
}

export interface DescribedCreator {
  readonly options: Readonly<
    Record<string, { readonly short: string; readonly value: string; readonly help: string }>
  >
  readonly byDefault: { readonly folder: string; readonly template: string }
  readonly exitCodes: Readonly<Record<string, number>>
}

/** What commander knows of `tidemark`: from a process, because packages do not publish their commands as modules. */
export function readProgram(root: string): DescribedProgram {
  return described(
    join(root, 'packages/tidemark/src/cli/describe-commands.child.ts'),
  ) as DescribedProgram
}

export function readCreator(root: string): DescribedCreator {
  return described(
    join(root, 'packages/create-tidemark/src/describe-command.child.ts'),
  ) as DescribedCreator
}

function described(file: string): unknown {
  const condition = '--conditions=@tidemark/source'
  // Defaults that come from the environment are not those of the page.
  const env = { PATH: process.env['PATH'] }
  return JSON.parse(execFileSync(process.execPath, [condition, file], { encoding: 'utf8', env }))
}
