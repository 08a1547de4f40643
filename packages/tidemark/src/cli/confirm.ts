import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { CommandContext } from './command-context.ts'
import { visible } from './output/visible.ts'

/**
 * Asks the person who watches whether to go on. Undefined when nobody is there to be asked: neither standard input
 * nor the error output may be a file or a pipe for that.
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
