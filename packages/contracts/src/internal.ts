/**
 * What the packages of Tidemark share, and users need not know.
 *
 * @packageDocumentation
 * @internal
 */

export { assertNever } from './errors/assert-never.ts'
export { hideCredentials } from './errors/hide-credentials.ts'
export { importOptional } from './errors/import-optional.ts'
export { answerDateMs, answerLsn, type AnswerHeader } from './protocol/answer-headers.ts'
export { batchDocuments, wireOperations } from './protocol/batch-on-wire.ts'
export { containerKey } from './protocol/container-key.ts'
export {
  documentText,
  idOnPath,
  jsonText,
  MAX_JSON_LEVELS,
  type DocumentText,
} from './protocol/document-text.ts'
export { isJsonRecord, type JsonRecord } from './protocol/json-record.ts'
export { PresentPkRanges, type ListedRange } from './protocol/present-pk-ranges.ts'
export {
  FAILED_DEPENDENCY,
  INTERNAL_ERROR,
  wireStatus,
  type WireStatus,
} from './protocol/status-codes.ts'
export { storedOf } from './protocol/stored-of.ts'
export {
  accountHost,
  v3LeasePrefix,
  v3MonitoredName,
  type V3Monitored,
} from './protocol/v3-lease-prefix.ts'
export {
  errorOfWire,
  unknownOutcome,
  type RequestEffect,
  type RequestSubject,
  type WireFailure,
} from './protocol/wire-error.ts'
export { EMULATOR_KEY } from './network/emulator-key.ts'
export { bracketedHost, reachableHost } from './network/listening-address.ts'
export { isLoopbackAddress, isLoopbackHost, isLoopbackOrigin } from './network/loopback.ts'
export { LimitedLog, type LogEntry } from './logging/limited-log.ts'
export { describeError, logText } from './logging/log-text.ts'
export { LOG_LEVELS } from './logging/logger.ts'
export { eventLoopTurn } from './platform/event-loop-turn.ts'
export { assertSupportedNode } from './platform/assert-supported-node.ts'
export { parseHttpDate } from './platform/http-date.ts'
export { stderrLogger } from './platform/stderr-logger.ts'
export { SYSTEM_PROPERTIES } from './documents/document.ts'
export {
  DocumentStamp,
  type StampedCollection,
  documentEtag,
  etagLsn,
  ownRidPart,
  type DocumentVersion,
} from './documents/document-stamp.ts'
export { patchUnderCondition } from './documents/patch-under-condition.ts'
export { epkPrefixRange, evenRanges, shortBound } from './partition-key/effective-partition-key.ts'
export { murmur3x64, murmur3x86 } from './partition-key/murmur3.ts'
export {
  extractPartitionKey,
  keyComponents,
  parsePartitionKeyText,
  partitionKeyComponents,
  partitionKeyOf,
  partitionKeyPathSegments,
} from './partition-key/partition-key.ts'
export {
  LIVE_ROW,
  PENDING_DELETE_ROW,
  feedVersion,
  type FeedRow,
  type RowKind,
  type VersionRow,
} from './feed/feed-row.ts'
export {
  changeEpk,
  changeKeyText,
  parseChange,
  storableChange,
  type StorableChange,
} from './feed/storable-change.ts'
export {
  changeOfRow,
  changesOfPortable,
  damageIn,
  findDamage,
  portableChanges,
  type ChangeDamage,
  type PortableChanges,
} from './feed/stored-change.ts'
export { observedCall } from './telemetry.ts'
export {
  checkOptions,
  describeValue,
  optionGroup,
  optionHaving,
  optionOf,
  optionWhole,
  option,
  requiredOption,
  optionRule,
  type OptionRule,
  type OptionRules,
} from './options/check-options.ts'
