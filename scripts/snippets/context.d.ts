/*
 * What the examples of the documentation use without declaring it, as their pages introduce it. Programs (`ts run`) get none of it.
 */
import type {
  ChangeFeedEstimator,
  ChangeFeedProcessorHost,
  ChangeFeedSource,
  Collection,
  Database,
  IChangeFeedObserver,
  LeaseStore,
  ProcessorGroup,
  Store,
} from 'tidemark'
import type { CosmosConnection, CosmosDocumentCollection } from '@tidemark/gateway/client'

declare global {
}
