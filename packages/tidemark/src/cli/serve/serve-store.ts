import { systemClock } from '@tidemark/contracts'
import {
  startGateway,
  type GatewayFailure,
  type GatewayKeys,
  type RunningGateway,
  type ServedRequest,
  type StartGatewayOptions,
} from '@tidemark/gateway'
import type { CommandContext } from '../command-context.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Interruption } from '../interruption.ts'
import { writeJsonLine, writeText } from '../output/json-lines.ts'
import { errorLine, oneLine } from '../output/report-error.ts'
import { AccessLog } from './access-log.ts'
import { followKeys } from './follow-keys.ts'

export interface ServeRun {
  readonly gateway: Omit<StartGatewayOptions, 'onFailure' | 'onRequest'>
  /** Writes a line for each request. */
  readonly accessLog?: boolean | undefined
  /** Reads keys again that may have changed. Undefined: the keys never change. */
  readonly readKeys?: (() => Promise<GatewayKeys>) | undefined
  readonly form: 'text' | 'json'
  /** The text to print once the gateway is ready. */
  readonly describe: (gateway: RunningGateway) => string
  readonly interruption: Interruption
}

/**
 * Serves a store until SIGINT or SIGTERM, then finishes the requests in progress. To be stopped is the normal end of a
 * server, not a failure.
 */
export async function serveStore(
  { gateway: options, accessLog, readKeys, form, describe, interruption }: ServeRun,
  context: CommandContext,
): Promise<ExitCode> {
  const { signal } = interruption
  const onFailure = (failure: GatewayFailure): void => {
    context.errors.write(`${failureLine(failure)}\n`)
  }
  const log = accessLog === true ? new AccessLog(form, context) : undefined
  const onRequest = log && ((request: ServedRequest) => log.write(request))
  await using gateway = await startGateway({ ...options, onFailure, onRequest })
  if (form === 'json') {
    const { endpoint, address } = gateway
    await writeJsonLine(context.output, { endpoint, address, ready: true })
  } else await writeText(context.output, `${describe(gateway)}\n`)
  const followed = readKeys && {
    read: readKeys,
    replace: (keys: GatewayKeys) => gateway.replaceKeys(keys),
    tell: (line: string) => void context.errors.write(`${line}\n`),
    clock: systemClock,
  }
  const following = followed && followKeys(followed, options.keys, signal)
  await Promise.allSettled([following, aborted(signal)])
  return EXIT.ok
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

function failureLine({ error, method, path, activityId }: GatewayFailure): string {
  return `${errorLine(error)} (${oneLine(`${method} ${path}, activity ${activityId}`)})`
}
