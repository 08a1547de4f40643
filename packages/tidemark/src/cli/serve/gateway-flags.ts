import type { StartGatewayOptions } from '@tidemark/gateway'
import type { Command } from 'commander'
import { portNumber, wholeNumber } from '../arguments/parse-arguments.ts'

/** Options of `tidemark serve` for the HTTP gateway alone. */
export interface GatewayFlags {
  readonly port?: number
  readonly account?: string
  readonly throttle?: number
  readonly maxBodyMib?: number
  readonly maxHeaderKib?: number
  readonly maxRequests?: number
  readonly maxWaiting?: number
  readonly maxClientShare?: number
  readonly requestTimeout?: number
  readonly maxWait?: number
  readonly accessLog?: boolean
}

/** Where clients look for an emulator of Cosmos DB. */
export const GATEWAY_PORT = 8081

const GROUP = 'Gateway:'

export function addGatewayFlags(command: Command): Command {
  return command
    .optionsGroup(GROUP)
    .option('--port <n>', `0 = any free one (default: ${GATEWAY_PORT})`, portNumber())
    .option('--read-only-key-file <file>', 'file with the keys that only allow reads')
    .option('--account <name>', 'id of the account (default: tidemark)')
    .option('--throttle <units>', 'request units per second and pkrange', wholeNumber(1))
    .option('--max-body-mib <n>', 'largest request body (default: 4)', wholeNumber(1))
    .option(
      '--max-header-kib <n>',
      'total size of the request headers (default: 32)',
      wholeNumber(1),
    )
    .option(
      '--max-requests <n>',
      'concurrent requests; more get 429 (default: 1000)',
      wholeNumber(1),
    )
    .option(
      '--max-waiting <n>',
      'waiting feed reads; more get 429 (default: 10000)',
      wholeNumber(1),
    )
    .option(
      '--max-client-share <percent>',
      'share of requests, waiting reads and connections for one address or read-only key (default: 50)',
      wholeNumber(1, 100),
    )
    .option(
      '--request-timeout <seconds>',
      'longest time of a request, then 408 (default: 60)',
      wholeNumber(1),
    )
    .option(
      '--max-wait <seconds>',
      'longest time of a waiting feed read; 0: none (default: 30)',
      wholeNumber(0),
    )
    .option('--access-log', 'print a line for each request')
}

/** The first option for the gateway that was given, such as `--throttle`. */
export function givenGatewayFlag(command: Command): string | undefined {
  const given = command.options.find(
    (option) =>
      option.helpGroupHeading === GROUP &&
      command.getOptionValue(option.attributeName()) !== undefined,
  )
  return given?.long
}

export function gatewaySettings(flags: GatewayFlags): Partial<StartGatewayOptions> {
  return {
    port: flags.port ?? GATEWAY_PORT,
    accountId: flags.account,
    requestUnitsPerRange: flags.throttle,
    maxConcurrentRequests: flags.maxRequests,
    maxWaitingReads: flags.maxWaiting,
    maxClientShare: times(flags.maxClientShare, 0.01),
    maxBodyBytes: times(flags.maxBodyMib, 1024 * 1024),
    maxHeaderBytes: times(flags.maxHeaderKib, 1024),
    requestTimeoutMs: times(flags.requestTimeout, 1000),
    maxWaitMs: times(flags.maxWait, 1000),
  }
}

function times(value: number | undefined, factor: number): number | undefined {
  return value === undefined ? undefined : value * factor
}
