import type { DocumentBody, IChangeFeedObserver } from '@tidemark/contracts'
import { isObserverModule, type ObserverModule } from './threads/observer-module.ts'

/** Makes one observer for each lease that is opened. */
export type ObserverFactory<T extends DocumentBody = DocumentBody> = () => IChangeFeedObserver<T>

/** A class, of which one instance is made for each lease, or an instance, which all leases share (PH-1). */
export type ObserverClassOrInstance<T extends DocumentBody = DocumentBody> =
  (new () => IChangeFeedObserver<T>) | IChangeFeedObserver<T>

/** What `registerObserver` takes. */
export type RegisteredObserver<T extends DocumentBody> = ObserverClassOrInstance<T> | ObserverModule

export function isModule<T extends DocumentBody>(
  observer: RegisteredObserver<T>,
): observer is ObserverModule {
  return typeof observer !== 'function' && isObserverModule(observer)
}

export function observerFactory<T extends DocumentBody>(
  observer: ObserverClassOrInstance<T>,
): ObserverFactory<T> {
  return typeof observer === 'function' ? () => new observer() : () => observer
}
