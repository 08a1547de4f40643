import {
  startGateway,
  type GatewayFailure,
  type RunningGateway,
  type StartGatewayOptions,
} from '@tidemark/gateway'
import type { CommandContext } from '../command-context.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Interruption } from '../interruption.ts'
import { writeJsonLine, writeText } from '../output/json-lines.ts'
import { errorLine, oneLine } from '../output/report-error.ts'

export interface ServeRun {
  readonly gateway: Omit<StartGatewayOptions, 'onFailure'>
  readonly form: 'text' | 'json'
  /** What people are told once it answers. */
  readonly describe: (gateway: RunningGateway) => string
  readonly interruption: Interruption
}

/**
 * Serves a store until SIGINT or SIGTERM, then lets what is being served finish. To be stopped is how a server ends:
 * that is no failure.
 */
export async function serveStore(
  { gateway: options, form, describe, interruption }: ServeRun,
  context: CommandContext,
): Promise<ExitCode> {
  const { signal } = interruption
  const onFailure = (failure: GatewayFailure): void => {
    context.errors.write(`${failureLine(failure)}\n`)
  }
  await using gateway = await startGateway({ ...options, onFailure })
  if (form === 'json') {
    await writeJsonLine(context.output, { endpoint: gateway.endpoint, ready: true })
  } else await writeText(context.output, `${describe(gateway)}\n`)
  if (!signal.aborted) {
    await new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true })
    })
  }
  return EXIT.ok
}

function failureLine({ error, method, path, activityId }: GatewayFailure): string {
  return `${errorLine(error)} (${oneLine(`${method} ${path}, activity ${activityId}`)})`
}
