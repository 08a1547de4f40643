import {
  Logger,
  type BeforeApplicationShutdown,
  type InjectionToken,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common'
import type { DiscoveryService, ModuleRef } from '@nestjs/core'
import {
  errorCode,
  InvalidOptionError,
  textLogger,
  type Logger as TidemarkLogger,
} from '@tidemark/contracts'
import { checkOptions, option, optionOf, type OptionRules } from '@tidemark/contracts/internal'
import {
  ChangeFeedProcessorHost,
  type ChangeFeedProcessorHostOptions,
  type HostHealth,
} from '@tidemark/processor'
import { findHandlers, type FoundHandler } from './find-handlers.ts'
import { terminateProcess } from './platform/terminate-process.ts'
import type { TidemarkModuleOptions } from './tidemark-module-options.ts'

const CONTEXT = 'Tidemark'

/** Each host checks the other options. */
const OWN_RULES: OptionRules<Pick<TidemarkModuleOptions, 'onHostFailure' | 'close'>> = {
  onHostFailure: optionOf('report', 'shutDown'),
  close: option.function,
}

export interface TidemarkHostsParts {
  readonly options: TidemarkModuleOptions
  readonly discovery: DiscoveryService
  readonly moduleRef: ModuleRef
}

/** The hosts of the application's handlers. Inject it for probes, events and `serveHealth(hosts.all(), …)`. */
export class TidemarkHosts
  implements OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown
{
  readonly #parts: TidemarkHostsParts
  readonly #hosts = new Map<string, ChangeFeedProcessorHost>()

  /** Nest makes it. @throws ERR_INVALID_OPTION */
  constructor(parts: TidemarkHostsParts) {
    const { onHostFailure, close } = parts.options
    checkOptions({ onHostFailure, close }, OWN_RULES)
    this.#parts = parts
  }

  /** One for each handler. Empty until the application has started. */
  all(): readonly ChangeFeedProcessorHost[] {
    return [...this.#hosts.values()]
  }

  health(): readonly HostHealth[] {
    return this.all().map((host) => host.health())
  }

  /** Finds the handlers and starts their hosts. When one does not start, none runs, and the application does not start either. */
  async onApplicationBootstrap(): Promise<void> {
    const handlers = findHandlers(this.#parts.discovery)
    // All are made before the first one starts, so that wrong options start nothing.
    const made = handlers.map((handler) => ({ handler, host: this.#makeHost(handler) }))
    try {
      await Promise.all(
        made.map(({ handler, host }) =>
          host.registerObserver({ processChanges: handler.processChanges }),
        ),
      )
    } catch (error) {
      await this.beforeApplicationShutdown()
      throw error
    }
  }

  /** Drains all hosts, side by side. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all(this.all().map((host) => host.unregisterObservers()))
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#parts.options.close?.()
  }

  #makeHost(handler: FoundHandler): ChangeFeedProcessorHost {
    const { onHostFailure = 'report' } = this.#parts.options
    try {
      const host = new ChangeFeedProcessorHost(this.#hostOptions(handler.options))
      if (this.#hosts.has(host.group)) {
        throw new InvalidOptionError(
          `group ${host.group} has a handler in this application already; they would share its changes`,
        )
      }
      this.#hosts.set(host.group, host)
      if (onHostFailure === 'shutDown') {
        host.on('stopped', ({ error }) => {
          if (error !== undefined) terminateProcess()
        })
      }
      return host
    } catch (cause) {
      if (errorCode(cause) !== 'ERR_INVALID_OPTION') throw cause
      const message = cause instanceof Error ? cause.message : String(cause)
      throw new InvalidOptionError(`${handler.name}: ${message}`, { cause })
    }
  }

  #hostOptions({
    group,
    feed,
    leases,
    deadLetters,
    feedOptions,
    hostOptions,
  }: FoundHandler['options']): ChangeFeedProcessorHostOptions {
    const { onHostFailure: _, close: __, ...common } = this.#parts.options
    const given = {
      ...common,
      group,
      feed: this.#provided('feed', feed),
      leases: leases === undefined ? common.leases : this.#provided('leases', leases),
      deadLetters:
        deadLetters === undefined ? common.deadLetters : this.#provided('deadLetters', deadLetters),
      feedOptions: { ...common.feedOptions, ...feedOptions },
      hostOptions: { ...common.hostOptions, ...hostOptions },
      logger: common.logger ?? nestLogger(),
    }
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the host checks what its options are
    return given as ChangeFeedProcessorHostOptions
  }

  /** What the application provides under a token, from whatever module. */
  #provided(option: string, token: InjectionToken): unknown {
    try {
      return this.#parts.moduleRef.get<unknown>(token, { strict: false })
    } catch (cause) {
      throw new InvalidOptionError(`no provider has the token ${nameOf(token)} of ${option}`, {
        cause,
      })
    }
  }
}

/** Nest's own logger decides which levels are printed, and how. */
function nestLogger(): TidemarkLogger {
  const logger = new Logger(CONTEXT)
  return textLogger((line, level) => {
    logger[level === 'info' ? 'log' : level](line.replace(/^tidemark: /, ''))
  }, 'debug')
}

function nameOf(token: InjectionToken): string {
  return typeof token === 'function' ? token.name : String(token)
}
