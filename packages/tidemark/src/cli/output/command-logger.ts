import { Option, type Command } from 'commander'
import { errorCode, systemClock, textLogger, type Logger, type LogLevel } from '@tidemark/contracts'
import { describeError, LimitedLog, LOG_LEVELS } from '@tidemark/contracts/internal'
import { loadPino } from '../../platform/optional-packages.ts'
import type { CommandContext } from '../command-context.ts'

/** Options of commands that run until they are ended. */
export interface LogFlags {
  readonly logLevel?: LogLevel | 'silent'
  readonly logJson?: boolean
}

export function addLogFlags(command: Command): Command {
  return command
    .optionsGroup('Log, on the error output:')
    .addOption(
      new Option('--log-level <level>', 'the least urgent lines (default: info)').choices([
        ...LOG_LEVELS,
        'silent',
      ]),
    )
    .option('--log-json', 'write JSON lines, as pino does')
}

/** The logger that these flags ask for; undefined without any of them. */
export async function chosenLogger(
  flags: LogFlags,
  context: CommandContext,
): Promise<Logger | undefined> {
  const { logLevel, logJson } = flags
  return logLevel === undefined && logJson === undefined ? undefined : commandLogger(flags, context)
}

export async function commandLogger(
  { logLevel: level = 'info', logJson }: LogFlags,
  { errors }: CommandContext,
): Promise<Logger> {
  if (logJson !== true) {
    const write = level === 'silent' ? () => {} : (line: string) => void errors.write(`${line}\n`)
    return textLogger(write, level === 'silent' ? 'error' : level)
  }
  const { pino } = await loadPino()
  const logger: Logger = pino({ level }, errors)
  return logger
}

/** Tells a logger what failed in a server, and where. */
export function failureReporter(logger: Logger): (error: unknown, place?: string) => void {
  const log = new LimitedLog(logger, { clock: systemClock })
  return (error, place = 'a request') => {
    const code = errorCode(error)
    const message = `${describeError(error)} (${place})`
    const fields = { place, ...(code !== undefined && { code }) }
    log.write({ level: 'error', event: 'requestFailed', kind: code, message, fields })
  }
}
