import type { HostLogger } from '../host-log.ts'

/** What a host logs to unless it is told otherwise: one line each on the standard error output. */
export const stderrLogger: HostLogger = { warn: writeLine, error: writeLine }

function writeLine(line: string): void {
  process.stderr.write(`${line}\n`)
}
