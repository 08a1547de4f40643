export { FakeFeed, type FakeDocument, type FakeFeedOptions } from './fake-feed.ts'
export { settle } from './platform/settle.ts'
export { SimulatedClock, type SimulatedClockOptions } from './simulated-clock.ts'
export {
  FakeDocumentCollection,
  type FakeDocumentCollectionOptions,
} from './fake-document-collection.ts'
