import type { IncomingMessage, ServerResponse } from 'node:http'
import { InvalidOptionError, systemClock, type Clock, type LeaseStore } from '@tidemark/contracts'
import {
  checkOptions,
  option,
  optionHaving,
  requiredOption,
  type OptionRules,
} from '@tidemark/contracts/internal'
import type { Store } from '@tidemark/store'
import type { PageFiles } from '../platform/page-files.ts'
import { packageVersion } from '../platform/package-version.ts'
import { accessRule, accessRules, type AccessOptions } from './access.ts'
import { DashboardServer } from './dashboard-server.ts'
import { nodeHandlerOf } from './node-handler.ts'
import { Brokers, type DashboardContext } from './sources/dashboard-context.ts'
import { Groups } from './sources/groups.ts'
import { LagSampler } from './sources/lag-sampler.ts'
import { MaskedTexts, type Mask } from './sources/masked-text.ts'

export interface DashboardOptions extends AccessOptions {
  /** Stays yours: the dashboard does not close it. */
  readonly store: Store
  /** Leases that are not in collections of the store, such as those on Redis. @default none */
  readonly leases?: LeaseStore | undefined
  /** Path of the page on your server, such as `/tidemark`. @default '/' */
  readonly basePath?: string | undefined
  /** Badge that tells one installation from another, such as `production`. @default none */
  readonly environment?: string | undefined
  /** Refuses everything that changes something, with ERR_READ_ONLY. @default false */
  readonly readOnly?: boolean | undefined
  /** Decides what is shown of documents and messages. @default everything */
  readonly mask?: Mask | undefined
  /**
   * Time between two samples of a group's lag, in ms, while a page shows it.
   * @range any number, 100 or more @default 2_000
   */
  readonly sampleMs?: number | undefined
  /** Gets what failed without a fault of the request, for your log. @default none */
  readonly onFailure?: ((error: unknown, place: string) => void) | undefined
  /** @default the machine's */
  readonly clock?: Clock | undefined
  /** The built page, for tests of the page itself. @default the page that is built into this package */
  readonly files?: PageFiles | undefined
}

/** The page with its API, for any server that speaks `Request` and `Response`. */
export interface Dashboard extends AsyncDisposable {
  /** Answers every request, those for other paths with 404. Never rejects. */
  readonly fetch: (request: Request) => Promise<Response>
  /**
   * The same for servers that are made of Node's requests, such as Express and Fastify. Put it before what reads bodies. It
   * needs the package `@tidemark/gateway`: without it every answer is 500 with ERR_MISSING_PACKAGE.
   */
  readonly nodeHandler: (incoming: IncomingMessage, outgoing: ServerResponse) => void
  /** Ends open streams and everything that was opened for them. Idempotent; the store stays open. */
  close(): Promise<void>
}

const RULES: OptionRules<DashboardOptions> = {
  ...accessRules,
  store: requiredOption(optionHaving('a store', 'listCollections', 'database')),
  leases: option.leases,
  basePath: option.text,
  environment: option.text,
  readOnly: option.flag,
  mask: option.function,
  sampleMs: option.number,
  onFailure: option.function,
  clock: option.clock,
  files: optionHaving('a map of files', 'get'),
}

const MOST_ENVIRONMENT = 40

/**
 * The page that shows databases, groups, leases, dead letters and queues of a store, and acts on them. It starts nothing until
 * somebody looks.
 *
 * Without `credentials` and `guard`, `host` has to say that your server listens on loopback only.
 *
 * @throws ERR_INVALID_OPTION
 */
export function createDashboard(options: DashboardOptions): Dashboard {
  checkOptions(options, RULES)
  const { store, leases, environment, readOnly = false, clock = systemClock } = options
  const { basePath = '/', sampleMs = 2_000, mask, onFailure, files } = options
  const { host, credentials, guard, allowedHosts } = options
  if (!/^\/(?:[\w.~-]+(?:\/[\w.~-]+)*\/?)?$/.test(basePath)) {
    throw new InvalidOptionError(
      `basePath must look like /tidemark, got ${JSON.stringify(basePath)}`,
    )
  }
  if ((environment?.length ?? 0) > MOST_ENVIRONMENT) {
    throw new InvalidOptionError(`environment must have at most ${MOST_ENVIRONMENT} characters`)
  }
  if (!(sampleMs >= 100))
    throw new InvalidOptionError(`sampleMs must be 100 or more, got ${sampleMs}`)
  const access = accessRule({ host, credentials, guard, allowedHosts })
  const texts = new MaskedTexts(mask)
  const groups = new Groups(store, leases, clock)
  const context: DashboardContext = {
    store,
    clock,
    groups,
    texts,
    sampler: new LagSampler({ groups, clock, sampleMs }),
    brokers: new Brokers(store, clock),
    info: {
      version: packageVersion(),
      environment: environment ?? null,
      readOnly,
      store: store.description,
      masked: texts.isMasking,
    },
  }
  const base = basePath.endsWith('/') ? basePath : `${basePath}/`
  const server = new DashboardServer({ context, access, base, onFailure, files })
  let closing: Promise<void> | undefined
  const close = (): Promise<void> => (closing ??= server.close())
  const fetch = (request: Request): Promise<Response> => server.fetch(request)
  return { fetch, nodeHandler: nodeHandlerOf(fetch), close, [Symbol.asyncDispose]: close }
}
