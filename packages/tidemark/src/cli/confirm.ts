import { once } from 'node:events'
import { createInterface } from 'node:readline'
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
