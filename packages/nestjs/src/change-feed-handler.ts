import { SetMetadata, type InjectionToken } from '@nestjs/common'
import { type Change, type ObserverContext } from '@tidemark/contracts'
import {
  checkOptions,
  option,
  requiredOption,
  type OptionRules,
} from '@tidemark/contracts/internal'
import type { FeedOptions, HostOptions } from '@tidemark/processor'

/** What a handler's host follows, and how. What is not given here is as in `TidemarkModule.forRoot`. */
export interface ChangeFeedHandlerOptions {
  /** The processor group; groups process the feed independently. */
  readonly group: string
  /** Token of the provider of a feed, such as a collection. */
  readonly feed: InjectionToken
  /** Token of the provider of a lease store. @default `leases` of the module */
  readonly leases?: InjectionToken | undefined
  /** Token of the provider of a dead-letter sink. @default `deadLetters` of the module */
  readonly deadLetters?: InjectionToken | undefined
  /** Each of them replaces that of the module. */
  readonly feedOptions?: FeedOptions | undefined
  /** Each of them replaces that of the module. */
  readonly hostOptions?: HostOptions | undefined
}

/** A decorator of methods that take `(context, changes)`; the compiler refuses others. */
export type ChangeFeedHandlerDecorator = <
  Handler extends (context: ObserverContext, changes: readonly Change<never>[]) => unknown,
>(
  target: object,
  name: string | symbol,
  descriptor: TypedPropertyDescriptor<Handler>,
) => void

/** Options of the decorated methods are kept under this key of their metadata. */
export const HANDLER_METADATA = 'tidemark:changeFeedHandler'

const RULES: OptionRules<ChangeFeedHandlerOptions> = {
  group: requiredOption(option.text),
  feed: requiredOption(option.anything),
  leases: option.anything,
  deadLetters: option.anything,
  // The host has the rules of these.
  feedOptions: option.anything,
  hostOptions: option.anything,
}

/**
 * Makes a method of a provider or controller the observer of a change feed: the module starts a host of its own for it, with the
 * application, and drains it before the application shuts down. As any observer, it gets each change at least once and in order
 * per key; when it rejects, the same changes come again.
 *
 * @throws ERR_INVALID_OPTION naming the option
 */
export function ChangeFeedHandler(options: ChangeFeedHandlerOptions): ChangeFeedHandlerDecorator {
  checkOptions(options, RULES)
  return SetMetadata(HANDLER_METADATA, options)
}
