import { MetadataScanner, Reflector, type DiscoveryService } from '@nestjs/core'
import { InvalidOptionError, type ObserverContext } from '@tidemark/contracts'
import { HANDLER_METADATA, type ChangeFeedHandlerOptions } from './change-feed-handler.ts'

/** A decorated method of an instance. */
export interface FoundHandler {
  /** `OrderMailer.onChanges`, for messages. */
  readonly name: string
  readonly options: ChangeFeedHandlerOptions
  readonly processChanges: (context: ObserverContext, changes: readonly unknown[]) => Promise<void>
}

/**
 * All handlers of the application's providers and controllers, each once.
 *
 * @throws ERR_INVALID_OPTION for a handler of a class that has no single instance
 */
export function findHandlers(discovery: DiscoveryService): readonly FoundHandler[] {
  const reflector = new Reflector()
  const scanner = new MetadataScanner()
  const found: FoundHandler[] = []
  const seen = new Set<object>()
  for (const wrapper of [...discovery.getProviders(), ...discovery.getControllers()]) {
    const instance: unknown = wrapper.instance
    // Values, and tokens that are another name of an instance.
    if (typeof instance !== 'object' || instance === null || seen.has(instance)) continue
    seen.add(instance)
    // Of a class that is made for each request, this is the prototype's object.
    const prototype: unknown = Object.getPrototypeOf(instance)
    if (typeof prototype !== 'object' || prototype === null) continue
    for (const method of scanner.getAllMethodNames(prototype)) {
      const handler: unknown = Reflect.get(instance, method)
      if (!isMethod(handler)) continue
      const options = reflector.get<ChangeFeedHandlerOptions | undefined>(HANDLER_METADATA, handler)
      if (options === undefined) continue
      const name = `${instance.constructor.name}.${method}`
      if (!wrapper.isDependencyTreeStatic() || wrapper.isTransient) {
        throw new InvalidOptionError(
          `${name} is a change feed handler, but its class is made for each request or user: make it a singleton`,
        )
      }
      const processChanges: FoundHandler['processChanges'] = async (context, changes) => {
        await Reflect.apply(handler, instance, [context, changes])
      }
      found.push({ name, options, processChanges })
    }
  }
  return found
}

function isMethod(value: unknown): value is (...args: readonly unknown[]) => unknown {
  return typeof value === 'function'
}
