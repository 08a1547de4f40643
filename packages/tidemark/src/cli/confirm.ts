import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'
import { visible } from './output/visible.ts'

/**
 * Asks the user whether to continue. Undefined when there is no one to ask: both the standard input and the error
 * output must be a terminal.
 */
export async function confirm(
  { input, errors, interactive }: CommandContext,
  question: string,
): Promise<boolean | undefined> {
  const isTerminal: unknown = Reflect.get(input, 'isTTY')
  if (!interactive || isTerminal !== true) return undefined
  const lines = createInterface({ input, output: errors })
  try {
    const answered = once(lines, 'line').then(([line]: unknown[]) => String(line))
    const closed = once(lines, 'close').then(() => '')
    errors.write(`${visible(question)} [y/N] `)
    return /^y(es)?$/i.test((await Promise.race([answered, closed])).trim())
  } finally {
    lines.close()
  }
}

/** False: the user has said no. Without a terminal and `--yes`, the command ends as wrong use. */
export async function isConfirmed(
  what: string,
  {
    yes,
    context,
    action,
  }: {
    readonly yes: boolean | undefined
    readonly context: CommandContext
    readonly action: Command
  },
): Promise<boolean> {
  const answer = yes ?? (await confirm(context, `${what}. Continue?`))
  return answer ?? action.error(`error: ${what}; confirm with --yes\n`)
}
