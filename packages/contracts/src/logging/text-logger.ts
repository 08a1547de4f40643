import { logText } from './log-text.ts'
import { LOG_LEVELS, type LogFields, type Logger, type LogLevel } from './logger.ts'

/**
 * A logger whose lines are texts for people: `tidemark: host worker-1, group mirror: lost lease …`. The message says what the
 * other fields do.
 *
 * @param level the least urgent that is written. @default 'warn'
 */
export function textLogger(
  write: (line: string, level: LogLevel) => void,
  level: LogLevel = 'warn',
): Logger {
  const at = (own: LogLevel) =>
    LOG_LEVELS.indexOf(own) < LOG_LEVELS.indexOf(level)
      ? () => {}
      : (fields: LogFields, message: string) => write(lineOf(fields, message), own)
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

function lineOf(fields: LogFields, message: string): string {
  const who = ['host', 'group'].flatMap((name) => {
    const value = fields[name]
    return typeof value === 'string' ? [`${name} ${value}`] : []
  })
  return logText(`tidemark: ${who.length === 0 ? '' : `${who.join(', ')}: `}${message}`)
}
