import {
  InvalidOptionError,
  type DocumentBody,
  type FeedObserver,
  type IChangeFeedObserver,
} from '@tidemark/contracts'
import { describeValue } from '@tidemark/contracts/internal'
import { batchObserver, isObserver, type BatchObserver } from '../feed-processing/batch-observer.ts'
import { isObserverModule, type ObserverModule } from './threads/observer-module.ts'
import { isClass } from './threads/observer-export.ts'

/** Makes one observer for each lease that is opened. */
export type ObserverFactory<T extends DocumentBody = DocumentBody> = () => FeedObserver<T>

/** An observer that is nothing but its `processChanges`. */
export type ObserverFunction<T extends DocumentBody = DocumentBody> =
  IChangeFeedObserver<T>['processChanges']

/** A class, of which one instance is made for each lease, or an instance, which all leases share (PH-1). */
export type ObserverClassOrInstance<T extends DocumentBody = DocumentBody> =
  | (new () => FeedObserver<T>)
  | FeedObserver<T>

/** What `registerObserver` takes. */
export type RegisteredObserver<T extends DocumentBody> =
  | ObserverFunction<T>
  | ObserverClassOrInstance<T>
  | ObserverModule

/** What makes observers of what was registered. @throws ERR_INVALID_OPTION when it is no observer */
export function observerFactory<T extends DocumentBody>(
  observer: Exclude<RegisteredObserver<T>, ObserverModule>,
): () => BatchObserver<T> {
  if (typeof observer !== 'function') {
    const shared = checkedObserver(observer)
    return () => shared
  }
  if (isObserverClass(observer)) return () => checkedObserver(new observer())
  const shared = observerOf(observer)
  return () => shared
}

export function isModule<T extends DocumentBody>(
  observer: RegisteredObserver<T>,
): observer is ObserverModule {
  return typeof observer === 'object' && observer !== null && isObserverModule(observer)
}

/** @throws ERR_INVALID_OPTION naming what is missing */
export function checkedObserver<T extends DocumentBody>(
  observer: FeedObserver<T>,
): BatchObserver<T> {
  if (isObserver(observer)) return batchObserver(observer)
  throw new InvalidOptionError(
    `an observer must be a function (context, changes), or have a function processChanges(context, changes) ` +
      `or processChange(context, change), got ${describeValue(observer)}`,
  )
}

function observerOf<T extends DocumentBody>(
  processChanges: ObserverFunction<T>,
): IChangeFeedObserver<T> {
  return {
    async processChanges(context, changes) {
      const result: unknown = await processChanges(context, changes)
      // It has seen no change, and none may count as processed.
      if (isObserver(result)) {
        throw new InvalidOptionError(
          'the function given to registerObserver returns an observer: give it to registerObserverFactory',
        )
      }
    },
  }
}

function isObserverClass<T extends DocumentBody>(
  observer: ObserverFunction<T> | (new () => FeedObserver<T>),
): observer is new () => FeedObserver<T> {
  return isClass(observer)
}
