import type { Logger } from '../logging/logger.ts'
import { textLogger } from '../logging/text-logger.ts'

/** Warnings and errors, one line each on the standard error output. */
export const stderrLogger: Logger = textLogger((line) => void process.stderr.write(`${line}\n`))
