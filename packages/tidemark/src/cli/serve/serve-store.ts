import { systemClock, type Logger } from '@tidemark/contracts'
import { isLoopbackAddress } from '@tidemark/contracts/internal'
import type { ServedRequest, StartGatewayOptions } from '@tidemark/gateway'
import type { Store } from '@tidemark/store'
import { accessRule, type AccessRule, type Credentials } from '../../dashboard/access.ts'
import { problemAnswer } from '../../dashboard/problem-answer.ts'
import type { CommandContext } from '../command-context.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Interruption } from '../interruption.ts'
import { failureReporter } from '../output/command-logger.ts'
import { writeJsonLine, writeText } from '../output/json-lines.ts'
import { AccessLog } from './access-log.ts'
import { firstOf, type Beside } from './beside.ts'
import { readyLine } from './describe-fronts.ts'
import { followKeys } from './follow-keys.ts'
import { groupLag } from './group-lag.ts'
import { metricsRoute } from './metrics.ts'
import { probes } from './probes.ts'
import type { ServedKeys } from './served-keys.ts'
import {
  startFronts,
  type FrontsOptions,
  type QueueFronts,
  type RunningFronts,
} from './start-fronts.ts'

export interface ServeRun extends Omit<FrontsOptions, 'gateway' | 'queues'> {
  readonly store: Store
  /** Undefined: without an HTTP gateway. */
  readonly gateway: Partial<StartGatewayOptions> | undefined
  /** Undefined: without fronts for queues. */
  readonly queues: Omit<QueueFronts, 'onFailure'> | undefined
  /** Writes a line for each request of the gateway. */
  readonly accessLog?: boolean | undefined
  readonly logger: Logger
  /** Reads keys again that may have changed. Undefined: the keys never change. */
  readonly readKeys?: (() => Promise<ServedKeys>) | undefined
  readonly form: 'text' | 'json'
  /** Who may ask for more than probes. @default everybody on loopback, else nobody */
  readonly credentials?: Credentials | undefined
  /** Place of leases, beside collections named "leases". @default none */
  readonly leases?: string | undefined
  /** Asked after those of the command itself, on the gateway's port. @default none */
  readonly beside?: readonly Beside[] | undefined
  /** The page is one of `beside`: its address is told. @default false */
  readonly hasPage?: boolean | undefined
  /** The text to print once the fronts are ready. */
  readonly describe: (fronts: RunningFronts) => string
  readonly interruption: Interruption
}

/**
 * Serves a store until SIGINT or SIGTERM, then finishes what is in progress. To be stopped is the normal end of a server, not a
 * failure.
 */
export async function serveStore(run: ServeRun, context: CommandContext): Promise<ExitCode> {
  const { store, keys, accessLog, logger, readKeys, form, beside, ...others } = run
  const { describe, interruption, hasPage = false, credentials, leases, ...options } = others
  const { signal } = interruption
  const log = accessLog === true ? new AccessLog(form, context) : undefined
  const access = accessTo(run.host, credentials)
  const onFailure = failureReporter(logger)
  const broker = options.queues?.broker
  const measured = { store, leases, broker, access, clock: systemClock, onFailure }
  await using metrics = metricsRoute(measured)
  const onRequest = (request: ServedRequest): void => {
    log?.write(request)
    metrics.onRequest(request)
  }
  await using fronts = await startFronts({
    ...options,
    keys,
    gateway: options.gateway && {
      ...options.gateway,
      store,
      beside: firstOf([
        probes({ store, draining: signal, clock: systemClock }),
        groupLag({ store, leases, access, clock: systemClock }),
        metrics.beside,
        ...(beside ?? []),
      ]),
      logger,
      onRequest,
    },
    queues: options.queues && { ...options.queues, onFailure },
  })
  const page = hasPage ? fronts.gateway?.endpoint : undefined
  if (form === 'json') await writeJsonLine(context.output, { ...readyLine(fronts), page })
  else {
    const shown = page === undefined ? '' : `\nopen ${page} in a browser to see it`
    await writeText(context.output, `${describe(fronts)}${shown}\n`)
  }
  const followed = readKeys && {
    read: readKeys,
    replace: (present: ServedKeys) => fronts.replaceKeys(present),
    logger,
    clock: systemClock,
  }
  const following = followed && followKeys(followed, keys, signal)
  await Promise.allSettled([following, untilAborted(signal)])
  return EXIT.ok
}

/** What nobody gave credentials for is there on loopback only. */
function accessTo(host: string, credentials: Credentials | undefined): AccessRule {
  if (isLoopbackAddress(host) || credentials !== undefined) return accessRule({ host, credentials })
  const message = 'On this address it needs credentials (--credentials-file), and there are none.'
  return async () => problemAnswer(401, { code: 'ERR_UNAUTHORIZED', message })
}

/** Never rejects. */
export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
