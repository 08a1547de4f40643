import { EventEmitter } from 'eventemitter3'
import type {
  StoreEventListener,
  StoreEventName,
  StoreEventSource,
  StoreEvents,
} from './store-events.ts'

/** Carries one store's events. */
export class StoreEventEmitter implements StoreEventSource {
  /** Typed by `on`, `once`, `off` and `emit`. */
  readonly #emitter = new EventEmitter()

  on<Name extends StoreEventName>(name: Name, listener: StoreEventListener<Name>): this {
    this.#emitter.on(name, listener)
    return this
  }

  once<Name extends StoreEventName>(name: Name, listener: StoreEventListener<Name>): this {
    this.#emitter.once(name, listener)
    return this
  }

  off<Name extends StoreEventName>(name: Name, listener: StoreEventListener<Name>): this {
    this.#emitter.off(name, listener)
    return this
  }

  /** Never throws. */
  emit<Name extends StoreEventName>(name: Name, event: StoreEvents[Name]): void {
    try {
      this.#emitter.emit(name, event)
    } catch (error) {
      // When a listener for failed listeners fails too, there is no one left to report it to.
      if (name !== 'listenerFailed') this.emit('listenerFailed', { event: name, error })
    }
  }
}
